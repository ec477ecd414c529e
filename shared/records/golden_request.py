"""Whether `serving.golden_request` can be the body of a predict call of TF Serving's REST API, and be answered. Pure.

The call is made over HTTP/1 to the address of the revision, behind which Cloud Run has one port: over gRPC's nobody answers it.

The rules and texts are those of json_tensor.cc. The tensors themselves only the model can judge.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from shared.records.refusal import Authority, Refusal, shown
from shared.records.serving import Protocol

FIELD = "spec.serving.golden_request"
LIMIT_BYTES = 64 * 1_024
"""Of the body as JSON. The spec is one document of the store, and a call that decides is best a small one."""
LIMIT_DEPTH = 16
"""Lists and objects inside one another; tensors have 8 dimensions at most in practice."""
LIMIT_VALUES = 20_000
"""Values in it, lists and objects included: what is looked at before it is measured."""
_KEYS = ("signature_name", "instances", "inputs")
_INT64 = 2**63


class _NotJsonError(Exception):
    """A value that the body cannot hold, with where and why."""


def golden_refusals(body: Mapping[str, Any], *, protocol: Protocol, max_batch_size: int | None) -> Iterator[Refusal]:
    """What is wrong with the body. `max_batch_size` is the number of rows a request may have; None without batching."""
    if protocol is not Protocol.REST:
        yield _refusal(
            "protocol: rest with a golden request",
            f"the call is one of TF Serving's REST API, and protocol {protocol.value} exposes the other port: it could never be answered, "
            "so no revision would get traffic",
            "set serving.protocol to rest, or leave the golden request out: then that a revision is ready decides",
            authority=Authority.TRIMTAB,
            value=f"a request with protocol {protocol.value}",
        )
    try:
        size = _measure(body)
    except _NotJsonError as error:
        yield _refusal("a JSON body", str(error), "take it out, or write it as JSON has it", authority=Authority.TRIMTAB)
        return
    if size > LIMIT_BYTES:
        yield _refusal(
            f"{LIMIT_BYTES} bytes as JSON",
            f"it has {size}",
            "send fewer rows: one is enough",
            authority=Authority.TRIMTAB,
            value=f"{size} bytes",
        )
    yield from _key_refusals(body)
    yield from _instances_refusals(body, max_batch_size)


def _key_refusals(body: Mapping[str, Any]) -> Iterator[Refusal]:
    unknown = [key for key in body if key not in _KEYS]
    if unknown:
        yield _refusal(
            f"the keys {', '.join(_KEYS)}",
            f"TF Serving's predict reads no {', '.join(map(shown, unknown))} and would ignore it",
            "write instances (one entry for each row) or inputs (one entry for each tensor)",
        )
    if "instances" in body and "inputs" in body:
        yield _refusal(
            "one of instances and inputs",
            "both are there; TF Serving says \"Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist\"",
            "keep one of them",
        )
    if "instances" not in body and "inputs" not in body:
        yield _refusal(
            "one of instances and inputs",
            "neither is there; TF Serving says \"Missing 'inputs' or 'instances' key\"",
            "write instances (one entry for each row) or inputs (one entry for each tensor)",
        )
    if "signature_name" in body and not isinstance(body["signature_name"], str):
        yield _refusal("a text as signature_name", "the signature's name is no text", "write the name, or leave it out for serving_default")


def _instances_refusals(body: Mapping[str, Any], max_batch_size: int | None) -> Iterator[Refusal]:
    if "instances" not in body:
        return
    instances = body["instances"]
    if not isinstance(instances, list | tuple):
        yield _refusal(
            "a list as instances",
            "instances is no list; TF Serving says \"Excepting 'instances' to be an list/array\"",
            "write a list with one entry for each row",
        )
    elif not instances:
        yield _refusal(
            "at least one row in instances",
            "instances is empty; TF Serving says \"No values in 'instances' array\"",
            "write one row",
        )
    elif max_batch_size is not None and len(instances) > max_batch_size:
        yield _refusal(
            f"{max_batch_size} rows, the batching's max_batch_size",
            f'TF Serving says "Task size {len(instances)} is larger than maximum input batch size {max_batch_size}"',
            "send fewer rows: one is enough",
            value=f"{len(instances)} rows",
        )


def _refusal(limit: str, why: str, fix: str, *, authority: Authority = Authority.TF_SERVING, value: str = "the body") -> Refusal:
    return Refusal(field=FIELD, value=value, limit=limit, why=why, fix=fix, authority=authority)


def _measure(body: Mapping[str, Any]) -> int:
    """Its size as JSON.

    Raises:
        _NotJsonError: it holds something JSON has not, or is too deep or too much to look at.
    """
    left = LIMIT_VALUES
    pending: list[tuple[Any, int]] = [(body, 1)]
    while pending:
        value, depth = pending.pop()
        left -= 1
        if left < 0:
            raise _NotJsonError(f"it holds more than {LIMIT_VALUES} values")
        if depth > LIMIT_DEPTH:
            raise _NotJsonError(f"it is nested deeper than {LIMIT_DEPTH} levels")
        if isinstance(value, Mapping):
            if not all(isinstance(key, str) for key in value):
                raise _NotJsonError("a key of it is no text")
            pending.extend((key, depth) for key in value)
            pending.extend((inner, depth + 1) for inner in value.values())
        elif isinstance(value, list | tuple):
            pending.extend((inner, depth + 1) for inner in value)
        else:
            _check_scalar(value)
    return len(json.dumps(body, ensure_ascii=False).encode())


def _check_scalar(value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise _NotJsonError(f"it holds {value}, which is no number of JSON")
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        raise _NotJsonError("it holds a whole number of more than 64 bits")
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _NotJsonError("it holds a text with half of a surrogate pair") from None
    if value is not None and not isinstance(value, bool | int | float | str):
        raise _NotJsonError(f"it holds {shown(value)} ({type(value).__name__}), which JSON has no form for")
