"""What an alert means: the policy's label `trimtab_signal` says so, else the metric that its condition watches, where that is plain.

A wrong guess would change a service for the wrong reason, so only what one metric can mean is read from it: Cloud Run's latencies, its
waiting requests, its GPU memory, its refusals (429) and its errors (5xx), and a series that is absent. A busy CPU, TF Serving's own
metrics and everything else need the label.
"""

import re
from collections.abc import Iterable
from typing import Literal, NoReturn

from shared.errors import Park
from shared.events.alert_reading import AlertReading
from shared.events.lenient import shown
from shared.records.parked import ParkCode
from shared.records.signals import Signal

SIGNAL_LABEL = "trimtab_signal"

_CLOUD_RUN = re.compile(r"run[._]googleapis[._]com[:/]([a-z0-9_/]{1,80})")
"""A metric of Cloud Run as filters and MQL spell it, or as PromQL does: `run_googleapis_com:request_latency_pending_bucket`."""
_OF_A_DISTRIBUTION = "(?:_bucket|_sum)?"
"""PromQL's series of a distribution; `_count` is none of them: it counts requests and measures nothing."""
_MEANINGS = (
    (re.compile(f"request_latency_pending{_OF_A_DISTRIBUTION}"), Signal.PENDING_LATENCY),
    (re.compile("pending_queue_pending_requests"), Signal.PENDING_LATENCY),
    (re.compile(f"request_latencies{_OF_A_DISTRIBUTION}"), Signal.LATENCY),
    (re.compile("request_latency_(?!pending)[a-z0-9_]+(?<!_count)"), Signal.LATENCY),
    (re.compile(f"container_gpu_memory_(?:utilizations|usages){_OF_A_DISTRIBUTION}"), Signal.GPU_MEMORY),
)
_REQUEST_COUNT = "request_count"

_CODE = re.compile(
    r"(?P<negated>(?:\bNOT\s{1,8}|-)(?:metric\.)?(?:labels?\.)?)?\"?\bresponse_code(?:_class)?\"?\s{0,8}(?:=~|==|=)\s{0,8}"
    r"(?:monitoring\.regex\.full_match\(|starts_with\()?[\"'\\^]{0,3}(?P<codes>[0-9x.|]{1,40})"
)
"""A condition on the response code in a filter (`=`, `full_match`, `starts_with`), in MQL (`==`, `=~`) or in PromQL (`=`, `=~`)."""


def meaning(reading: AlertReading) -> tuple[Signal, Literal["label", "condition"]]:
    """The alert's signal, and whether the label or the condition gave it.

    Raises:
        Park: no-signal: the label holds none of the ten, or there is no label and the condition does not say it plainly.
    """
    label = reading.policy_labels.get(SIGNAL_LABEL)
    if label is not None:
        try:
            return Signal(label), "label"
        except ValueError:
            _refuse(f"the policy's user label {SIGNAL_LABEL} is {shown(label)}; want one of {_names()}")
    found = _of_condition(reading)
    if found is None:
        _refuse(
            f"neither metric {shown(reading.metric_type)} nor the condition of policy {shown(reading.policy_name)} says what the alert "
            f"means; add the user label {SIGNAL_LABEL} to the policy, one of {_names()}"
        )
    return found, "condition"


def _of_condition(reading: AlertReading) -> Signal | None:
    if reading.condition_kind == "conditionAbsent":
        return Signal.NO_DATA
    if reading.log_match:
        return None
    where = (reading.metric_type,) if reading.metric_type is not None else reading.condition_texts
    metrics = {name.replace("/", "_").rstrip("_") for text in where for name in _CLOUD_RUN.findall(text)}
    if reading.metric_type is not None and not reading.metric_type.startswith("run.googleapis.com/"):
        return None
    return _only({_of_metric(name, reading) for name in metrics})


def _of_metric(name: str, reading: AlertReading) -> Signal | None:
    if name == _REQUEST_COUNT:
        labels = (reading.metric_labels.get("response_code"), reading.metric_labels.get("response_code_class"))
        return _only(map(_of_code, filter(None, labels))) or _only(map(_of_code, _codes(reading.condition_texts)))
    return next((signal for pattern, signal in _MEANINGS if pattern.fullmatch(name)), None)


def _codes(texts: Iterable[str]) -> list[str]:
    stated = (match["codes"] for text in texts for match in _CODE.finditer(text) if not match["negated"])
    return [code for codes in stated for code in codes.split("|")]


def _of_code(code: str) -> Signal | None:
    if code == "429":
        return Signal.NO_INSTANCE
    return Signal.ERROR_RATIO if code.startswith("5") else None


def _only(signals: Iterable[Signal | None]) -> Signal | None:
    """The one signal among them, or None where there is none or more than one."""
    found = {signal for signal in signals if signal is not None}
    return found.pop() if len(found) == 1 else None


def _names() -> str:
    return ", ".join(Signal)


def _refuse(reason: str) -> NoReturn:
    raise Park(ParkCode.NO_SIGNAL, f"alert: {reason}")
