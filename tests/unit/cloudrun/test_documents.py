import contextlib
import json
import textwrap
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.cloudrun.documents import MAX_CHARACTERS, read_service_document, to_v1_yaml
from shared.cloudrun.fields import ServiceDocumentError
from shared.cloudrun.knative import to_v1
from tests.support.gcloud_parser import read_files
from tests.support.v2_services import EVERYTHING, MODELS_TEXT, services

EXPORTED = """\
apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  annotations:
    run.googleapis.com/ingress: all
    run.googleapis.com/ingress-status: all
    run.googleapis.com/operation-id: 5b0c
  labels:
    cloud.googleapis.com/location: europe-west1
  name: ranker
  namespace: '123456789012'
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/maxScale: '3'
        run.googleapis.com/cpu-throttling: 'false'
      labels:
        run.googleapis.com/startupProbeType: Custom
    spec:
      containerConcurrency: 16
      containers:
      - image: tensorflow/serving:2.20.0-gpu
        ports:
        - containerPort: 8500
          name: h2c
        resources:
          limits: {cpu: 4, memory: 16Gi, nvidia.com/gpu: 1}
      timeoutSeconds: 300
  traffic:
  - latestRevision: true
    percent: 100
status:
  observedGeneration: 7
  url: https://ranker-abc.a.run.app
"""


def _v1(container: str) -> str:
    """A v1 document of one container, its fields as given."""
    head = "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: ranker}\n"
    head += "spec:\n  template:\n    spec:\n      containers:\n      - "
    return head + textwrap.indent(textwrap.dedent(container).strip(), "        ").strip() + "\n"


def _container(text: str) -> dict[str, Any]:
    container: dict[str, Any] = read_service_document(text).service["template"]["containers"][0]
    return container


def _refusal(text: str) -> ServiceDocumentError:
    with pytest.raises(ServiceDocumentError) as refused:
        read_service_document(text)
    return refused.value


def test_what_gcloud_exports_is_read() -> None:
    document = read_service_document(EXPORTED)
    assert (document.form, document.name, document.project, document.region) == ("v1", "ranker", "123456789012", "europe-west1")
    assert document.service["name"] == "projects/123456789012/locations/europe-west1/services/ranker"
    assert document.service["template"]["scaling"] == {"maxInstanceCount": 3}
    assert document.service["uri"] == "https://ranker-abc.a.run.app"
    assert document.unmapped == {
        "/metadata/annotations/run.googleapis.com~1ingress-status": "all",
        "/metadata/annotations/run.googleapis.com~1operation-id": "5b0c",
        "/spec/template/metadata/labels/run.googleapis.com~1startupProbeType": "Custom",
    }


def test_a_number_is_a_text_where_a_text_is_needed() -> None:
    limits = read_service_document(EXPORTED).service["template"]["containers"][0]["resources"]["limits"]
    assert limits == {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}


@pytest.mark.parametrize("written", ["yes", "on", "No", "1.10", "0444", "1e3", "12:30:45", "2026-11-30", "0x1F", "true", "7"])
def test_an_unquoted_text_keeps_its_spelling(written: str) -> None:
    assert _container(_v1(f"env: [{{name: A, value: {written}}}]"))["env"] == [{"name": "A", "value": written}]


def test_a_mode_with_a_leading_zero_is_octal() -> None:
    text = _v1("image: i") + "      volumes:\n      - {name: k, secret: {secretName: k, defaultMode: 0444}}\n"
    assert read_service_document(text).service["template"]["volumes"][0]["secret"]["defaultMode"] == 0o444


def test_the_json_of_the_rest_api_is_read_with_its_project_and_region() -> None:
    document = read_service_document(json.dumps(EVERYTHING))
    assert (document.form, document.name, document.project, document.region) == ("v2", "ranker", "acme-ml", "europe-west1")
    assert document.service == EVERYTHING
    assert document.unmapped == {}


def test_a_v2_document_keeps_what_cloud_run_will_refuse() -> None:
    annotations = {"autoscaling.knative.dev/maxScale": "4"}
    text = json.dumps({"template": {"annotations": annotations, "containers": [{"resources": {"limits": {"cpu": 4}}}]}})
    template = read_service_document(text).service["template"]
    assert template["annotations"] == annotations
    assert template["containers"] == [{"resources": {"limits": {"cpu": "4"}}}]


def test_json_with_escapes_that_yaml_has_not_is_read() -> None:
    text = '{\n\t"template": {"containers": [{"image": "a\\/b", "env": [{"name": "A", "value": "\\ud83d\\ude80"}]}]}}'
    assert _container(text) == {"image": "a/b", "env": [{"name": "A", "value": "🚀"}]}


def test_a_yaml_flow_mapping_is_read_although_it_begins_as_json_does() -> None:
    assert _container("{template: {containers: [{image: i}]}}") == {"image": "i"}


def test_anchors_are_followed() -> None:
    text = _v1("image: i") + "      - &b {image: j, name: x}\n      - *b\n"
    assert [each["image"] for each in read_service_document(text).service["template"]["containers"]] == ["i", "j", "j"]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "the field 'a' is twice in one object, first in line 1; keep one"),
        (f"{EXPORTED}---\n{EXPORTED}", 37, "a second document begins; write one to a file"),
        ("a: [1\nb: }\n", 2, "not YAML"),
        ('{"template": \n  {]}', 2, "not JSON"),
        ("a: !!python/object:os.system {}\n", 1, "the tag 'tag:yaml.org,2002:python/object:os.system' is not read"),
        ("base: &b {x: 1}\nc:\n  <<: *b\n", 3, "merge keys (<<) are not read"),
        (_v1("image: i\nports: 8500"), 9, "/spec/template/spec/containers/0/ports is a number; a list is needed"),
        (_v1("image: i\nports: [{containerPort: high}]"), 9, "containerPort is 'high'; write a whole number"),
        (_v1("image: i\nenv:\n- {name: A, value: {a: b}}"), 10, "env/0/value is an object; write a text"),
        ("a: 1\nb: \x9b\n", 2, "not YAML: unacceptable character #x009b; leave it out"),
        (EXPORTED.replace("'false'", "'no'"), 17, "run.googleapis.com~1cpu-throttling is 'no'; write true or false"),
        (EXPORTED.replace("kind: Service", "kind: Job"), 2, "/kind is 'Job'; a Cloud Run service of the v1 API has 'Service'"),
        ("apiVersion: v1\nkind: Service\n", 1, "/apiVersion is 'v1'; a Cloud Run service of the v1 API has 'serving.knative.dev/v1'"),
    ],
)
def test_a_refusal_names_the_line_and_the_field(text: str, line: int, words: str) -> None:
    refused = _refusal(text)
    assert refused.line == line
    assert refused.message.startswith(f"line {line}: ")
    assert words in refused.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the document is empty"),
        ("# nothing\n", "the document is empty"),
        ("ranker", "the document is 'ranker'; a Cloud Run service is an object"),
        ("[]", "the document is a list of 0; write one service"),
        ("{}", "neither a v1 service (apiVersion: serving.knative.dev/v1, kind: Service) nor a v2 one"),
        ('{"a": 1, "a": 2}', "the field 'a' is twice in one object"),
        ("a: \x00", "line 1: not YAML: unacceptable character #x0000"),
        ("x" * (MAX_CHARACTERS + 1), "the document has 262,145 characters; at most 262,144 are read"),
        ("[" * 60 + "]" * 60, "nested deeper than 40 levels"),
        ("[" * 100_000, "nested deeper than 40 levels"),
        ('{"a": ' * 40_000, "nested deeper than 40 levels"),
        ('{"a": ' * 60 + "1" + "}" * 60, "nested deeper than 40 levels"),
        ('{"template": {"timeout": [' + "9" * 5_000 + "]}}", "/template/timeout is a list; write a text"),
    ],
)
def test_what_is_no_service_is_refused_with_the_reason(text: str, words: str) -> None:
    assert words in _refusal(text).message


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    assert "of more than 50,000 values; are its aliases right?" in _refusal("\n".join(lines)).message


@settings(max_examples=200, deadline=None)
@given(text=st.one_of(st.text(max_size=60), st.text(alphabet="{}[]:,-&*!|>'\"#ab1 \n\t%@`?", max_size=60)))
def test_no_text_does_worse_than_a_refusal(text: str) -> None:
    with contextlib.suppress(ServiceDocumentError):
        assert read_service_document(text).form in {"v1", "v2"}


def test_texts_of_several_lines_are_written_as_blocks_and_doubtful_ones_in_quotes() -> None:
    env = [{"name": "MODELS", "value": MODELS_TEXT}, {"name": "SURE", "value": "yes"}, {"name": "N", "value": "1e3"}]
    text = to_v1_yaml({"name": "ranker", "template": {"containers": [{"image": "tensorflow/serving:2.20.0-gpu", "env": env}]}})
    assert text == textwrap.dedent("""\
        apiVersion: serving.knative.dev/v1
        kind: Service
        metadata:
          name: ranker
        spec:
          template:
            spec:
              containers:
              - image: 'tensorflow/serving:2.20.0-gpu'
                env:
                - name: MODELS
                  value: |
                    model_config_list {
                      config {
                        name: "ranker, v2"
                        base_path: "gs://acme/ranker"
                      }
                    }
                - name: SURE
                  value: 'yes'
                - name: 'N'
                  value: '1e3'
    """)


@pytest.mark.parametrize("text", ["\x85", "a\u2028b", "a\n\u2029b\n", "\ufeff", "a\rb", "\t\n"])
def test_a_text_with_any_end_of_line_is_read_back_as_it_was(text: str) -> None:
    container = {"image": "app:1", "env": [{"name": "A", "value": text}]}
    written = to_v1_yaml({"name": "ranker", "template": {"containers": [container]}})
    assert read_service_document(written).service["template"]["containers"][0]["env"] == [{"name": "A", "value": text}]


@pytest.mark.parametrize("text", ["\x7f", "a\x9b31m", "a\u202eb", "\u202eline\nline\n", "a\U000e0001", "é€😀"])
def test_nothing_in_the_file_moves_a_terminals_cursor_or_turns_its_text(text: str) -> None:
    container = {"image": "app:1", "env": [{"name": "A", "value": text}]}
    written = to_v1_yaml({"name": "ranker", "labels": {text: text}, "template": {"containers": [container]}})
    assert all(line.isprintable() for line in written.split("\n"))
    assert yaml.safe_load(written)["metadata"]["labels"] == {text: text}
    assert read_service_document(written).service["template"]["containers"][0]["env"] == [{"name": "A", "value": text}]


@pytest.mark.parametrize("form", [json.dumps, yaml.safe_dump])
def test_fractions_of_fields_that_are_not_known_stay_numbers(form: Any) -> None:
    document = {"name": "ranker", "template": {"newShare": 0.5, "newList": [{"a": -1.25e-05}]}, "newTop": 2.0}
    found = read_service_document(form(document)).service
    assert found == document
    assert [type(found["template"]["newShare"]), type(found["newTop"])] == [float, float]


def test_fractions_keep_their_spelling_where_a_text_is_needed() -> None:
    env = "image: i\nenv:\n- {name: A, value: 1.10}\n- {name: B, value: 1e3}\n- {name: C, value: 1e999}\n- {name: D, value: .inf}"
    assert [each["value"] for each in _container(_v1(env))["env"]] == ["1.10", "1e3", "1e999", ".inf"]
    as_json = {"template": {"containers": [{"image": "i", "env": [{"name": "A", "value": 1.5}]}]}}
    text = json.dumps(as_json).replace("1.5", "1.50")
    assert read_service_document(text).service["template"]["containers"][0]["env"][0]["value"] == "1.50"


@pytest.mark.parametrize("value", ["1e999", "1e30", "0.5", "-1e30"])
def test_a_number_that_is_no_count_is_refused_with_the_field(value: str) -> None:
    refused = _refusal('{"template": {"maxInstanceRequestConcurrency": ' + value + "}}")
    assert "maxInstanceRequestConcurrency is" in refused.message
    assert "write a whole number" in refused.message


@pytest.mark.parametrize("value", ["1e999", "1" * 18 + "e999"])
def test_a_number_that_is_no_share_is_refused_with_the_field(value: str) -> None:
    assert "write a number such as 0.6" in _refusal('{"template": {"scaling": {"cpuUtilization": ' + value + "}}}").message


@pytest.mark.parametrize(
    ("service", "field"),
    [
        ({"traffic": [{"type": [1]}]}, "/traffic/0/type is a list; write a text"),
        ({"template": {"volumes": [{"name": "a", "emptyDir": {"medium": {}}}]}}, "/template/volumes/0/emptyDir/medium is an object"),
        ({"terminalCondition": {"type": "Ready", "state": []}}, "/terminalCondition/state is a list"),
        ({"conditions": [{"type": "RoutesReady", "severity": {}}]}, "/conditions/0/severity is an object"),
        ({"conditions": [{"type": "RoutesReady", "revisionReason": []}]}, "/conditions/0/revisionReason is a list"),
    ],
)
def test_a_word_of_the_wrong_type_is_refused_with_its_field(service: dict[str, Any], field: str) -> None:
    assert _refusal(json.dumps({"template": {}, **service})).message.startswith(field)


def test_a_storage_drivers_name_of_the_wrong_type_is_refused_with_its_line() -> None:
    text = _v1("image: i") + "      volumes:\n      - name: a\n        csi: {driver: {}}\n"
    assert "/spec/template/spec/volumes/0/csi/driver is an object; write a text" in _refusal(text).message


def test_the_file_for_replace_has_no_state_of_cloud_run() -> None:
    text = to_v1_yaml(EVERYTHING)
    for absent in ("status:", "uid:", "generation:", "creationTimestamp:", "serving.knative.dev/creator", "run.googleapis.com/urls"):
        assert absent not in text


def test_gcloud_reads_the_file_for_replace_as_the_same_service() -> None:
    (reading,) = read_files([to_v1_yaml(EVERYTHING)])
    document = to_v1(read_service_document(to_v1_yaml(EVERYTHING)).service).document
    assert reading.error is None
    assert reading.service == document


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.large_base_example, HealthCheck.data_too_large, HealthCheck.too_slow]
)
@given(some=st.lists(services, min_size=3, max_size=3))
def test_gcloud_reads_the_file_of_any_service(some: list[dict[str, Any]]) -> None:
    texts = [to_v1_yaml(service) for service in some]
    for text, reading in zip(texts, read_files(texts), strict=True):
        assert reading.error is None
        written = read_service_document(text)
        assert reading.service == to_v1(written.service, written.unmapped).document
