import base64
from collections.abc import Mapping

import pytest

from shared.control.explanation import explain
from shared.events.envelope import open_envelope
from shared.handlers.answer import Handled
from shared.handlers.schedule import handle_tick
from shared.records.plan import Denial, DenialCode
from tests.functions.apps import pushed
from tests.support.rig import Rig
from tests.terraform.contract import CHECKS, Check
from tests.terraform.plans import Plan


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_plan_keeps_the_contract(check: Check, plan: Plan) -> None:
    assert list(check(plan)) == []


def test_the_tick_that_scheduler_sends_is_worked_off(plan: Plan) -> None:
    (job,) = plan.of("cloud_scheduler_job")
    body = pushed(base64.b64decode(job.values["pubsub_target"][0]["data"]))
    headers: Mapping[str, str] = {"content-type": "application/json"}
    assert open_envelope(headers, body).fault is None
    rig = Rig()
    handled = handle_tick(headers, lambda: body, rig.schedule_ports)
    assert isinstance(handled, Handled)
    assert handled.verdict == "done"
    rig.reconcile_ports.store.close()  # type: ignore[attr-defined]  # the store of the rig is SQLite's


@pytest.mark.parametrize("code", [DenialCode.BRAKE_ACTS, DenialCode.BRAKE_USD])
def test_a_look_that_a_brake_held_back_is_counted_by_what_its_line_says(code: DenialCode, plan: Plan) -> None:
    (counted,) = [each.values["filter"] for each in plan.of("logging_metric") if each.key == "brakes"]
    said = explain([], [], [Denial(code=code, message="the limit is reached")])
    assert code.value in said
    assert f'"{code.value}"' in counted
