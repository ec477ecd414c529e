"""A diagnosis in a decision: it is said, it holds back raises that mend nothing, it confirms others, and without it nothing changes."""

from dataclasses import dataclass
from typing import Any

import pytest

from shared.control import diagnosing
from shared.diagnose.cause_catalog import CAUSES
from shared.diagnose.diagnosis import Cause, Diagnosis, Remedy
from shared.records.evidence import Evidence, LogLine, LogLines, LogSource, Readings
from shared.records.metric import Unknown
from shared.records.plan import DenialCode, Plan
from shared.records.service import Autonomy, OwnedField
from shared.records.signals import Signal
from tests.support.builders import Story, alert, document, known, observed

MIN, MAX = OwnedField.MIN_INSTANCE_COUNT, OwnedField.MAX_INSTANCE_COUNT
BLIND = Evidence(logs=Unknown(reason="503"), readings=Unknown(reason="503"))


@dataclass
class Oracle:
    """Answers every question with one diagnosis, and remembers the questions."""

    answer: Diagnosis
    asked: list[Any]

    def __call__(self, given: Any, described: Any = None) -> Diagnosis:
        self.asked.append((given, described))
        return self.answer


def says(monkeypatch: pytest.MonkeyPatch, *causes: tuple[str, float], remedies: tuple[str, ...] | None = None) -> Oracle:
    usual = CAUSES[causes[0][0]].remedies if remedies is None else remedies
    answer = Diagnosis(
        causes=tuple(Cause(name, confidence, (f"a line about {name}",)) for name, confidence in causes),
        remedies=tuple(Remedy(name, f"knob of {name}", "because", "1", "2") for name in usual),
        avoid=(),
        missing=("look at the client",),
    )
    oracle = Oracle(answer, [])
    monkeypatch.setattr("shared.diagnose.diagnosis.diagnose", oracle)
    return oracle


def refused_at_the_cap(**options: Any) -> Plan:
    story = Story(document(autonomy=options.pop("autonomy", Autonomy.ACT)))
    story.hear(alert())
    return story.look(30, count=known(4), evidence=options.pop("evidence", BLIND))


def codes(plan: Plan) -> list[DenialCode]:
    return [denial.code for denial in plan.denials]


NOT_MENDED = (
    *("server-thread-quota", "client-message-limit", "request-rows-over-limit", "model-load-failed", "server-config-invalid"),
    *("port-mismatch", "access-denied", "host-memory-exceeded", "retry-amplification", "gpu-out-of-memory", "partial-upload"),
    *("model-not-batchable", "protocol-mismatch", "startup-window-too-short"),
)


@pytest.mark.parametrize("cause", NOT_MENDED)
def test_a_raise_is_held_back_by_a_certain_cause_that_instances_do_not_mend(cause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, (cause, 0.9))
    plan = refused_at_the_cap()
    assert (plan.changes, codes(plan)) == ((), [DenialCode.DIAGNOSED])
    message = plan.denials[0].message
    assert f"{cause} (confidence 0.90): a line about {cause}; more instances do not mend it" in message
    first = CAUSES[cause].remedies[0]
    assert f"What does: {first}, knob of {first} from 1 to 2: because" in message
    assert (plan.denials[0].field, plan.denials[0].wanted) == (MAX, 8)


@pytest.mark.parametrize(
    "cause",
    [
        *("instance-cap-reached", "scale-out-lag", "batch-queue-full", "compute-bound-model"),
        *("insufficient-data", "no-fault", "over-provisioned", "metric-name-wrong", "rollout-in-progress"),
        *("admin-api-rate-limit", "stale-etag", "traffic-pinned"),
    ],
)
def test_no_raise_is_held_back_by_a_cause_that_says_nothing_against_it(cause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, (cause, 1.0))
    assert [change.field for change in refused_at_the_cap().changes] == [MAX]


def test_a_cause_that_is_only_likely_holds_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, ("client-message-limit", diagnosing.CERTAIN - 0.01))
    assert refused_at_the_cap().changes


def test_nor_does_a_certain_one_while_another_that_instances_mend_is_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, ("client-message-limit", 0.95), ("instance-cap-reached", diagnosing.LIKELY))
    assert refused_at_the_cap().changes
    says(monkeypatch, ("client-message-limit", 0.95), ("instance-cap-reached", diagnosing.LIKELY - 0.01))
    assert not refused_at_the_cap().changes


def test_nor_does_one_whose_remedies_ask_for_instances_here(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, ("queue-too-deep", 0.95), remedies=("lower-concurrency", "raise-max-instances"))
    assert refused_at_the_cap().changes


def test_a_cause_nobody_knows_holds_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, ("of-newer-code", 1.0), remedies=("fix-probe",))
    assert refused_at_the_cap().changes


def test_the_owners_bounds_and_the_way_down_are_none_of_its_business(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, ("client-message-limit", 1.0))
    story = Story(document(low=2, high=20), observed(low=0, high=4))
    story.hear(alert(signal=Signal.LATENCY))
    assert {change.field: change.after for change in story.look(30, count=known(1), evidence=BLIND).changes} == {MIN: 2}


def test_a_raise_that_the_evidence_asks_for_too_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, ("instance-cap-reached", 0.92))
    (change,) = refused_at_the_cap().changes
    assert change.reason.endswith("; the evidence confirms it: instance-cap-reached (confidence 0.92): a line about instance-cap-reached")


def test_a_raise_of_which_the_evidence_is_not_certain_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, ("instance-cap-reached", 0.6))
    (change,) = refused_at_the_cap().changes
    assert "confirms" not in change.reason


def test_the_plan_keeps_the_first_causes_and_says_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, ("queue-too-deep", 0.7), ("compute-bound-model", 0.5), ("cpu-bound-host", 0.2), ("no-fault", 0.1))
    plan = refused_at_the_cap()
    assert plan.diagnosis is not None
    assert [each.cause for each in plan.diagnosis.causes] == ["queue-too-deep", "compute-bound-model", "cpu-bound-host"]
    assert plan.diagnosis.missing == ("look at the client",)
    assert "most likely cause queue-too-deep (0.70): a line about queue-too-deep" in plan.explanation


def test_who_only_observes_is_told_the_cause_and_nothing_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, ("server-thread-quota", 0.9))
    plan = refused_at_the_cap(autonomy=Autonomy.OBSERVE)
    assert (plan.changes, codes(plan)) == ((), [DenialCode.AUTONOMY_OBSERVE])
    assert "server-thread-quota" in plan.explanation


def test_without_evidence_nobody_is_asked_and_the_plan_is_what_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = says(monkeypatch, ("client-message-limit", 1.0))
    plan = refused_at_the_cap(evidence=None)
    assert (oracle.asked, plan.diagnosis) == ([], None)
    assert [change.field for change in plan.changes] == [MAX]


def test_evidence_of_which_nothing_is_known_changes_nothing_either() -> None:
    with_it, without = refused_at_the_cap(evidence=BLIND), refused_at_the_cap(evidence=None)
    assert with_it.changes == without.changes
    assert with_it.denials == without.denials


def test_the_servers_own_sentence_holds_a_raise_back_that_the_alert_alone_would_make(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    sentence = "Task size 64 is larger than maximum input batch size 32"
    line = LogLine(at=observed().read_at, source=LogSource.SERVER, text=sentence)
    plan = refused_at_the_cap(evidence=Evidence(logs=LogLines(lines=(line,)), readings=Readings()))
    assert plan.diagnosis is not None
    assert plan.diagnosis.causes[0].cause == "request-rows-over-limit"
    assert sentence in plan.diagnosis.causes[0].evidence[0]
