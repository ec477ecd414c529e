"""What the Admin API refuses of a document, and what is outside Cloud Run's limits."""

import pytest

from tests.support.pasted_services import GPU_COMMAND, V1, V2, changed, findings, one, silent

INVALID = "service-document-invalid"
LIMIT = "cloud-run-limit"
TRAFFIC = """\
traffic:
- {{type: TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST, percent: {latest}}}
- {{type: TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION, revision: vision-7, percent: {other}, tag: {tag}}}
- {{type: TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION, revision: vision-6, percent: 0, tag: old}}
"""


@pytest.mark.parametrize("text", [GPU_COMMAND, V1, V2], ids=["gcloud", "v1", "v2"])
@pytest.mark.parametrize("code", [INVALID, LIMIT])
def test_a_sound_service_has_none_of_these(text: str, code: str) -> None:
    assert silent(text, code)


def test_shares_of_traffic_add_up_to_100() -> None:
    found = one(V2 + TRAFFIC.format(latest=80, other=10, tag="canary"), INVALID)
    assert (found.where.field, found.where.line) == ("traffic", 12)
    assert "traffic is 90; allowed is 100 percent in all" in found.message
    assert silent(V2 + TRAFFIC.format(latest=90, other=10, tag="canary"), INVALID)
    assert (
        one(changed(V1, ("spec:\n  template", "spec:\n  traffic: [{latestRevision: true, percent: 90}]\n  template")), INVALID).where.field
        == "spec.traffic"
    )


def test_a_tag_is_there_once() -> None:
    assert "each tag once" in one(V2 + TRAFFIC.format(latest=90, other=10, tag="old"), INVALID).message


def test_annotations_of_v1_in_v2() -> None:
    text = changed(V2, ("template:\n", "template:\n  annotations: {autoscaling.knative.dev/maxScale: '4', acme.example/owner: me}\n"))
    found = one(text, INVALID)
    assert (found.where.line, found.where.field) == (4, 'template.annotations["autoscaling.knative.dev/maxScale"]')
    assert found.fix == "take it out and write scaling.maxInstanceCount: 4"
    labels = changed(V2, ("template:\n", "labels: {cloud.googleapis.com/location: us-east4}\ntemplate:\n"))
    assert findings(labels, INVALID)


def test_annotations_of_v1_belong_in_v1() -> None:
    assert silent(changed(V1, ("metadata:\n  name", "metadata:\n  annotations: {run.googleapis.com/ingress: all}\n  name")), INVALID)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  containers:\n", "  containers:\n  - {name: b, image: 'gcr.io/a/b:1', ports: [{containerPort: 9000}]}\n"),
        ("containerPort: 8500}]", "containerPort: 8500}, {containerPort: 8501}]"),
        ("name: h2c", "name: grpc"),
        ("containerPort: 8500", "containerPort: 70000"),
        ("{name: h2c, containerPort: 8500}", "{name: h2c}"),
        ("docker.io/tensorflow/serving:2.20.0-gpu", "https://docker.io/tensorflow/serving:2.20.0-gpu"),
        ("- image: docker.io/tensorflow/serving:2.20.0-gpu\n    env", "- env"),
        ("services/vision", "services/Vision"),
        ("nvidia.com/gpu: '1'", "nvidia.com/gpu: '1', disk: 1Gi"),
        ("memory: 32Gi", "memory: plenty"),
        ("  containers:\n", "  vpcAccess: {networkInterfaces: [{}]}\n  containers:\n"),
        ("  containers:\n", "  volumes: [{name: m, gcs: {}}]\n  containers:\n"),
        ("    ports:", "    volumeMounts: [{name: m, mountPath: /models}]\n    ports:"),
        ("    ports:", "    dependsOn: [nobody]\n    ports:"),
        ("    ports:", "    startupProbe: {periodSeconds: 10}\n    ports:"),
        ("    ports:", "    startupProbe: {tcpSocket: {port: 1}, grpc: {port: 1}}\n    ports:"),
        ("  containers:\n", "  revision: other-1\n  containers:\n"),
        ("scaling: {", "launchStage: DEPRECATED\nscaling: {"),
        ("scaling: {", "scaling: {manualInstanceCount: 2, "),
        ("scaling: {", "labels: {Team: search}\nscaling: {"),
    ],
)
def test_what_else_the_admin_api_refuses(old: str, new: str) -> None:
    assert one(changed(V2, (old, new)), INVALID).fix


def test_a_text_that_is_no_service_is_said_with_its_line() -> None:
    found = one('{\n  "template": {\n', INVALID)
    assert found.where.line in {2, 3}


def test_a_command_has_neither_shares_nor_a_document() -> None:
    assert silent(f"{GPU_COMMAND} --no-traffic --tag=canary", INVALID)
    assert silent("gcloud run deploy $SERVICE --image=$IMAGE", INVALID)


@pytest.mark.parametrize(
    ("flags", "field", "fix"),
    [
        ("--concurrency=1001", "--concurrency", "--concurrency=1000"),
        ("--timeout=90m", "--timeout", "--timeout=3600"),
        ("--min-instances=5 --max-instances=3", "--max-instances", "--max-instances=5\nor --min-instances=3"),
        ("--min-instances=5 --max=3", "--min-instances", "--min-instances=3\nor --max=5"),
        (
            "--startup-probe=tcpSocket.port=8080,periodSeconds=300,failureThreshold=1",
            "--startup-probe",
            "--startup-probe=tcpSocket.port=8080,periodSeconds=240,failureThreshold=2",
        ),
        (
            "--startup-probe=httpGet.path=/,periodSeconds=5,timeoutSeconds=6",
            "--startup-probe",
            "--startup-probe=httpGet.path=/,timeoutSeconds=6,periodSeconds=6",
        ),
    ],
)
def test_outside_a_limit(flags: str, field: str, fix: str) -> None:
    found = one(f"gcloud run deploy a --image=gcr.io/acme/a:1 {flags}", LIMIT)
    assert (found.where.field, found.fix) == (field, fix)


@pytest.mark.parametrize(
    "flags",
    [
        "--concurrency=1000 --timeout=3600",
        "--min-instances=3 --max-instances=3",
        "--startup-probe=tcpSocket.port=8080,periodSeconds=240,timeoutSeconds=240,failureThreshold=1",
        "--startup-probe=tcpSocket.port=8080,periodSeconds=10,failureThreshold=180",
        "--liveness-probe=httpGet.path=/,periodSeconds=3600",
    ],
)
def test_at_a_limit(flags: str) -> None:
    assert silent(f"gcloud run deploy a --image=gcr.io/acme/a:1 {flags}", LIMIT)


def test_several_limits_are_several_findings() -> None:
    command = "gcloud run deploy a --image=gcr.io/acme/a:1 --concurrency=2000 --timeout=90m --min-instances=5 --max-instances=3"
    assert len(findings(command, LIMIT)) == 3
