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
