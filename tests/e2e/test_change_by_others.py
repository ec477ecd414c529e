"""From an entry of Cloud Run's audit log to a look at the service, and a person's value that is left alone, through real processes."""

import json

import pytest

from shared.records.service import OwnedField
from shared.simulation.monitoring import notification
from shared.simulation.platform import TRIMTAB
from tests.support.audits import entry
from tests.support.processes import Deployment, wait_for

pytestmark = [pytest.mark.emulator, pytest.mark.timeout(180)]

KIM = "kim@example.com"


def test_a_change_by_a_person_is_seen_by_its_audit_entry_and_left_alone(deployment: Deployment) -> None:
    service = deployment.place("changed")
    now = deployment.clock.now()
    deployment.publish("alerts", json.dumps(notification(service, "0.c", "open", started_at=now, now=now)).encode())
    deployment.settled(service, ["0.c:open"])
    assert deployment.bounds(service) == (0, 8)

    deployment.cloud_run.change_by(service.resource_name, KIM, max_instance_count=6)
    theirs = entry(service, "e2e-1", principal=KIM, at=deployment.clock.now())
    ours = entry(service, "e2e-2", principal=TRIMTAB, at=deployment.clock.now())
    deployment.publish("changes", theirs, theirs, ours)

    def seen() -> bool:
        state = deployment.state(service)
        return state is not None and bool(state.foreign_changes)

    wait_for(seen, "the change to be seen")
    state = deployment.state(service)
    assert state is not None
    (change,) = state.foreign_changes
    assert (change.field, change.ours, change.theirs, change.modifier) == (OwnedField.MAX_INSTANCE_COUNT, 8, 6, KIM)
    assert deployment.bounds(service) == (0, 6)
    wait_for(lambda: len(answers(deployment)) == 3, "an answer to every entry")
    assert sorted(answers(deployment)) == ["done", "duplicate", "ignored"]


def answers(deployment: Deployment) -> list[str]:
    return [line["message"] for line in deployment.answered("audit") if line["key"].startswith("e2e-")]
