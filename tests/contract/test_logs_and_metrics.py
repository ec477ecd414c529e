"""One contract for both ways to logs and metrics: the simulated world, and Google's APIs over HTTP in front of the same world."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest

from shared.gcp.cloud_logging import CloudLogging
from shared.gcp.cloud_monitoring import CloudMonitoring
from shared.local.clock import VirtualClock
from shared.ports import Logs, Metrics
from shared.records.evidence import LogLine, LogLines, LogSource
from shared.records.evidence_keys import ALL_KEYS, INSTANCE_KEYS
from shared.records.metric import Known, Unknown
from shared.records.observed import Bounds
from shared.records.subject import ServiceId
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.gpu_service import place_service
from shared.simulation.logs import NO_INSTANCE_TEXT, SimulatedLogs
from shared.simulation.service_load import SimulatedLoad
from tests.support.builders import NOW, RANKER
from tests.support.json_door import Asked, JsonDoor

NOBODY = RANKER.model_copy(update={"name": "nobody"})
ACTIVE = "run.googleapis.com/container/instance_count{state=active} value [instances]"
IDLE = "run.googleapis.com/container/instance_count{state=idle} value [instances]"


class Place(NamedTuple):
    clock: VirtualClock
    load: SimulatedLoad
    world: SimulatedLogs
    logs: Logs
    metrics: Metrics


class Google:
    """Logging and Monitoring as far as the simulated world knows something: its lines, and its instances by minute and state."""

    def __init__(self, clock: VirtualClock, load: SimulatedLoad, world: SimulatedLogs) -> None:
        self._clock, self._load, self._world = clock, load, world

    def answer(self, asked: Asked) -> tuple[int, Any]:
        if asked.path == "/v2/entries:list":
            return 200, {"entries": [_entry(line) for line in self._lines(asked.body) if _in(line, asked.body["filter"])]}
        if asked.path.endswith("/timeSeries") and "container/instance_count" in asked.one("filter"):
            return 200, {"timeSeries": self._instances(_service(asked.one("filter")), asked)}
        return 200, {"timeSeries": [], "data": {"result": []}}

    def _lines(self, body: dict[str, Any]) -> list[LogLine]:
        times = [part.split('"')[1] for part in body["filter"].split(" AND ") if part.startswith("timestamp")]
        since, until = (datetime.fromisoformat(time) for time in times)
        found = self._world.recent(_service(body["filter"]), since=since, until=until, limit=body["pageSize"])
        return list(reversed(found.lines))

    def _instances(self, service: ServiceId, asked: Asked) -> list[dict[str, Any]]:
        start, end = (datetime.fromisoformat(asked.one(f"interval.{name}")) for name in ("startTime", "endTime"))
        minutes = [end - timedelta(seconds=60 * step) for step in range(5) if end - timedelta(seconds=60 * step) > start]
        running = [self._load.running(service, at=each) for each in minutes]
        if not any(running):
            return []
        busy = [min(int(self._load.demand(service, at=each)), up) for each, up in zip(minutes, running, strict=True)]
        counts = {"active": busy, "idle": [up - at for up, at in zip(running, busy, strict=True)]}
        return [
            {
                "metric": {"labels": {"state": state}},
                "points": [
                    {"interval": {"endTime": at.isoformat()}, "value": {"int64Value": str(count)}}
                    for at, count in zip(minutes, each, strict=True)
                ],
            }
            for state, each in counts.items()
        ]


def _service(text: str) -> ServiceId:
    name = text.split('resource.labels.service_name="')[1].split('"', maxsplit=1)[0]
    return RANKER.model_copy(update={"name": name})


def _in(line: LogLine, text: str) -> bool:
    return ("requests" in text) == (line.source is LogSource.REQUEST)


def _entry(line: LogLine) -> dict[str, Any]:
    log = {LogSource.REQUEST: "requests", LogSource.SERVER: "stderr", LogSource.PLATFORM: "varlog%2Fsystem"}[line.source]
    request = {} if line.status is None else {"httpRequest": {"status": line.status}}
    return {
        "logName": f"projects/acme-ml/logs/run.googleapis.com%2F{log}",
        "timestamp": line.at.isoformat(),
        "severity": line.severity,
        "textPayload": line.text,
        **request,
    }


@pytest.fixture(params=["simulated", "Google"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    clock = VirtualClock(NOW)
    cloud_run = SimulatedCloudRun(now=clock.now)
    place_service(cloud_run, RANKER, Bounds(max_instance_count=4))
    load = SimulatedLoad(cloud_run, now=clock.now)
    load.set_demand(RANKER, 3, at=NOW - timedelta(hours=1))
    world = SimulatedLogs(cloud_run, load, now=clock.now)
    if request.param == "simulated":
        yield Place(clock, load, world, world, load)
        return
    with JsonDoor(Google(clock, load, world).answer) as door:
        logs, metrics = CloudLogging(endpoint=door.endpoint), CloudMonitoring(clock, endpoint=door.endpoint)
        yield Place(clock, load, world, logs, metrics)
        logs.close()
        metrics.close()


def recent(place: Place, service: ServiceId = RANKER, *, seconds: float = 900, limit: int = 100) -> LogLines:
    return place.logs.recent(service, since=place.clock.now() - timedelta(seconds=seconds), until=place.clock.now(), limit=limit)


def test_every_reading_is_there_known_or_unknown_with_a_reason(place: Place) -> None:
    values = place.metrics.readings(RANKER).values
    assert set(values) == set(ALL_KEYS)
    assert {key for key, metric in values.items() if isinstance(metric, Known)} == set(INSTANCE_KEYS)
    assert all(metric.reason for metric in values.values() if isinstance(metric, Unknown))


def test_instances_are_counted_by_state_in_a_window_that_ended_a_while_ago(place: Place) -> None:
    place.load.set_demand(RANKER, 1)
    now = place.metrics.readings(RANKER)
    assert (now.values[ACTIVE].value, now.values[IDLE].value) == (3, 0)  # type: ignore[union-attr]
    place.clock.advance(240)
    later = place.metrics.readings(RANKER)
    assert (later.values[ACTIVE].value, later.values[IDLE].value) == (1, 2)  # type: ignore[union-attr]
    assert later.end_age_seconds >= 180
    assert later.values[ACTIVE].age_seconds >= 180  # type: ignore[union-attr]


def test_the_instance_count_is_active_and_idle_together(place: Place) -> None:
    place.load.set_demand(RANKER, 1)
    place.clock.advance(240)
    counted = place.metrics.instance_count(RANKER)
    assert isinstance(counted, Known)
    assert counted.value == 3
    assert counted.age_seconds < 300


def test_of_a_service_that_is_not_there_nothing_is_known_and_nothing_is_logged(place: Place) -> None:
    assert all(isinstance(metric, Unknown) for metric in place.metrics.readings(NOBODY).values.values())
    assert isinstance(place.metrics.instance_count(NOBODY), Unknown)
    assert recent(place, NOBODY).lines == ()


def test_lines_are_the_newest_of_the_time_asked_for_the_oldest_first(place: Place) -> None:
    for number in range(5):
        place.world.write(RANKER, f"line {'abcde'[number]}")
        place.clock.advance(60)
    assert [line.text[-1] for line in recent(place).lines] == ["a", "b", "c", "d", "e"]
    assert [line.text[-1] for line in recent(place, seconds=125).lines] == ["d", "e"]
    cut = recent(place, limit=2)
    assert ([line.text[-1] for line in cut.lines], cut.complete) == (["d", "e"], False)


def test_requests_refused_for_want_of_an_instance_are_in_the_log(place: Place) -> None:
    place.load.set_demand(RANKER, 9)
    place.clock.advance(120)
    lines = recent(place).lines
    assert {(line.source, line.status, line.text) for line in lines} == {(LogSource.REQUEST, 429, NO_INSTANCE_TEXT)}
