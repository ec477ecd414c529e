"""What the simulated Cloud Run keeps and gives out: writes, operations, bounds in force, and the messages' small parts."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from google.cloud import run_v2
from google.protobuf.timestamp_pb2 import Timestamp

from shared.simulation.cloud_run_errors import ServiceName, SimulatedError


@dataclass(frozen=True, slots=True)
class Write:
    """One accepted write. `mask` is empty for a create and for a replacement of the whole service."""

    at: datetime
    name: str
    mask: tuple[str, ...]
    principal: str
    generation: int
    """The service's generation after the write."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A long-running operation. `service` is the service as it stood when the operation was looked at."""

    name: str
    done: bool
    service: run_v2.Service
    error: SimulatedError | None = None


@dataclass(frozen=True, slots=True)
class InForce:
    """The bounds Cloud Run scales between from `at` on; in manual mode both are the manual count."""

    at: datetime
    min_instance_count: int
    max_instance_count: int


@dataclass(slots=True)
class Reconciliation:
    """A write on its way into force."""

    due: datetime
    generation: int
    operation: str
    revision: str | None
    failure: SimulatedError | None


@dataclass(slots=True)
class OperationRecord:
    """What is remembered of an operation."""

    service: ServiceName
    done: bool = False
    error: SimulatedError | None = None


@dataclass(slots=True)
class Record:
    """One service with what the API does not show."""

    service: run_v2.Service
    revisions: dict[str, bytes] = field(default_factory=dict)
    pending: list[Reconciliation] = field(default_factory=list)
    in_force: list[InForce] = field(default_factory=list)


def stamp(at: datetime) -> Timestamp:
    """The time as a message."""
    message = Timestamp()
    message.FromDatetime(at)
    return message


def ready(state: int, at: datetime, *, message: str = "", reason: int | None = None) -> run_v2.Condition:
    """A service's terminal condition; `state` and `reason` are `Condition.State` and `Condition.CommonReason`."""
    condition = run_v2.Condition(type_="Ready", state=state, message=message, last_transition_time=stamp(at))
    if reason is not None:
        condition.reason = cast("run_v2.Condition.CommonReason", reason)
    return condition


def copy_of(service: run_v2.Service) -> run_v2.Service:
    """A copy, unknown fields included."""
    raw = run_v2.Service.pb(service)
    copied = type(raw)()
    copied.CopyFrom(raw)
    return cast("run_v2.Service", run_v2.Service.wrap(copied))


def bytes_of(message: run_v2.Service | run_v2.RevisionTemplate) -> bytes:
    """The message as bytes that are the same for the same content, unknown fields included."""
    return cast("bytes", type(message).pb(message).SerializeToString(deterministic=True))


def three_letters(text: str) -> str:
    """The letters at the end of a revision's name: always the same for the same text."""
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(chr(ord("a") + byte % 26) for byte in digest[:3])
