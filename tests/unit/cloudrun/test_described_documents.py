"""Service documents as people have them: each mistake with its line, and the rest as it was meant."""

import json

import pytest
from google.cloud import run_v2

from shared.cloudrun import document_shape_v2
from shared.cloudrun.described import Described, Form, Problem
from shared.cloudrun.described_documents import read_described_document
from shared.cloudrun.document_shapes import Kind, ListOf, Shape, Words
from shared.cloudrun.fields import ServiceDocumentError
from tests.support.gcloud_parser import read_files
from tests.support.pasted_services import V1, V2, changed


def problem(text: str) -> Problem:
    found = read_described_document(text).problems
    assert len(found) == 1, found
    assert found[0].kind == "service-document-invalid"
    return found[0]


def container(described: Described) -> dict[str, object]:
    found = described.service["template"]["containers"][0]
    assert isinstance(found, dict)
    return found


def test_a_v1_document_is_read_as_v2_with_its_own_names_and_lines() -> None:
    read = read_described_document(V1)
    assert (read.form, read.complete, read.region, read.problems) == (Form.V1, True, "us-east4", ())
    assert read.service["template"]["maxInstanceRequestConcurrency"] == 24
    assert read.place("/template/containers/0/resources/limits/cpu") == ("spec.template.spec.containers[0].resources.limits.cpu", 19)
    assert read.place("/template/scaling/maxInstanceCount") == (
        'spec.template.metadata.annotations["autoscaling.knative.dev/maxScale"]',
        10,
    )
    assert read.place("/template/nodeSelector/accelerator")[1] == 14


def test_a_v2_document_keeps_what_it_says_to_the_letter() -> None:
    read = read_described_document(V2 + "  annotations: {autoscaling.knative.dev/maxScale: '9'}\n")
    assert (read.form, read.complete, read.region, read.project) == (Form.V2, True, "us-east4", "acme-ml")
    assert read.service["template"]["annotations"] == {"autoscaling.knative.dev/maxScale": "9"}
    assert "scaling" not in read.service["template"]
    assert read.place("/template/containers/0/image") == ("template.containers[0].image", 8)


def test_lines_of_json_are_known_too() -> None:
    text = '{\n\t"name": "s",\n\t"template": {\n\t\t"containers": [{"image": "x:1",\n\t\t\t"args": []}]}}'
    read = read_described_document(text)
    assert read.place("/template/containers/0/args") == ("template.containers[0].args", 5)


def test_throttling_is_there_only_where_it_is_said() -> None:
    assert "cpuIdle" not in container(read_described_document(V1))["resources"]  # type: ignore[operator]
    for word, value in (("'true'", True), ("'false'", False)):
        annotation = f"        run.googleapis.com/cpu-throttling: {word}\n"
        read = read_described_document(changed(V1, ("        run.googleapis.com/gpu", f"{annotation}        run.googleapis.com/gpu")))
        assert container(read)["resources"]["cpuIdle"] is value  # type: ignore[index]
        assert read.place("/template/containers/0/resources/cpuIdle")[1] == 11


def test_a_number_where_a_text_is_needed_is_refused_and_understood() -> None:
    read = read_described_document(changed(V1, ("cpu: '8'", "cpu: 8")))
    assert container(read)["resources"]["limits"]["cpu"] == "8"  # type: ignore[index]
    (found,) = read.problems
    assert (found.field, found.line, found.fix) == ("spec.template.spec.containers[0].resources.limits.cpu", 19, 'cpu: "8"')
    assert "is the number 8 and has to be a text" in found.message


@pytest.mark.parametrize(
    ("old", "new", "field", "fix"),
    [
        ("containerConcurrency: 24", "containerConcurrency: many", "spec.template.spec.containerConcurrency", "write a whole number"),
        (
            "containerConcurrency: 24",
            "maxInstanceRequestConcurrency: 24",
            "spec.template.spec.maxInstanceRequestConcurrency",
            "write containerConcurrency",
        ),
        ("env: [{", "enviroment: [{", "spec.template.spec.containers[0].enviroment", "take the field out"),
        ("  name: vision", "  nmae: vision", "metadata.nmae", "write name if that is meant, or take the field out"),
    ],
)
def test_a_field_that_v1_does_not_have_or_cannot_take(old: str, new: str, field: str, fix: str) -> None:
    found = problem(changed(V1, (old, new)))
    assert (found.field, found.fix) == (field, fix)
    assert found.line == V1[: V1.index(old)].count("\n") + 1


@pytest.mark.parametrize(
    ("added", "field", "fix"),
    [
        ("  timeout: 300\n", "template.timeout", 'timeout: "300s"'),
        ("  timeout: 5m\n", "template.timeout", 'timeout: "300s"'),
        ("  executionEnvironment: gen2\n", "template.executionEnvironment", "executionEnvironment: EXECUTION_ENVIRONMENT_GEN2"),
        ("  containerConcurrency: 4\n", "template.containerConcurrency", "write maxInstanceRequestConcurrency"),
        ("  sessionAffinity: 'true'\n", "template.sessionAffinity", "sessionAffinity: true"),
        ("  scaling: 3\n", "template.scaling", "write an object with named fields"),
        ("  volumes: {name: m}\n", "template.volumes", "write a list"),
    ],
)
def test_a_field_that_v2_does_not_have_or_cannot_take(added: str, field: str, fix: str) -> None:
    found = problem(V2 + added)
    assert (found.field, found.fix, found.line) == (field, fix, 12)


def test_names_in_snake_case_are_the_admin_apis_too() -> None:
    read = read_described_document(changed(V2, ("maxInstanceRequestConcurrency", "max_instance_request_concurrency")))
    assert read.problems == ()
    assert read.service["template"]["maxInstanceRequestConcurrency"] == 24
    assert read.place("/template/maxInstanceRequestConcurrency") == ("template.max_instance_request_concurrency", 4)


def test_a_field_that_is_there_twice_counts_as_it_stands_last() -> None:
    read = read_described_document(V2 + "  gpuZonalRedundancyDisabled: false\n")
    assert read.service["template"]["gpuZonalRedundancyDisabled"] is False
    assert [(each.field, each.line) for each in read.problems] == [("template.gpuZonalRedundancyDisabled", 12)]
    assert "in line 6 and in line 12" in read.problems[0].message


def test_an_annotation_with_a_word_that_it_does_not_know() -> None:
    text = changed(
        V1, ("        run.googleapis.com/gpu", "        run.googleapis.com/execution-environment: second\n        run.googleapis.com/gpu")
    )
    found = problem(text)
    assert found.line == 11
    assert "the words are gen1, gen2" in found.message


def test_an_annotation_that_is_no_number() -> None:
    found = problem(changed(V1, ("maxScale: '3'", "maxScale: three")))
    assert found.field == 'spec.template.metadata.annotations["autoscaling.knative.dev/maxScale"]'
    assert "write a whole number" in found.message


def test_the_state_that_cloud_run_wrote_is_no_mistake() -> None:
    status = "status: {url: https://x.a.run.app, observedGeneration: 7, conditions: [{type: Ready, status: 'True'}]}\n"
    assert read_described_document(V1 + status).problems == ()
    output = "uid: u\ngeneration: '7'\nreconciling: false\nconditions: [{type: RoutesReady, state: CONDITION_SUCCEEDED}]\netag: '\"x\"'\n"
    assert read_described_document(V2 + output).problems == ()


@pytest.mark.parametrize(
    ("text", "form", "way", "name"),
    [
        ("scaling: {maxInstanceCount: 3}\n", Form.V2, "/scaling/maxInstanceCount", "scaling.maxInstanceCount"),
        ("template:\n  timeout: 60s\n", Form.V2, "/template/timeout", "template.timeout"),
        ("containers:\n- startupProbe: {tcpSocket: {port: 8500}}\n", Form.V2, "/template/containers/0", "containers[0]"),
        (
            "spec:\n  containerConcurrency: 4\n  containers:\n  - resources: {limits: {cpu: '4'}}\n",
            Form.V1,
            "/template/containers/0/resources/limits/cpu",
            "spec.containers[0].resources.limits.cpu",
        ),
        ("containerConcurrency: 4\n", Form.V1, "/template/maxInstanceRequestConcurrency", "containerConcurrency"),
        (
            "template:\n  spec:\n    containerConcurrency: 4\n",
            Form.V1,
            "/template/maxInstanceRequestConcurrency",
            "template.spec.containerConcurrency",
        ),
    ],
)
def test_a_part_of_a_document_says_nothing_about_the_rest(text: str, form: Form, way: str, name: str) -> None:
    read = read_described_document(text)
    assert (read.form, read.complete, read.problems) == (form, False, ())
    assert read.place(way)[0] == name


def test_a_template_alone_that_says_what_it_runs_is_whole() -> None:
    assert read_described_document("containers:\n- image: tensorflow/serving:2.20.0\n").complete


def test_of_several_documents_the_service_counts() -> None:
    kubernetes = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\n"
    read = read_described_document(kubernetes + V1)
    assert read.service["name"] == "vision"
    assert read.place("/template/containers/0/image")[1] == 20
    listed = json.dumps([{"a": 1}, {"template": {"containers": [{"image": "x:1"}]}}])
    assert read_described_document(listed).complete


@pytest.mark.parametrize(
    "text",
    [
        "",
        "just words",
        "a: 1\n",
        "- 1\n- 2\n",
        "{",
        "a: [1\n",
        "apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {containers: [{image: x}]}}}\n",
        "apiVersion: v1\nkind: Service\nspec: {ports: [{port: 80}]}\n",
        "[" * 5_000,
    ],
)
def test_what_is_no_service_is_refused(text: str) -> None:
    with pytest.raises(ServiceDocumentError):
        read_described_document(text)


def test_a_newer_group_of_knative_is_said_and_read() -> None:
    found = problem(changed(V1, ("serving.knative.dev/v1", "serving.knative.dev/v1alpha1")))
    assert (found.field, found.fix) == ("apiVersion", "apiVersion: serving.knative.dev/v1")


def test_every_field_of_the_clients_service_is_known() -> None:
    """The reverse is not so: the REST API has fields that the client has not yet."""
    missing: list[str] = []

    def compare(descriptor: object, kind: Kind, way: str) -> None:
        kind = kind.item if isinstance(kind, ListOf) else kind
        if not isinstance(kind, Shape):
            return
        for field in descriptor.fields:  # type: ignore[attr-defined]
            known = kind.fields.get(field.json_name)
            if known is None:
                missing.append(f"{way}.{field.json_name}")
            elif field.enum_type is not None and isinstance(known, Words):
                missing.extend(f"{way}.{field.json_name}={word}" for word in field.enum_type.values_by_name if word not in known.allowed)
            elif field.message_type is not None:
                compare(field.message_type, known, f"{way}.{field.json_name}")

    compare(run_v2.Service.pb().DESCRIPTOR, document_shape_v2.SERVICE, "service")
    assert missing == []


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("env: [{name: MODEL_NAME, value: vision}]", "args: [--port=8500, null]", "template.containers[0].args[1]"),
        ("env: [{name: MODEL_NAME, value: vision}]", "env: [null]", "template.containers[0].env[0]"),
        ("scaling: {", "labels: {team: null}\nscaling: {", "labels.team"),
        ("cpu: '8'", "cpu: null", "template.containers[0].resources.limits.cpu"),
        ("value: vision", "value: 1234567890123456789", "template.containers[0].env[0].value"),
    ],
)
def test_a_null_or_a_number_in_v2_where_a_value_is_due(old: str, new: str, field: str) -> None:
    assert problem(changed(V2, (old, new))).field == field


def test_a_field_that_is_null_in_v2_is_one_that_is_not_there() -> None:
    assert read_described_document(changed(V2, ("  gpuZonalRedundancyDisabled: true", "  serviceAccount: null"))).problems == ()


def test_a_word_of_yaml_1_1_is_a_text_in_v2_and_no_text_to_gcloud() -> None:
    assert read_described_document(changed(V2, ("value: vision", "value: on"))).problems == ()
    found = problem(changed(V1, ("value: vision", "value: on")))
    assert (found.fix, found.line) == ('value: "on"', 17)


def test_a_tab_in_json_is_space_and_in_what_is_nearly_json_it_is_not_yaml_either() -> None:
    assert read_described_document('{"template":\t{"containers": [{"image": "x:1"}]}}').problems == ()
    with pytest.raises(ServiceDocumentError, match="line 2: not JSON"):
        read_described_document('{"template":\n\t{"containers": [{"image": "x:1",}]}}')


V1_CHANGES = [
    ("cpu: '8'", "cpu: 8"),
    ("value: vision", "value: 8"),
    ("value: vision", "value: true"),
    ("value: vision", "value: null"),
    ("containerConcurrency: 24", "containerConcurrency: '24'"),
    ("containerConcurrency: 24", "containerConcurrency: many"),
    ("containerPort: 8500", "containerPort: x"),
    ("'true'", "true"),
    ("image: docker", "imagePullPolicy: Always\n        image: docker"),
    ("image: docker", "foo: 1\n        image: docker"),
    ("image: docker", "readinessProbe: {grpc: {port: 8500}, successThreshold: 1}\n        image: docker"),
    ("image: docker", "startupProbe: {tcpSocket: {prt: 8500}}\n        image: docker"),
    ("containerConcurrency: 24", "timeoutSeconds: 60\n      serviceAccountName: a"),
    ("containerConcurrency: 24", "timeout: 60s"),
    ("containerConcurrency: 24", "containerConcurrency: 24.0"),
    ("containerConcurrency: 24", "containerConcurrency: []"),
    ("containerConcurrency: 24", "containerConcurrency: [24]"),
    ("containerConcurrency: 24", "containerConcurrency: 1_000"),
    ("containerConcurrency: 24", "containerConcurrency:\t24"),
    ("env: [{name: MODEL_NAME, value: vision}]", "env: [null]"),
    ("env: [{name: MODEL_NAME, value: vision}]", "env: {name: MODEL_NAME, value: vision}"),
    ("env: [{name: MODEL_NAME, value: vision}]", "args: [null]"),
    ("env: [{name: MODEL_NAME, value: vision}]", "args: --port=8500"),
    ("cpu: '8'", "cpu: null"),
    ("value: vision", "value: yes"),
    ("value: vision", "value: 1:30"),
    ("value: vision", "value: 2026-10-05"),
    ("value: vision", "value: 1234567890123456789"),
    ("value: vision", "value: yEs"),
]


def test_gcloud_refuses_the_same_v1_documents() -> None:
    texts = [V1, *(changed(V1, pair) for pair in V1_CHANGES)]
    ours = [bool(read_described_document(text).problems) for text in texts]
    gclouds = [reading.error is not None for reading in read_files(texts)]
    assert ours == gclouds
