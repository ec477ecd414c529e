"""Hand-written twins of ports: they do what a test tells them, and remember what was asked."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from shared.records.evidence import Readings
from shared.records.evidence_keys import ALL_KEYS
from shared.records.metric import Metric
from shared.records.observed import Bounds, Observed, Shape
from shared.records.parked import Parked
from shared.records.service import OwnedField
from shared.records.snapshot import OperationStatus
from shared.records.state import ServiceState
from shared.records.subject import ServiceId, Wake
from tests.support.builders import observed


class ScriptedPlatform:
    """Cloud Run as a script: each call takes the next answer; an exception is raised, anything else returned."""

    def __init__(self, *, writes: Sequence[object] = (), reads: Sequence[object] = (), operation: object = None) -> None:
        self._writes, self._reads, self._operation = list(writes), list(reads), operation
        self.written: list[tuple[str, Bounds, tuple[OwnedField, ...]]] = []

    def get_service(self, service: ServiceId) -> Observed:
        answer = _answer(self._reads.pop(0) if self._reads else observed())
        assert isinstance(answer, Observed)
        return answer

    def update_scaling(self, service: ServiceId, *, etag: str, bounds: Bounds, fields: Sequence[OwnedField]) -> str:
        self.written.append((etag, bounds, tuple(fields)))
        return str(_answer(self._writes.pop(0) if self._writes else "operations/1"))

    def get_operation(self, name: str) -> OperationStatus | None:
        answer = _answer(self._operation)
        assert answer is None or isinstance(answer, OperationStatus)
        return answer


class ScriptedStates:
    """The part of the store that the executor uses: the token now, and what was committed; `fails` is raised by the commit."""

    def __init__(self, current: str = "t1", *, fails: Exception | None = None) -> None:
        self.token, self._fails = current, fails
        self.committed: list[tuple[str | None, ServiceState]] = []

    def state_token(self, service: ServiceId) -> str | None:
        return self.token

    def commit(self, service: ServiceId, *, token: str | None, state: ServiceState) -> str:
        if self._fails is not None:
            raise self._fails
        self.committed.append((token, state))
        return "t2"


class ScriptedMetrics:
    """Metrics and quotas that give one answer."""

    def __init__(self, answer: Metric | Exception) -> None:
        self._given = answer
        self.shapes: list[Shape] = []

    def instance_count(self, service: ServiceId) -> Metric:
        answer: Metric = _answer(self._given)  # type: ignore[assignment]  # the script holds metrics and exceptions
        return answer

    def readings(self, service: ServiceId) -> Readings:
        return Readings.unknown(ALL_KEYS, "not in this script")

    def instances(self, service: ServiceId, shape: Shape) -> Metric:
        self.shapes.append(shape)
        return self.instance_count(service)


class Listing:
    """The part of the store that the schedule uses."""

    def __init__(
        self,
        due: Iterable[ServiceId] = (),
        missed: Iterable[ServiceId] = (),
        commanded: Iterable[ServiceId] = (),
        last_tick: datetime | None = None,
    ) -> None:
        self._due, self._missed, self._commanded, self._last_tick = due, missed, commanded, last_tick
        self.commanded_since: list[datetime] = []
        self.asked: list[tuple[datetime, ...]] = []
        self.slots: list[int] = []

    def due_services(self, *, now: datetime, sweep_slot: int) -> Iterable[ServiceId]:
        self.slots.append(sweep_slot)
        return self._due

    def unfolded_services(self, *, since: datetime, until: datetime) -> Iterable[ServiceId]:
        self.asked.append((since, until))
        return self._missed

    def commanded_services(self, *, since: datetime, until: datetime) -> Iterable[ServiceId]:
        self.commanded_since.append(since)
        return self._commanded

    def begin_tick(self, now: datetime) -> datetime | None:
        before, self._last_tick = self._last_tick, now
        return before


class Batches:
    """A bus that keeps what was published, batch by batch; `fails` is raised by every publish."""

    def __init__(self, *, fails: Exception | None = None) -> None:
        self._fails = fails
        self.batches: list[list[Wake]] = []

    def publish_wakes(self, wakes: Sequence[Wake]) -> None:
        if self._fails is not None:
            raise self._fails
        self.batches.append(list(wakes))

    @property
    def wakes(self) -> list[Wake]:
        return [wake for batch in self.batches for wake in batch]


class ParkingLot:
    """The part of the store that parks."""

    def __init__(self) -> None:
        self.entries: dict[str, Parked] = {}

    def park(self, parked: Parked) -> None:
        self.entries.setdefault(parked.key, parked)


def _answer(given: object) -> object:
    if isinstance(given, Exception):
        raise given
    return given
