"""Listings: names of versions, whole uploads, versions that a policy names."""

import pytest

from shared.lint.listing_rules import RULES, listing_rules
from tests.support.lint_deployments import codes, found, service
from tests.support.lint_files import asked, version

BASE = "gs://acme/ranker"


def flags(base: str = BASE) -> list[str]:
    return ["--port=8500", "--model_name=ranker", f"--model_base_path={base}"]


def pinned(*versions: int, base: str = BASE) -> str:
    wanted = " ".join(f"versions: {each}" for each in versions)
    return (
        f'model_config_list {{\n  config {{ name: "ranker" base_path: "{base}" model_platform: "tensorflow"\n'
        f"    model_version_policy {{ specific {{ {wanted} }} }}\n  }}\n}}\n"
    )


@pytest.mark.parametrize("name", ["1", "0001", "1730000000", "+7"])
def test_a_whole_version_with_a_whole_number_has_no_finding(name: str) -> None:
    assert codes(RULES, asked(flags=flags(), objects=version(f"{BASE}/{name}"))) == []


def test_no_listing_has_no_finding() -> None:
    assert codes(RULES, asked(flags=flags())) == []


@pytest.mark.parametrize("name", ["v1", "0.1", "1-tmp", "latest", "99999999999999999999"])
def test_a_folder_that_is_no_whole_number_is_no_version(name: str) -> None:
    (finding,) = found(listing_rules, asked(flags=flags(), objects=version(f"{BASE}/{name}")))
    assert finding.code == "model-no-integer-version"
    assert name in finding.message
    assert finding.fix == f"gcloud storage mv {BASE}/{name} {BASE}/1"


def test_one_version_among_other_folders_is_enough() -> None:
    objects = [*version(f"{BASE}/3"), *version(f"{BASE}/4-tmp"), f"{BASE}/README.md 10"]
    assert codes(RULES, asked(flags=flags(), objects=objects)) == []


def test_a_base_path_above_several_models_has_no_version() -> None:
    objects = [*version("gs://acme/ranker/1"), *version("gs://acme/bid/1")]
    assert codes(RULES, asked(flags=flags("gs://acme"), objects=objects)) == ["model-no-integer-version"]


def test_a_base_path_that_is_a_version_folder_means_the_folder_above() -> None:
    (finding,) = found(listing_rules, asked(flags=flags(f"{BASE}/7"), objects=version(f"{BASE}/7")))
    assert (finding.code, finding.fix) == ("model-base-path-is-version", f"--model_base_path={BASE}")


def test_a_base_path_that_is_a_version_folder_in_the_models_file() -> None:
    models = f'model_config_list {{ config {{ name: "r" base_path: "{BASE}/7/" model_platform: "tensorflow" }} }}'
    (finding,) = found(listing_rules, asked(models=models, objects=version(f"{BASE}/7")))
    assert finding.fix == f'base_path: "{BASE}"'


def test_a_model_without_a_version_folder_is_not_a_name_that_is_no_number_too() -> None:
    deployment = asked(flags=flags(), objects=version(BASE))
    assert codes(RULES, deployment) == ["model-base-path-is-version"]
    (finding,) = found(listing_rules, deployment)
    assert finding.fix == f"gcloud storage mv '{BASE}/*' {BASE}/1/"


def test_a_graph_beside_the_versions_harms_nothing() -> None:
    assert codes(RULES, asked(flags=flags(), objects=[f"{BASE}/saved_model.pb 9", *version(f"{BASE}/7")])) == []


WHOLE = version(f"{BASE}/7", shards=2)


@pytest.mark.parametrize(
    ("objects", "missing"),
    [
        ([line for line in WHOLE if "saved_model" not in line], "lacks saved_model.pb ("),
        ([line for line in WHOLE if "index" not in line], "lacks variables/variables.index ("),
        (WHOLE[:-1], "lacks variables/variables.data-00001-of-00002 ("),
        (WHOLE[:2], "lacks variables/variables.data-00000-of-00001 ("),
        ([WHOLE[0]], "variables/variables.index, variables/variables.data-00000-of-00001"),
        ([*WHOLE[1:], f"{BASE}/7/saved_model.pb 0"], "lacks saved_model.pb ("),
        ([*WHOLE[:-1], f"{BASE}/7/variables/variables.data-00001-of-00002 0"], "lacks variables/variables.data-00001-of-00002 ("),
        ([f"{BASE}/7/variables/ 0", *WHOLE[1:]], "lacks saved_model.pb ("),
    ],
)
def test_a_version_that_is_not_whole(objects: list[str], missing: str) -> None:
    (finding,) = found(listing_rules, asked(flags=flags(), objects=objects))
    assert finding.code == "model-partial-upload"
    assert missing in finding.message
    assert f"{BASE}/8/" in finding.fix


@pytest.mark.parametrize(
    "objects",
    [
        WHOLE,
        [line.partition(" ")[0] for line in WHOLE],
        [line.replace("saved_model.pb", "saved_model.pbtxt") for line in WHOLE],
        [*WHOLE, f"{BASE}/7/variables/variables.data-00000-of-00001 5"],
        [*WHOLE, f"{BASE}/7/", f"{BASE}/7/assets/vocab.txt 0", f"{BASE}/8/batching_params.pbtxt 20"],
    ],
)
def test_a_version_that_is_whole(objects: list[str]) -> None:
    assert found(listing_rules, asked(flags=flags(), objects=objects)) == []


@pytest.mark.parametrize("cut", ["variables.data-00000-of-0", "variables.data-00007-of-00000", "variables.data-00000-of-", "variables.da"])
def test_a_data_file_whose_name_is_cut_off_is_no_data_file(cut: str) -> None:
    objects = [*WHOLE[:2], f"{BASE}/7/variables/{cut}"]
    (finding,) = found(listing_rules, asked(flags=flags(), objects=objects))
    assert "lacks variables/variables.data-00000-of-00001 (" in finding.message


def test_data_files_of_two_counts_miss_one_of_the_larger() -> None:
    data = [f"{BASE}/7/variables/variables.data-{number}" for number in ("00001-of-00002", "00000-of-00003", "00007-of-00003")]
    (finding,) = found(listing_rules, asked(flags=flags(), objects=[*WHOLE[:2], *data]))
    assert "lacks variables/variables.data-00001-of-00003 (" in finding.message


def test_every_version_that_is_not_whole_has_its_own_finding_and_line() -> None:
    objects = [*version(f"{BASE}/7")[:1], *version(f"{BASE}/8"), *version(f"{BASE}/9")[:2]]
    findings = found(listing_rules, asked(flags=flags(), objects=objects))
    assert [(each.where.line, each.where.file) for each in findings] == [(1, "objects.txt"), (5, "objects.txt")]


def test_a_pinned_version_that_the_listing_lacks() -> None:
    (finding,) = found(listing_rules, asked(models=pinned(8, 9), objects=[*version(f"{BASE}/7"), *version(f"{BASE}/8")]))
    assert finding.code == "model-version-absent"
    assert "pinned to version 9" in finding.message
    assert (finding.where.part, finding.where.line) == ("models", 3)
    assert finding.fix == "model_version_policy { specific { versions: 8 } }"


def test_a_pinned_version_that_is_there_under_zeros() -> None:
    assert found(listing_rules, asked(models=pinned(9), objects=version(f"{BASE}/0009"))) == []


def test_the_next_number_is_free_above_all_versions_of_the_folder() -> None:
    objects = [f"{BASE}/{number}/saved_model.pb 5" for number in (3, 12, 7)]
    findings = found(listing_rules, asked(flags=flags(), objects=objects))
    assert len(findings) == 3
    assert all(f"{BASE}/13/" in finding.fix for finding in findings)


def test_a_pinned_version_is_found_in_the_line_of_its_own_entry() -> None:
    entry = '  config { name: "ranker" base_path: "%s"\n    model_version_policy { specific { versions: 9 } }\n  }\n'
    models = f"model_config_list {{\n{entry % 'gs://acme/other'}{entry % BASE}}}\n"
    (finding,) = found(listing_rules, asked(models=models, objects=version(f"{BASE}/7")))
    assert finding.where.line == 6


def test_a_path_longer_than_any_file_has_is_not_looked_at() -> None:
    assert codes(RULES, asked(flags=flags(), objects=[f"{BASE}/v1/{'a/' * 3_000}saved_model.pb 5"])) == []


def test_volumes_that_are_none_are_passed_over() -> None:
    described = service(args=["--model_base_path=/mnt/models/ranker"])
    described["template"]["containers"][0]["volumeMounts"] = [{"name": ["odd"], "mountPath": "/mnt/models"}, "odd", {}]
    described["template"]["volumes"] = [{"name": ["even"], "gcs": {"bucket": "acme"}}, None, {}]
    assert codes(RULES, asked(service=described, objects=version(f"{BASE}/7"))) == []


def test_a_listing_of_another_model_says_nothing_about_this_one() -> None:
    assert codes(RULES, asked(models=pinned(9), objects=version("gs://acme/bid/7"))) == []
    assert codes(RULES, asked(models=pinned(9), objects=version("gs://acme/ranker2/7"))) == []
    assert codes(RULES, asked(flags=flags(), objects=version("gs://acme/bid/v7"))) == []


def test_versions_of_another_model_in_the_same_bucket_are_not_judged() -> None:
    assert codes(RULES, asked(models=pinned(7), objects=[*version(f"{BASE}/7"), "gs://acme/old/1/saved_model.pb 5"])) == []


def test_a_version_that_is_not_whole_is_one_wherever_it_will_be_served_from() -> None:
    assert codes(RULES, asked(flags=flags("/models/ranker"), objects=["gs://elsewhere/x/3/saved_model.pb 5"])) == ["model-partial-upload"]


def test_several_models_are_told_apart() -> None:
    models = (
        'model_config_list { config { name: "a" base_path: "gs://acme/a" model_platform: "tensorflow" } '
        'config { name: "b" base_path: "gs://acme/b" model_platform: "tensorflow" } }'
    )
    findings = found(listing_rules, asked(models=models, objects=[*version("gs://acme/a/1"), *version("gs://acme/b/v1")]))
    assert [finding.code for finding in findings] == ["model-no-integer-version"]
    assert "gs://acme/b" in findings[0].message


def test_the_entry_points_base_path_comes_from_the_environment() -> None:
    deployment = asked(
        service=service(args=[], env={"MODEL_NAME": "ranker", "MODEL_BASE_PATH": "gs://acme"}), objects=version(f"{BASE}/v1")
    )
    assert codes(RULES, deployment) == ["model-no-integer-version"]


def test_an_environment_alone_names_the_base_path() -> None:
    deployment = asked(env={"MODEL_NAME": "ranker", "MODEL_BASE_PATH": "gs://acme"}, objects=version(f"{BASE}/best"))
    assert codes(RULES, deployment) == ["model-no-integer-version"]


def test_a_bucket_that_is_mounted_as_a_folder_is_the_base_path() -> None:
    described = service(args=["--model_base_path=/mnt/models/ranker"])
    described["template"]["volumes"] = [{"name": "bucket", "gcs": {"bucket": "acme"}}]
    described["template"]["containers"][0]["volumeMounts"] = [{"name": "bucket", "mountPath": "/mnt/models"}]
    assert codes(RULES, asked(service=described, objects=version(f"{BASE}/best"))) == ["model-no-integer-version"]


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        (version("gs://acme/ranker/7"), []),
        (version("gs://acme/ranker/v7"), ["model-no-integer-version"]),
        (version("gs://acme/ranker"), ["model-base-path-is-version"]),
        (version("/models/ranker/7")[:2], ["model-partial-upload"]),
        (["gs://acme/data/train.csv 5"], []),
    ],
)
def test_without_a_known_base_path_it_is_told_from_where_the_graphs_lie(objects: list[str], expected: list[str]) -> None:
    assert codes(RULES, asked(objects=objects)) == expected


def test_no_version_is_proposed_that_is_not_whole() -> None:
    objects = [*version(f"{BASE}/7"), f"{BASE}/8/saved_model.pb 5"]
    absent = [each for each in found(listing_rules, asked(models=pinned(9), objects=objects)) if each.code == "model-version-absent"]
    assert [each.fix for each in absent] == ["model_version_policy { specific { versions: 7 } }"]
    alone = [each for each in found(listing_rules, asked(models=pinned(9), objects=objects[-1:])) if each.code == "model-version-absent"]
    assert [each.fix for each in alone] == [f"gcloud storage cp -r export/* {BASE}/9/"]
