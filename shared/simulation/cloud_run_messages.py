"""Small parts of Cloud Run's messages, as the simulation makes, copies and compares them. Pure."""

import hashlib
from datetime import datetime
from typing import TypeVar, cast

from google.cloud import run_v2
from google.protobuf.timestamp_pb2 import Timestamp

_M = TypeVar("_M", run_v2.Service, run_v2.Revision, run_v2.RevisionTemplate)


def stamp(at: datetime) -> Timestamp:
    """The time as a message."""
    message = Timestamp()
    message.FromDatetime(at)
    return message


def condition_of(kind: str, state: int, at: datetime, *, message: str = "", reason: int | None = None) -> run_v2.Condition:
    """A service's condition; `state` and `reason` are `Condition.State` and `Condition.CommonReason`."""
    condition = run_v2.Condition(type_=kind, state=state, message=message, last_transition_time=stamp(at))
    if reason is not None:
        condition.reason = cast("run_v2.Condition.CommonReason", reason)
    return condition


def copy_of(message: _M) -> _M:
    """A copy, unknown fields included."""
    raw = type(message).pb(message)
    copied = type(raw)()
    copied.CopyFrom(raw)
    return cast("_M", type(message).wrap(copied))


def bytes_of(message: run_v2.Service | run_v2.RevisionTemplate) -> bytes:
    """The message as bytes that are the same for the same content, unknown fields included."""
    return cast("bytes", type(message).pb(message).SerializeToString(deterministic=True))


def content_of(template: run_v2.RevisionTemplate) -> bytes:
    """The template as bytes without its revision's name, which Cloud Run gives where the template has none."""
    plain = run_v2.RevisionTemplate.pb(copy_of(template))
    plain.ClearField("revision")
    return cast("bytes", plain.SerializeToString(deterministic=True))


def is_manual(service: run_v2.Service) -> bool:
    """Whether the service is scaled by hand. Read from the raw message: the wrapper warns of values newer than this client."""
    return bool(run_v2.Service.pb(service).scaling.scaling_mode == run_v2.ServiceScaling.ScalingMode.MANUAL)


def three_letters(text: str) -> str:
    """The letters at the end of a revision's name: always the same for the same text."""
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(chr(ord("a") + byte % 26) for byte in digest[:3])
