"""Looking at the world: what cannot be seen is Unknown and says why."""

from datetime import datetime
from typing import Any

import pytest

from shared.errors import Refused, Retry, ServiceMissing
from shared.handlers.observe import observe, with_evidence, with_fleet_usage
from shared.records.evidence import Evidence, LogLine, LogLines, LogSource, Readings
from shared.records.fleet import Brakes, Fleet
from shared.records.metric import Unknown
from shared.records.observed import Observed
from shared.records.snapshot import Observation, OperationStatus
from shared.records.state import ServiceState
from shared.records.subject import ServiceId
from tests.support.builders import L4, NOW, RANKER, at, known, managed, observation, observed
from tests.unit.handlers.test_executor import ACT
from tests.unit.handlers.twins import ScriptedMetrics, ScriptedPlatform

IDLE = ServiceState(id=RANKER)
WRITTEN = ServiceState(id=RANKER, act=ACT.model_copy(update={"operation": "operations/1"}))


def look(platform: ScriptedPlatform, state: ServiceState = IDLE, metrics: Any = None, quota: Any = None) -> Observation:
    return observe(RANKER, state, platform=platform, metrics=metrics, quota=quota)


def why(part: object) -> str:
    assert isinstance(part, Unknown)
    return part.reason


def test_all_that_can_be_seen_is_seen() -> None:
    quota = ScriptedMetrics(known(10))
    seen = look(ScriptedPlatform(), metrics=ScriptedMetrics(known(3)), quota=quota)
    assert isinstance(seen.cloud_run, Observed)
    assert (seen.instance_count, seen.quota_instances) == (known(3), known(10))
    assert quota.shapes == [L4]


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (ServiceMissing("?"), "there is no Cloud Run service projects/acme-ml/locations/europe-west1/services/ranker"),
        (Retry("503 unavailable"), "503 unavailable"),
        (Refused("403: run.services.get is needed"), "Cloud Run refuses to be read: 403: run.services.get is needed"),
    ],
)
def test_a_service_that_cannot_be_read_is_unknown_with_the_reason(failure: Exception, reason: str) -> None:
    assert why(look(ScriptedPlatform(reads=[failure])).cloud_run) == reason


def test_where_cloud_run_cannot_be_read_nothing_else_is_asked_for() -> None:
    asked = ScriptedMetrics(known(3))
    seen = look(ScriptedPlatform(reads=[Retry("503")]), WRITTEN, metrics=asked, quota=asked)
    assert (why(seen.instance_count), why(seen.quota_instances), seen.operation) == ("not asked for", "not asked for", None)
    assert asked.shapes == []


@pytest.mark.parametrize("failure", [Retry("x" * 5_000), Refused("x" * 5_000)])
def test_a_reason_is_bounded(failure: Exception) -> None:
    assert len(why(look(ScriptedPlatform(reads=[failure])).cloud_run)) <= 500


def test_without_a_source_the_metric_and_the_quota_are_unknown() -> None:
    seen = look(ScriptedPlatform())
    assert why(seen.instance_count) == "no source of metrics is connected"
    assert why(seen.quota_instances) == "no source of quotas is connected"


def test_a_source_that_fails_makes_its_value_unknown_and_no_other() -> None:
    failing = ScriptedMetrics(Retry("Monitoring is not there"))
    seen = look(ScriptedPlatform(), metrics=failing, quota=ScriptedMetrics(known(10)))
    assert (why(seen.instance_count), seen.quota_instances) == ("Monitoring is not there", known(10))
    seen = look(ScriptedPlatform(), metrics=ScriptedMetrics(known(3)), quota=failing)
    assert (seen.instance_count, why(seen.quota_instances)) == (known(3), "Monitoring is not there")


def test_the_operation_of_the_change_under_way_is_read() -> None:
    status = OperationStatus(done=True)
    assert look(ScriptedPlatform(operation=status), WRITTEN).operation == status


def test_no_operation_is_asked_for_where_none_is_known() -> None:
    platform = ScriptedPlatform(operation=AssertionError("nobody may ask"))
    assert look(platform).operation is None
    assert look(platform, ServiceState(id=RANKER, act=ACT)).operation is None


@pytest.mark.parametrize("failure", [Retry("503"), Refused("403")])
def test_an_operation_that_cannot_be_read_is_left_out_and_logged(failure: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    assert look(ScriptedPlatform(operation=failure), WRITTEN).operation is None
    assert "operation not read" in capsys.readouterr().out


class Usage:
    """The part of the store that counts for the brakes."""

    def __init__(self) -> None:
        self.minutes: list[str] = []
        self.sums = 0

    def acts_in_minute(self, minute: str) -> int:
        self.minutes.append(minute)
        return 4

    def usd_per_hour_at_max(self) -> float:
        self.sums += 1
        return 12.5


@pytest.mark.parametrize(("limit", "dollars", "sums"), [(None, None, 0), (50.0, 12.5, 1)])
def test_the_dollars_of_the_fleet_are_summed_only_where_a_brake_asks_for_them(
    limit: float | None, dollars: float | None, sums: int
) -> None:
    usage = Usage()
    store: Any = usage
    fleet = Fleet(brakes=Brakes(usd_per_hour=limit))
    used = with_fleet_usage(observation(observed()), managed(fleet=fleet), store, at(61)).fleet_usage
    assert used is not None
    assert (used.acts_this_minute, used.usd_per_hour_at_max, usage.minutes, usage.sums) == (4, dollars, ["202611300301"], sums)


class ScriptedLogs:
    """A log that gives one answer, and remembers what was asked."""

    def __init__(self, answer: LogLines | Exception) -> None:
        self._given = answer
        self.asked: list[tuple[datetime, datetime, int]] = []

    def recent(self, service: ServiceId, *, since: datetime, until: datetime, limit: int) -> LogLines:
        self.asked.append((since, until, limit))
        if isinstance(self._given, Exception):
            raise self._given
        return self._given


LINES = LogLines(lines=(LogLine(at=NOW, source=LogSource.SERVER, text="OOM when allocating tensor"),))


def evidence_of(logs: ScriptedLogs, metrics: Any = None) -> Evidence:
    looked = with_evidence(observation(observed()), RANKER, logs=logs, metrics=metrics, document={"name": "x"}, now=NOW)
    assert looked.evidence is not None
    return looked.evidence


def test_evidence_is_a_quarter_of_an_hour_of_the_log_the_readings_and_the_service_as_it_was_read() -> None:
    logs = ScriptedLogs(LINES)
    found = evidence_of(logs, ScriptedMetrics(known(3)))
    assert (found.logs, found.service, logs.asked) == (LINES, {"name": "x"}, [(at(-900), NOW, 120)])
    assert isinstance(found.readings, Readings)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [(Retry("429: too many reads"), "429: too many reads"), (Refused("403: no"), "the log refuses to be read: 403: no")],
)
def test_a_log_that_cannot_be_read_is_unknown_with_the_reason(failure: Exception, reason: str) -> None:
    found = evidence_of(ScriptedLogs(failure))
    assert (why(found.logs), why(found.readings)) == (reason, "no source of metrics is connected")


def test_nobody_is_asked_for_a_count_that_nothing_depends_on() -> None:
    seen = observe(RANKER, IDLE, platform=ScriptedPlatform(), metrics=ScriptedMetrics(AssertionError("asked")), quota=None, count=False)
    assert why(seen.instance_count) == "not asked for: nothing depends on it"
