"""Numbers that the Admin API cannot hold, and probes without anything to ask."""

import pytest

from tests.support.pasted_services import GPU_COMMAND, V1, V2, changed, one, silent

LIMIT = "cloud-run-limit"
INVALID = "service-document-invalid"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (changed(V2, ("maxInstanceCount: 3", "maxInstanceCount: 2147483648")), "scaling.maxInstanceCount"),
        (changed(V1, ("'3'", "'2147483648'")), 'spec.template.metadata.annotations["autoscaling.knative.dev/maxScale"]'),
        (changed(GPU_COMMAND, ("--max-instances=3", "--max-instances=2147483648")), "--max-instances"),
    ],
)
def test_more_instances_than_32_bits_count(text: str, field: str) -> None:
    assert one(text, LIMIT).where.field == field


def test_the_largest_number_of_32_bits_is_let_through() -> None:
    assert silent(changed(V2, ("maxInstanceCount: 3", "maxInstanceCount: 2147483647")), LIMIT)


def test_more_attempts_than_32_bits_count() -> None:
    probe = "startupProbe: {tcpSocket: {port: 8500}, failureThreshold: 2147483648}\n    env:"
    assert one(changed(V2, ("env:", probe)), LIMIT).where.field == "template.containers[0].startupProbe.failureThreshold"


@pytest.mark.parametrize("command", ["gcloud run services update a", "gcloud run deploy a --image=gcr.io/acme/a:1"])
def test_a_probe_flag_says_the_whole_probe(command: str) -> None:
    assert one(f"{command} --startup-probe=periodSeconds=10", INVALID).where.field == "--startup-probe"
    assert silent(f"{command} --startup-probe=tcpSocket.port=8080,periodSeconds=10", INVALID)


def test_a_part_of_a_document_may_leave_the_probes_action_out() -> None:
    assert silent("containers:\n- startupProbe: {periodSeconds: 10}\n", INVALID)


def test_a_time_of_a_probe_is_named_with_its_number_and_a_flag_to_paste() -> None:
    text = f"{GPU_COMMAND} --liveness-probe=grpc.port=8500,timeoutSeconds=10,periodSeconds=5"
    found = one(text, "cloud-run-limit")
    assert found.message.startswith("--liveness-probe timeoutSeconds is 10 s; allowed is up to periodSeconds, 5 s:")
    assert found.fix == "--liveness-probe=grpc.port=8500,timeoutSeconds=10,periodSeconds=10"


def test_a_period_beyond_the_limit_becomes_more_tries_of_the_longest_period() -> None:
    found = one(f"{GPU_COMMAND} --startup-probe=tcpSocket.port=8500,periodSeconds=300,failureThreshold=1", "cloud-run-limit")
    assert found.fix == "--startup-probe=tcpSocket.port=8500,periodSeconds=240,failureThreshold=2"


def test_in_a_document_the_fix_of_a_probe_is_its_fields() -> None:
    text = changed(V2, ("    env:", "    startupProbe: {tcpSocket: {port: 8500}, initialDelaySeconds: 300}\n    env:"))
    assert one(text, "cloud-run-limit").fix == "startupProbe:\n  initialDelaySeconds: 240"


@pytest.mark.parametrize(("amount", "right"), [("8GB", "8Gi"), ("8gb", "8Gi"), ("8192MB", "8192Mi"), ("8GiB", "8Gi")])
def test_memory_with_another_unit_keeps_its_number(amount: str, right: str) -> None:
    text = changed(GPU_COMMAND, ("32Gi", amount))
    assert one(text, "service-document-invalid").fix == f"--memory={right}"
    assert f"memory: {right}" in one(changed(V2, ("32Gi", amount)), "service-document-invalid").fix
