"""`trimtab render`: the files that a spec becomes, and what it says of specs that it does not take."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli import shown
from shared.cloudrun.documents import read_service_document
from shared.records.serving import MAX_VERSION
from shared.rendering.document import read_document
from shared.tfserving.batching import parse_batching
from shared.tfserving.flags import faults, parse_flags
from shared.tfserving.model_config import parse_model_config
from tests.support.commands import RANKER, spec_file, trimtab
from tests.support.specs import OWN_ENTRY

EXPLODING = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else 'x'] * 50)}]\n" for n in range(8))
"""Some lines of YAML that stand for more values than there are atoms in a cell."""


def rendered(path: Path, which: str, *options: object) -> str:
    done = trimtab("render", path, "--format", which, *options)
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


def written(folder: Path, data: Any) -> Path:
    path = folder / "spec.yaml"
    path.write_text(data if isinstance(data, str) else yaml.safe_dump(data))
    return path


def refused(path: Path, *options: object, environment: dict[str, str | None] | None = None) -> str:
    done = trimtab("render", path, *options, environment=environment)
    assert (done.exit_code, done.stdout) == (2, "")
    return done.stderr


def test_the_yaml_is_the_service_without_revision_and_traffic_and_says_so(tmp_path: Path) -> None:
    text = rendered(spec_file(tmp_path), "yaml")
    service = read_service_document(text).service
    assert service["name"] == "projects/acme-ml/locations/europe-west1/services/ranker"
    assert service["scaling"] == {"minInstanceCount": 1, "maxInstanceCount": 6}
    assert ("traffic" in service, "revision" in service["template"]) == (False, False)
    assert "# The revision's name and the traffic are not in it: Trimtab's executor adds both when it writes." in text
    found = read_document(service)
    assert (found.model and found.model.version, found.timeout_seconds, found.own_entry) == (42, 30, None)


def test_each_file_of_tf_serving_is_printed_alone_as_the_server_reads_it(tmp_path: Path) -> None:
    spec = spec_file(tmp_path)
    assert parse_batching(rendered(spec, "batching")).max_batch_size == 32
    assert parse_model_config(rendered(spec, "models")).pinned_version() == 42
    flags = parse_flags(rendered(spec, "flags").splitlines())
    assert (faults(flags), flags.left_over, flags.bad, flags.given["enable_batching"]) == ([], (), (), True)


def test_the_command_is_for_a_shell_and_says_what_gcloud_does_beside_it(tmp_path: Path) -> None:
    text = rendered(spec_file(tmp_path), "command")
    notes = [line for line in text.splitlines() if line.startswith("# ")]
    assert text.splitlines()[len(notes)] == "gcloud beta run deploy ranker \\"
    assert "# The command uses gcloud beta because of --max; that track sets the service's launch stage to BETA" in notes


def test_what_gcloud_has_no_flag_for_is_named(tmp_path: Path) -> None:
    text = rendered(spec_file(tmp_path, set_points={"concurrency_utilization": 0.5}), "command")
    assert (
        "# gcloud cannot say spec.serving.set_points.concurrency_utilization (/template/scaling/concurrencyUtilization: 0.5 has no flag): "
        "the command alone makes another service than the spec"
    ) in text
    closed = rendered(spec_file(tmp_path, ingress="none"), "command")
    assert "# gcloud cannot say spec.serving.ingress (/ingress: 'INGRESS_TRAFFIC_NONE' has no flag): the command alone" in closed


def test_what_gcloud_would_write_says_that_it_is_for_a_new_service(tmp_path: Path) -> None:
    for which, said in (
        ("yaml", "Over one that exists it sends all traffic to the new revision at once, pinned or not, and removes"),
        ("command", "On one that exists it sends all traffic to the new revision at once, unless its traffic names"),
    ):
        text = rendered(spec_file(tmp_path), which)
        assert f"# CAREFUL: for a new service. {said}" in text
        assert "trimtab plan says what Trimtab itself would change" in text


def test_a_new_service_is_not_open_to_everybody_by_mistake_and_has_an_account_of_its_own(tmp_path: Path) -> None:
    text = rendered(spec_file(tmp_path), "command")
    assert "add --no-allow-unauthenticated" in text
    assert "# service_account is not set: instances get the project's default account" in text
    named = rendered(spec_file(tmp_path, service_account="ranker@acme-ml.iam.gserviceaccount.com"), "command")
    assert "service_account is not set" not in named


def test_batching_that_is_seldom_meant_is_said_above_the_files(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, batching={"batch_timeout_micros": 5_000_000})
    for which in ("yaml", "command"):
        assert "# spec.serving.batching.batch_timeout_micros 5000000 is 5 s: a request alone" in rendered(spec, which)


def test_every_process_prints_the_same(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, environment={"B": "2", "A": "1"})
    program = f"from cli.main import app; app(['render', {str(spec)!r}])"
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in range(4)
    }
    assert len(printed) == 1
    assert "limits:\n            cpu: '4'\n            memory: '16Gi'\n            nvidia.com/gpu: '1'\n" in printed.pop()


def test_a_services_document_is_told_from_a_spec(tmp_path: Path) -> None:
    (tmp_path / "service.yaml").write_text(rendered(spec_file(tmp_path), "yaml"))
    assert "kind Service: this is a service's document, no spec; trimtab adopt FILE makes a spec of it" in refused(
        tmp_path / "service.yaml"
    )


def test_all_of_them_stand_under_headings_that_are_comments(tmp_path: Path) -> None:
    spec = spec_file(tmp_path)
    everything = trimtab("render", spec).stdout
    assert [line for line in everything.splitlines() if line.startswith("# ----")] == [
        "# ---- The service, for gcloud run services replace FILE",
        "# ---- The same as one command",
        "# ---- batching.config, for --batching_parameters_file",
        "# ---- models.config, for --model_config_file",
        "# ---- The arguments of tensorflow_model_server",
    ]
    assert all(rendered(spec, which) in everything for which in ("yaml", "command", "batching", "models", "flags"))


def test_a_version_is_needed_where_the_spec_says_latest_and_only_there(tmp_path: Path) -> None:
    model = {"name": "ranker", "uri": "gs://acme-models/ranker"}
    latest = spec_file(tmp_path, "latest.yaml", model=model)
    assert "model.version is latest: say which it is with --version N, the number of a folder of gs://acme-models/ranker" in refused(latest)
    assert parse_model_config(rendered(latest, "models", "--version", 7)).pinned_version() == 7
    assert "the spec pins version 42" in refused(spec_file(tmp_path), "--version", 7)


def test_an_owners_command_is_rendered_with_a_warning_and_has_no_files_of_ours(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, model=None, **OWN_ENTRY)
    assert "# CAREFUL: own_entry." in rendered(spec, "yaml")
    assert "# CAREFUL: own_entry." in rendered(spec, "command")
    for which in ("batching", "models", "flags"):
        assert "own_entry keeps the owner's command" in refused(spec, "--format", which)
    assert trimtab("render", spec).stdout.count("# Nothing: own_entry") == 3


def test_without_batching_there_is_no_batching_file(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, batching="off")
    assert "spec.serving.batching is off: there is no batching file" in refused(spec, "--format", "batching")
    assert "# Nothing: spec.serving.batching is off" in trimtab("render", spec).stdout


def test_every_reason_for_a_refusal_is_said_with_field_value_limit_and_fix(tmp_path: Path) -> None:
    said = refused(spec_file(tmp_path, cpu=2, image="tensorflow/serving:latest-gpu"))
    assert "refused for 2 reasons:" in said
    assert "spec.serving.image: tensorflow/serving:latest-gpu: the tag latest-gpu moves" in said
    assert "spec.serving.cpu: 2: " in said
    assert said.count("allowed: ") == said.count("fix: ") == 2


def test_allow_lists_come_from_the_environment_which_needs_no_project(tmp_path: Path) -> None:
    said = refused(spec_file(tmp_path), environment={"TRIMTAB_ALLOWED_BUCKETS": "other-models, more-*"})
    assert "spec.serving.model.uri: acme-models: the bucket is not on this deployment's allow-list; allowed: other-models, more-*" in said
    assert trimtab("render", spec_file(tmp_path), environment={"TRIMTAB_ALLOWED_BUCKETS": "acme-*"}).exit_code == 0


def test_a_setting_that_is_wrong_is_named(tmp_path: Path) -> None:
    said = refused(spec_file(tmp_path), environment={"TRIMTAB_ALLOWED_BUCKETS": "a*b"})
    assert "TRIMTAB_ALLOWED_BUCKETS" in said
    assert "a*b" in said


def test_a_spec_that_leaves_the_template_alone_renders_nothing(tmp_path: Path) -> None:
    data = {"service": RANKER["service"], "spec": {"scale": {"max_instance_count": 4}}}
    assert "spec.serving is not set: Trimtab steers the scaling bounds" in refused(written(tmp_path, data))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a spec is a mapping with service and spec"),
        ("service: a\nspec: 1\nservice: b\n", "line 3: the field 'service' is twice in one object, first in line 1; keep one"),
        ("a: &a {b: 1}\nc: {<<: *a}\n", "line 2: a field's name is needed; merge keys (<<) are not read"),
        ("a: 1\n---\nb: 2\n", "line 3: a second document begins; write one to a file"),
        ("a: [1, 2\n", "expected ',' or ']'"),
        ("? [a, b]\n: 1\n", "line 1: a field's name is needed"),
        ("a: !!python/object:os.system {}\n", "line 1: the tag 'tag:yaml.org,2002:python/object:os.system' is not read"),
        ("a: " + "9" * 5_000 + "\n", "a: there is no such field"),
        ("a: " + "[" * 3_000 + "]" * 3_000 + "\n", "nested deeper than 40 levels"),
        ("b: 1\na: \x07\n", "line 2: not YAML: unacceptable character #x0007; leave it out"),
        (EXPLODING, "line 1: the document is of more than 50,000 values; are its aliases right?"),
    ],
)  # fmt: skip
def test_what_is_no_yaml_of_a_spec_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(written(tmp_path, text))


def with_version(folder: Path, text: str) -> Path:
    """The typical spec with that text, as it is, for its model's version."""
    path = spec_file(folder)
    path.write_text(path.read_text().replace("version: 42", f"version: {text}"))
    return path


@pytest.mark.parametrize(("text", "version"), [("00000123", 123), ("0755", 755), ("08", 8), ("+7", 7), ("0", 0)])
def test_a_version_with_zeros_before_it_is_that_number(text: str, version: int, tmp_path: Path) -> None:
    assert parse_model_config(rendered(with_version(tmp_path, text), "models")).pinned_version() == version


@pytest.mark.parametrize("text", ["0x10", "0o17", "0b1", "1:30", "1_000", "1e3", "1.0", "9" * 200])
def test_what_is_a_number_in_other_yaml_only_is_no_version(text: str, tmp_path: Path) -> None:
    said = refused(with_version(tmp_path, text))
    assert "spec.serving.model.version: " in said
    assert "want latest or" in said


def test_words_and_times_are_the_texts_that_they_look_like(tmp_path: Path) -> None:
    path = spec_file(tmp_path)
    windows = "  windows: [{days: [monday], start: 22:00, end: 06:00}]\n"
    text = path.read_text().replace("spec:\n", f"spec:\n{windows}").replace("    cpu: 4\n", "    batching: off\n    cpu: 4\n")
    text = text.replace("    cpu: 4\n", "    cpu: 4\n    environment: {A: yes, B: 2026-11-30, C: 1:30}\n")
    path.write_text(text)
    env = read_service_document(rendered(path, "yaml")).service["template"]["containers"][0]["env"]
    values = {each["name"]: each["value"] for each in env}
    assert (values["A"], values["B"], values["C"]) == ("yes", "2026-11-30", "1:30")
    assert "TRIMTAB_BATCHING_PARAMETERS" not in values


@pytest.mark.parametrize("command", ["render", "plan"])
@pytest.mark.parametrize(
    ("version", "said"),
    [
        (2**63, "Input should be less than or equal to 9223372036854775807"),
        (10**30, "Input should be less than or equal to 9223372036854775807"),
        (-1, "Input should be greater than or equal to 0"),
    ],
)
def test_a_version_that_no_model_has_is_refused_with_the_bound(command: str, version: int, said: str, tmp_path: Path) -> None:
    path = spec_file(tmp_path, model={"name": "ranker", "uri": "gs://acme-models/ranker"})
    done = trimtab(command, path, "--version", version)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"Invalid value for '--version': {said}" in done.stderr
    assert MAX_VERSION == shown.MAX_VERSION


def test_the_largest_version_is_taken(tmp_path: Path) -> None:
    path = spec_file(tmp_path, model={"name": "ranker", "uri": "gs://acme-models/ranker"})
    assert parse_model_config(rendered(path, "models", "--version", 2**63 - 1)).pinned_version() == 2**63 - 1


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    assert "No such file or directory" in refused(tmp_path / "absent.yaml")
    assert "Is a directory" in refused(tmp_path)
    (tmp_path / "latin").write_bytes(b"service: caf\xe9\n")
    assert "byte 12 is not UTF-8" in refused(tmp_path / "latin")
    (tmp_path / "large").write_bytes(b"#" * 1_048_577)
    assert "larger than 1048576 bytes" in refused(tmp_path / "large")
