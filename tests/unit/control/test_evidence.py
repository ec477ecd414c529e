"""Evidence as a question: about the revisions that serve, in the words that people paste."""

from datetime import timedelta
from typing import Any

import pytest

from shared.control.asking import wants_count, wants_evidence
from shared.control.evidence import as_text, question
from shared.records.evidence import NO_SERIES, Evidence, LogLine, LogLines, LogSource, Readings
from shared.records.metric import Known, Metric, Unknown
from shared.records.observed import ReadyState, RevisionReading
from shared.records.rollout import Rollout, RolloutPhase, Served, TemplateView
from shared.records.serving import TrafficTarget
from shared.records.signals import Signal
from shared.records.state import Clocks, Floor, ServiceState
from tests.support.builders import NOW, RANKER, UNKNOWN, alert, at, document, folded, known, managed, observation, observed
from tests.support.specs import a_spec

OPEN = folded(alert())
CALM = ServiceState(id=RANKER)
TOTAL = "run.googleapis.com/request_count rate [1/s]"
REFUSED = "run.googleapis.com/request_count{response_code=429} rate [1/s]"
GPU = "run.googleapis.com/container/gpu/utilizations p50 [ratio]"


def line(text: str, *, source: LogSource = LogSource.SERVER, revision: str = "", **fields: Any) -> LogLine:
    return LogLine(at=at(-30), source=source, text=text, revision=revision, **fields)


def evidence(*lines: LogLine, values: dict[str, Metric] | None = None, service: dict[str, Any] | None = None) -> Evidence:
    return Evidence(logs=LogLines(lines=lines), readings=Readings(values=values or {}), service=service)


def asked(found: Evidence, *, state: ServiceState = OPEN, **parts: Any) -> Any:
    seen = observation(parts.pop("seen", observed()), quota=parts.pop("quota", UNKNOWN), template=parts.pop("template", None))
    return question(managed(state, parts.pop("spec", None)), seen, found, NOW)


def rollout(revision: str = "ranker-aaaaaaaaaa-1") -> Rollout:
    target = TrafficTarget(revision="ranker-old", percent=100)
    return Rollout(
        rollout_id="r",
        revision=revision,
        template_hash="aaaaaaaaaa",
        attempt=1,
        phase=RolloutPhase.DEPLOYING,
        stable=(target,),
        began_at=NOW,
        phase_since=NOW,
        deadline_at=NOW + timedelta(minutes=10),
    )


def view(*, candidate: RevisionReading | None = None, serving: str = "ranker-old", created: str = "ranker-old") -> TemplateView:
    share = (TrafficTarget(revision=serving, percent=100),)
    return TemplateView(wanted_hash="aaaaaaaaaa", differs=False, traffic=share, latest_created=created, candidate=candidate)


FAILED = RevisionReading(name="ranker-aaaaaaaaaa-1", ready=ReadyState.FAILED)


def test_lines_say_who_wrote_them_when_and_what() -> None:
    aborted = "The request was aborted because there was no available instance."
    assert as_text(line("Running gRPC ModelServer\nat 0.0.0.0:8500")) == "server: 02:59:30 Running gRPC ModelServer at 0.0.0.0:8500"
    assert as_text(line("Container called exit(255).", source=LogSource.PLATFORM)) == "platform: 02:59:30 Container called exit(255)."
    assert (
        as_text(line(aborted, source=LogSource.REQUEST, severity="WARNING", status=429))
        == f'request log: 02:59:30 severity=WARNING httpRequest.status=429 "{aborted}"'
    )


def test_while_an_incident_is_open_lines_of_a_candidate_are_left_out() -> None:
    lines = (
        line("of the one that serves", revision="ranker-old"),
        line("of the candidate", revision="ranker-aaaaaaaaaa-1"),
        line("Revision 'ranker-aaaaaaaaaa-1' is not ready and cannot serve traffic.", source=LogSource.PLATFORM),
        line("of no revision"),
    )
    given, described = asked(evidence(*lines), state=OPEN.model_copy(update={"rollout": rollout()}), template=view(candidate=FAILED))
    assert [text.partition(" ")[2].partition(" ")[2] for text in given.logs] == ["of the one that serves", "of no revision"]
    assert described is None


def test_without_an_incident_the_failed_candidate_is_what_it_is_about() -> None:
    lines = (line("of the one that serves", revision="ranker-old"), line("of the candidate", revision="ranker-aaaaaaaaaa-1"))
    given, described = asked(
        evidence(*lines, service={"template": {}}), state=CALM.model_copy(update={"rollout": rollout()}), template=view(candidate=FAILED)
    )
    assert [text[-16:] for text in given.logs] == ["of the candidate"]
    assert described is not None


def test_without_a_view_the_latest_ready_revision_serves() -> None:
    found = evidence(line("new", revision="ranker-2"), line("old", revision="ranker-1"))
    given, _ = asked(found, seen=observed(latest_ready_revision="ranker-1"))
    assert [text[-3:] for text in given.logs] == ["old"]
    assert len(asked(found)[0].logs) == 2


def test_a_query_without_points_that_every_service_has_is_none_and_any_other_is_left_out() -> None:
    none = Unknown(reason=NO_SERIES)
    given, _ = asked(evidence(values={TOTAL: known(12), REFUSED: none, GPU: none}))
    assert dict(given.metrics) == {TOTAL: 12, "window [s]": 300}
    given, _ = asked(evidence(values={TOTAL: none, REFUSED: none}))
    assert dict(given.metrics) == {TOTAL: None, "window [s]": 300}


def test_a_query_that_was_not_answered_is_no_answer() -> None:
    assert dict(asked(evidence(values={TOTAL: Unknown(reason="HTTP 503")}))[0].metrics) == {}


def test_where_nothing_could_be_read_there_is_nothing_in_it() -> None:
    given, _ = asked(Evidence(logs=Unknown(reason="403"), readings=Unknown(reason="403")))
    assert (given.logs, dict(given.metrics)) == ((), {})


def test_the_most_urgent_incident_is_the_alert() -> None:
    state = folded(alert("0.slow", signal=Signal.LATENCY), alert("0.full", signal=Signal.NO_INSTANCE, started=5))
    given, _ = asked(evidence(), state=state)
    assert given.alert is not None
    assert (given.alert["incident_id"], given.alert["policy_user_labels"]) == ("0.full", {"trimtab_signal": "no-instance"})
    assert asked(evidence(), state=CALM)[0].alert is None


def test_what_the_spec_and_the_quota_say_of_the_traffic_is_in_it() -> None:
    spec = document().model_copy(update={"spec": a_spec(rows_per_request=8, client_deadline_ms=900, top={"objective": {"p99_ms": 250}})})
    given, _ = asked(evidence(), spec=spec, quota=Known(value=3, age_seconds=0, samples=1))
    assert (given.p99_ms, given.workload.rows_per_request, given.workload.client_deadline_ms) == (250, 8, 900)
    assert given.workload.gpu_quota == 3


def test_the_service_is_cloud_runs_own_document_where_it_was_read() -> None:
    described = asked(evidence(service={"template": {"timeout": "60s"}}), template=view())[1]
    assert (described.service, described.complete, described.region) == ({"template": {"timeout": "60s"}}, True, "europe-west1")


def test_else_it_is_what_the_reading_of_the_bounds_has_and_says_nothing_of_what_is_absent() -> None:
    described = asked(evidence(), seen=observed(low=1, high=6, max_instance_request_concurrency=32))[1]
    assert described.complete is False
    assert described.service["scaling"] == {"minInstanceCount": 1, "maxInstanceCount": 6}
    template = described.service["template"]
    assert (template["maxInstanceRequestConcurrency"], template["nodeSelector"]) == (32, {"accelerator": "nvidia-l4"})
    assert template["containers"][0]["resources"]["limits"] == {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}


@pytest.mark.parametrize(
    "parts",
    [
        {"seen": observed(ready=ReadyState.FAILED)},
        {"template": view(created="ranker-new")},
        {"state": OPEN.model_copy(update={"rollout": rollout()})},
    ],
)
def test_a_template_that_does_not_serve_describes_nothing_that_does(parts: dict[str, Any]) -> None:
    assert asked(evidence(service={"template": {}}), **parts)[1] is None


def test_bounds_that_moved_since_the_metrics_were_taken_are_not_in_it() -> None:
    state = OPEN.model_copy(update={"clocks": Clocks(scaled_out_at=at(-400))})
    moved = asked(evidence(), state=state)[1]
    assert ("scaling" in moved.service, "scaling" in moved.service["template"], moved.complete) == (False, False, False)
    assert moved.service["template"]["nodeSelector"]
    settled = asked(evidence(), state=OPEN.model_copy(update={"clocks": Clocks(scaled_out_at=at(-481))}))[1]
    assert settled.service["scaling"]


def test_a_revision_that_got_the_traffic_since_is_not_what_was_measured() -> None:
    since = Served(revision="ranker-old", desired_hash="aaaaaaaaaa", since=at(-100))
    assert asked(evidence(service={"template": {}}), state=OPEN.model_copy(update={"served": since}), template=view())[1] is None


def test_evidence_is_asked_for_while_an_incident_is_open_or_a_candidate_failed_and_never_else() -> None:
    candidate = CALM.model_copy(update={"rollout": rollout()})
    starting = RevisionReading(name="ranker-aaaaaaaaaa-1", ready=ReadyState.RECONCILING)
    assert wants_evidence(OPEN, observation(observed()), NOW)
    assert wants_evidence(candidate, observation(observed(), template=view(candidate=FAILED)), NOW)
    assert not wants_evidence(candidate, observation(observed(), template=view(candidate=starting)), NOW)
    assert not wants_evidence(CALM, observation(observed(), template=view(candidate=FAILED)), NOW)
    assert not wants_evidence(CALM, observation(observed()), NOW)
    assert not wants_evidence(OPEN, observation(Unknown(reason="503")), NOW)


def test_the_count_is_asked_for_while_something_depends_on_it() -> None:
    floor = Floor(base=0, min_instance_count=2, expires_at=NOW, signal=Signal.LATENCY)
    assert not wants_count(CALM)
    assert wants_count(OPEN)
    assert wants_count(CALM.model_copy(update={"floor": floor}))
    assert wants_count(CALM.model_copy(update={"resting_max": 4}))
