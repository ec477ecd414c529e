"""The file people write: read with every mistake named in their own words, written back without what is a default."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from shared.records.admission import admit
from shared.records.allow_lists import NO_LIMITS
from shared.records.spec_file import PROBLEMS_LIMIT, SpecFile, SpecFileError, read_spec_file, to_file_data
from shared.records.spec_problems import fields_of, model_at
from shared.records.spec_schema import SCHEMA_ID, field_rows, json_schema
from tests.support.specs import OWN_ENTRY, SERVICE, TYPICAL, a_spec

ROOT = Path(__file__).parents[3]
LEAST = "service: acme-ml:europe-west4:ranker\nspec:\n  scale: {max_instance_count: 4}\n"


def read(text: str) -> SpecFile:
    return read_spec_file(yaml.safe_load(text))


def problems(data: object) -> list[str]:
    with pytest.raises(SpecFileError) as refusal:
        read_spec_file(data)
    return [str(problem) for problem in refusal.value.problems]


def wrong(**serving: Any) -> list[str]:
    spec = {"scale": {"max_instance_count": 4}, "serving": {**TYPICAL, **serving}}
    return problems({"service": str(SERVICE), "spec": spec})


def test_the_least_a_spec_says_is_its_service_and_its_maximum() -> None:
    file = read(LEAST)
    assert (file.service, file.spec.scale.max_instance_count, file.spec.serving) == (SERVICE, 4, None)


def test_the_example_is_read_admitted_and_written_back_as_it_stands() -> None:
    data = yaml.safe_load((ROOT / "docs/examples/ranker.yaml").read_text())
    file = read_spec_file(data)
    assert admit(file.service, file.spec, NO_LIMITS) == ()
    assert read_spec_file(to_file_data(file)) == file


def test_every_field_of_the_example_is_in_the_schema() -> None:
    data = yaml.safe_load((ROOT / "docs/examples/ranker.yaml").read_text())
    known = {row.path for row in field_rows()}
    used = {
        path
        for path in _paths(data)
        if not path.startswith(("spec.serving.golden_request.", "spec.serving.extra_flags.", "spec.serving.env"))
    }
    assert used <= known


def _paths(data: object, above: str = "") -> list[str]:
    if isinstance(data, dict):
        return [path for key, value in data.items() for path in (f"{above}{key}", *_paths(value, f"{above}{key}."))]
    if isinstance(data, list):
        return [path for value in data for path in _paths(value, f"{above[:-1]}[].")]
    return []


def test_what_is_a_default_is_not_written() -> None:
    file = SpecFile(service=SERVICE, spec=a_spec(environment={"B": "2", "A": "1"}, batching="off"))
    assert to_file_data(file) == {
        "service": "acme-ml:europe-west4:ranker",
        "spec": {"scale": {"max_instance_count": 4}, "serving": {**TYPICAL, "batching": "off", "environment": {"A": "1", "B": "2"}}},
    }
    assert list(to_file_data(file)["spec"]["serving"]["environment"]) == ["A", "B"]


def test_a_null_that_is_no_default_is_written() -> None:
    written = to_file_data(SpecFile(service=SERVICE, spec=a_spec(**OWN_ENTRY)))["spec"]["serving"]
    assert (written["batching"], written["start_up_seconds"]) == (None, None)


def test_off_without_quotes_which_yaml_reads_as_false_is_off() -> None:
    serving = "  serving: {image: 'tensorflow/serving:2.20.0', cpu: 4, memory: 8Gi, batching: off, model: {name: a, uri: 'gs://abc/d'}}\n"
    spec = read(LEAST + serving).spec
    assert spec.serving is not None
    assert (spec.serving.batching, spec.serving.cpu) == ("off", "4")


def test_a_time_without_quotes_is_told_what_yaml_made_of_it() -> None:
    with pytest.raises(
        SpecFileError, match=r'windows\.0\.start: 1320: YAML reads a time without quotes as a number; put it in quotes, like "22:00"'
    ):
        read(LEAST + "  windows: [{days: [monday], start: 22:00, end: '06:00'}]\n")


@pytest.mark.parametrize(
    ("serving", "said"),
    [
        ({"batching": {"max_batch_size": "x"}}, "spec.serving.batching.max_batch_size: 'x': want a whole number"),
        ({"batching": "on"}, "spec.serving.batching: 'on': want auto or off or a mapping"),
        ({"batching": True}, "spec.serving.batching: true: want auto or off or a mapping"),
        ({"max_instance_request_concurrency": 0}, "spec.serving.max_instance_request_concurrency: 0: want auto or 1 or more"),
        ({"max_instance_request_concurrency": "80"}, "spec.serving.max_instance_request_concurrency: '80': want auto or a whole number"),
        ({"start_up_seconds": 1_801}, "spec.serving.start_up_seconds: 1801: want auto or 1800 or less"),
        ({"protocol": "http"}, "spec.serving.protocol: 'http': want grpc or rest"),
        ({"cpu": "four"}, "spec.serving.cpu: 'four': cpu 'four': want CPUs as a Kubernetes quantity, for example 4 or 500m"),
        ({"environment": {"A": 1}}, "spec.serving.environment.A: 1: want a text; put it in quotes"),
        ({"environment": {"A": "$(B)"}}, "spec.serving.environment.A: '$(B)': holds '$(', which Cloud Run would expand"),
        ({"environment": {"A B": "x"}}, "spec.serving.environment.A B: 'A B': the name is not possible; want a text that matches"),
        ({"extra_flags": {"port": [1]}}, "spec.serving.extra_flags.port: a list: want true or false or a number or a text"),
        ({"extra_flags": {"bool": {"a": 1}}}, "spec.serving.extra_flags.bool: a mapping: want true or false or a number or a text"),
        ({"set_points": {"cpu_utilization": 5}}, "spec.serving.set_points.cpu_utilization: 5: want disabled or 0.9 or less"),
        ({"image": "X"}, "spec.serving.image: 'X': want [host[:port]/]path[:tag][@sha256:digest], the path in lower case"),
        ({"model": {"name": "a", "uri": "gs://abc/d/"}}, "spec.serving.model: model.uri 'gs://abc/d/' with source gcs"),
        ({"cpu": None}, "spec.serving: cpu: needed, unless own_entry keeps a command of the owner's"),
        ({"own_entry": {}}, "spec.serving: own_entry keeps the owner's command: write batching as null, write start_up"),
    ],
)
def test_a_wrong_value_is_named_with_its_field_and_what_is_wanted(serving: dict[str, Any], said: str) -> None:
    assert len(wrong(**serving)) == 1
    assert wrong(**serving)[0].startswith(said)


def test_a_version_in_quotes_is_told_to_be_a_number_zeros_or_not() -> None:
    model = {"name": "ranker", "uri": "gs://acme-models/ranker", "version": "00000123"}
    assert wrong(model=model) == ["spec.serving.model.version: '00000123': a version is a number; write 123 without quotes"]


def test_too_long_a_text_is_told_its_characters() -> None:
    assert "want 32768 characters or fewer" in wrong(environment={"A": "x" * 32_769})[0]
    assert "1024 characters or fewer" in wrong(extra_flags={"saved_model_tags": "x" * 1_025})[0]


def test_names_of_networks_are_told_by_their_form_and_not_by_a_pattern() -> None:
    said = wrong(vpc_access={"network_interfaces": [{"network": "a b,c"}]})
    assert said == ["spec.serving.vpc_access.network_interfaces.0.network: 'a b,c': want a network's name, or projects/P/global/networks/N"]


@pytest.mark.parametrize(
    ("field", "hint"),
    [
        ("acelerator", "accelerator is near"),
        ("startUpSeconds", "start_up_seconds is near"),
        ("timeout-seconds", "timeout_seconds is near"),
        ("max_batch_size", "it belongs to spec.serving.batching.max_batch_size"),
        ("min_instances_count", "spec.scale.min_instance_count is near"),
        ("zzz", "leave it out; the fields here are image, model, protocol"),
    ],
)
def test_an_unknown_field_is_told_the_one_that_was_meant(field: str, hint: str) -> None:
    assert wrong(**{field: 1})[0].startswith(f"spec.serving.{field}: there is no such field; {hint}")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "the file: empty: a spec is a mapping"),
        ([1], "the file: list: a spec is a mapping"),
        ("text", "the file: str: a spec is a mapping"),
        ({}, "service: is not there and is needed; add it"),
        (
            {"service": "ranker", "spec": {"scale": {"max_instance_count": 1}}},
            "service: 'ranker': service id 'ranker': want project:region:name",
        ),
        ({"service": 7, "spec": {"scale": {"max_instance_count": 1}}}, "service: 7: want project:region:name"),
        (
            {"service": "acme-ml:europe:x", "spec": {"scale": {"max_instance_count": 1}}},
            "service: 'acme-ml:europe:x': its region 'europe' is not possible: a region looks like europe-west1",
        ),
        (
            {"service": f"acme-ml:europe-west1:{'x' * 50}", "spec": {"scale": {"max_instance_count": 1}}},
            f"service: 'acme-ml:europe-west1:{'x' * 50}': its name '{'x' * 50}' is not possible: a service's name has at most 49",
        ),
        (
            {"service": "123456789012:europe-west1:x", "spec": {"scale": {"max_instance_count": 1}}},
            "service: '123456789012:europe-west1:x': 123456789012 is a project's number: write its id",
        ),
        (
            {"service": "projects/acme-ml/locations/europe-west1/services/X", "spec": {"scale": {"max_instance_count": 1}}},
            "service: 'projects/acme-ml/locations/europe-west1/services/X': its name 'X' is not possible",
        ),
        (
            {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {}, "spec": {}},
            "the file: kind Service: this is a service's document, no spec; trimtab adopt FILE makes a spec of it",
        ),
        (
            {"name": "projects/acme-ml/locations/europe-west1/services/ranker", "template": {"containers": []}},
            "the file: kind Service: this is a service's document, no spec; trimtab adopt FILE makes a spec of it",
        ),
        ({True: 1}, "the file: true: a name is no text; put it in quotes"),
        ({"spec": {"a": 2**64}}, "spec.a: 18446744073709551616: the number has more than 64 bits"),
        ({"spec": {"a": float("inf")}}, "spec.a: inf: this is no number of JSON"),
        ({"spec": {"a": b"x"}}, "spec.a: b'x': a spec holds no bytes; put it in quotes"),
        ({"spec": {"a": "\ud800"}}, "spec.a: \\ud800: the text has half of a surrogate pair"),
    ],
)
def test_what_is_no_spec_at_all_is_told_so(data: object, said: str) -> None:
    assert problems(data)[0].startswith(said)


def test_cloud_runs_own_name_of_a_service_is_taken_as_well() -> None:
    found = read_spec_file({"service": SERVICE.resource_name, "spec": {"scale": {"max_instance_count": 1}}})
    assert (found.service, to_file_data(found)["service"]) == (SERVICE, str(SERVICE))


def test_a_date_that_yaml_made_is_told_to_be_put_in_quotes() -> None:
    with pytest.raises(SpecFileError, match=r"2026-11-30: a spec holds no date; put it in quotes"):
        read(LEAST + "  serving: {environment: {A: 2026-11-30}}\n")


def test_a_few_lines_that_stand_for_billions_of_values_are_refused_at_once() -> None:
    levels = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10) if n else 1}]" for n in range(12))
    with pytest.raises(SpecFileError, match="more than 50000 values"):
        read(levels)


def test_a_mapping_inside_itself_is_refused() -> None:
    with pytest.raises(SpecFileError, match="more than 32 levels"):
        read("a: &a {b: *a}")


def test_a_message_names_so_many_problems_and_counts_the_rest() -> None:
    with pytest.raises(SpecFileError) as refusal:
        read_spec_file({f"field{number}": "x" * 10_000 for number in range(500)})
    assert len(refusal.value.problems) == 502
    lines = str(refusal.value).splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("the spec has 502 problems:", "  and 482 more", PROBLEMS_LIMIT + 2)
    assert len(str(refusal.value)) < 10_000


def test_every_field_has_a_type_and_a_meaning_in_the_reference() -> None:
    assert [row.path for row in field_rows() if not row.meaning or not row.type or row.type == "anything"] == []
    assert {row.path.replace("[]", "") for row in field_rows()} == {".".join(path) for path in fields_of(SpecFile)}


def test_the_schema_names_itself_and_refuses_unknown_fields_everywhere() -> None:
    schema = json_schema()
    assert (schema["$id"], schema["title"], schema["required"]) == (SCHEMA_ID, "Trimtab spec", ["service", "spec"])
    records = [schema, *(definition for definition in schema["$defs"].values() if "properties" in definition)]
    assert all(record["additionalProperties"] is False for record in records)


def test_the_schema_takes_a_number_as_cpu_like_the_reader() -> None:
    choices = json_schema()["$defs"]["ServingSpec"]["properties"]["cpu"]["anyOf"]
    assert [choice["type"] for choice in choices] == ["string", "integer", "number", "null"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ((), "SpecFile"),
        (("spec",), "ServiceSpec"),
        (("spec", "serving", "batching"), "BatchingParameters"),
        (("spec", "windows", "0"), "Window"),
    ],
)
def test_the_record_at_a_path_is_found_through_unions_and_lists(path: tuple[str, ...], name: str) -> None:
    found = model_at(SpecFile, path)
    assert isinstance(found, type)
    assert issubclass(found, BaseModel)
    assert found.__name__ == name


def test_a_path_that_leads_nowhere_has_no_record() -> None:
    assert model_at(SpecFile, ("spec", "autonomy", "x")) is None
