"""What holds of every repair, whatever the spec, the readings and the repairs before."""

import json
import math
from datetime import timedelta
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shared.control.fold import fold
from shared.control.repair_ask import ANY_VERSION, SHORT, _stepped
from shared.control.repair_effect import KEPT_REASON, effect
from shared.control.repair_prediction import predict
from shared.control.repair_rules import STEPS
from shared.control.repair_verdict import verdict
from shared.diagnose.answer import Cause
from shared.lint.specs import check_spec
from shared.records.admission import admit
from shared.records.allow_lists import AllowLists
from shared.records.desired import desired_serving
from shared.records.evidence import NO_SERIES, Evidence, Readings
from shared.records.evidence_keys import ALL_KEYS, SERVED_KEYS, TOTAL_KEY
from shared.records.metric import Known, Metric, Unknown
from shared.records.repair import KEPT_ASKED, KEPT_CHANGES, Effect, Prediction, Repair, RepairPhase, RepairSettings
from shared.records.repaired import repaired
from shared.records.service import ServiceSpec
from shared.records.serving import DesiredServing, ServingSpec
from shared.records.signals import Signal
from shared.records.state import KEPT_INCIDENTS, STATE_LIMIT_BYTES, STATE_TEXT_LIMIT, ServiceState
from shared.tfserving.batching_parameters import BatchingParameters
from tests.support.builders import NOW, RANKER, page, stored
from tests.support.specs import SERVICE, serving_specs
from tests.unit.records.test_stored import full, longest, size

sizes = st.one_of(st.none(), st.integers(1, 2_048))
repair_settings = st.builds(
    RepairSettings,
    max_batch_size=sizes,
    num_batch_threads=st.one_of(st.none(), st.integers(1, 8)),
    max_enqueued_batches=sizes,
    max_instance_request_concurrency=st.one_of(st.none(), st.integers(1, 1_000)),
    batch_size_ceiling=sizes,
)
"""Any, also such as no repair would decide."""


@given(serving=serving_specs(), decided=repair_settings)
@settings(max_examples=60)
def test_what_the_owner_wrote_stays_whatever_repairs_decided(serving: ServingSpec, decided: RepairSettings) -> None:
    found = repaired(serving, decided)
    if serving.own_entry is not None:
        assert found == serving
        return
    own = serving.batching.model_dump(exclude_unset=True, exclude_none=True) if isinstance(serving.batching, BatchingParameters) else {}
    said = found.batching.model_dump() if isinstance(found.batching, BatchingParameters) else {}
    assert {name: said[name] for name in own} == own
    if serving.max_instance_request_concurrency != "auto":
        assert found.max_instance_request_concurrency == serving.max_instance_request_concurrency
    others = {"batching", "max_instance_request_concurrency"}
    assert found.model_dump(exclude=others) == serving.model_dump(exclude=others)


def numbers(desired: DesiredServing) -> dict[str, int | None]:
    batching = desired.batching
    return {
        "max_batch_size": None if batching is None else batching.max_batch_size,
        "num_batch_threads": None if batching is None else batching.num_batch_threads,
        "max_instance_request_concurrency": desired.max_instance_request_concurrency,
    }


@st.composite
def left_to_trimtab(draw: st.DrawFn) -> ServingSpec:
    """Specs that leave batching, or most of it, and often the concurrency to Trimtab."""
    serving = draw(serving_specs(own_entry=False))
    fields: dict[str, Any] = {"batching": draw(st.one_of(st.just("auto"), BATCHING_PARTS))}
    if draw(st.booleans()):
        fields["max_instance_request_concurrency"] = "auto"
    try:
        return ServingSpec.model_validate(serving.model_dump(mode="json", exclude_unset=True) | fields)
    except ValueError:
        return serving


BATCHING_PARTS = st.fixed_dictionaries(
    {},
    optional={
        "num_batch_threads": st.integers(1, 4),
        "max_enqueued_batches": st.integers(1, 64),
        "batch_timeout_micros": st.integers(0, 2_000),
        "enable_large_batch_splitting": st.sampled_from((True,)),
        "max_execution_batch_size": st.sampled_from((8, 16, 32, 48)),
    },
)


@given(serving=left_to_trimtab(), causes=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_steps_are_small_admitted_and_pass_lint(serving: ServingSpec, causes: list[str]) -> None:
    """One after the other, as far as the spec leaves to Trimtab what they change."""
    spec = ServiceSpec.model_validate({"scale": {"max_instance_count": 4}, "serving": serving.model_dump()})
    assume(not admit(SERVICE, spec, AllowLists()))
    decided = RepairSettings()
    for cause in causes:
        before = desired_serving(spec, version=ANY_VERSION, settings=decided)
        step = _stepped(spec, Cause(cause, 0.9, ("seen",)), decided, takes_over=False)
        if isinstance(step, str):
            continue
        after = desired_serving(spec, version=ANY_VERSION, settings=step.settings)
        for name, value in numbers(after).items():
            was = numbers(before)[name]
            assert was is None or value is None or was / 2 - 1 <= value <= 2 * was + 1, (cause, name, was, value)
        settled = spec.model_copy(update={"serving": repaired(serving, step.settings)})
        assert [str(each) for each in admit(SERVICE, settled, AllowLists())] == []
        assert not [each for each in check_spec(SERVICE, settled).findings if each.severity == "error"], (cause, step.settings)
        ceiling = step.settings.batch_size_ceiling
        assert ceiling is None or after.batching is None or (after.batching.max_batch_size or 0) <= ceiling
        assert step.changes
        decided = step.settings


NEEDED = tuple(key for key in ALL_KEYS if "utilizations p50" in key or key == TOTAL_KEY or "instance_count{state=active} value" in key)


@st.composite
def readings_of(draw: st.DrawFn) -> Readings:
    """Any readings; what a prediction needs is more often known than not, and sometimes as it is in a real service."""
    large = st.sampled_from((1e-9, 0.4, 1.0, 37.0, 2e4, 1e9))
    value = st.one_of(large, st.floats(0, 1e9, allow_nan=False))
    metric = st.builds(Known, value=value, age_seconds=st.just(180.0), samples=st.just(5))
    absent = st.sampled_from((Unknown(reason=NO_SERIES), Unknown(reason="503")))
    values: dict[str, Metric] = {key: draw(st.one_of(metric, absent)) for key in ALL_KEYS}
    values |= {key: draw(st.one_of(metric, metric, metric, absent)) for key in NEEDED}
    if draw(st.booleans()):
        total = draw(st.floats(0.1, 1e6))
        values |= dict.fromkeys(SERVED_KEYS, Unknown(reason=NO_SERIES))
        values |= {TOTAL_KEY: _value(total), next(iter(SERVED_KEYS)): _value(total * draw(st.floats(0, 1)))}
    return Readings(values=values)


def _value(value: float) -> Known:
    return Known(value=value, age_seconds=180, samples=5)


evidences = st.builds(
    Evidence, logs=st.just(Unknown(reason="not asked")), readings=st.one_of(st.just(Unknown(reason="503")), readings_of())
)


@given(
    serving=serving_specs(own_entry=False),
    evidence=evidences,
    decided=st.one_of(st.just(RepairSettings()), st.builds(RepairSettings, max_batch_size=st.sampled_from((1, 8, 64)))),
    now=st.integers(1, 50),
    more=st.integers(0, 50),
)
@settings(max_examples=60, deadline=None)
def test_a_prediction_is_finite_and_ordered(serving: ServingSpec, evidence: Evidence, decided: RepairSettings, now: int, more: int) -> None:
    spec = ServiceSpec.model_validate({"scale": {"max_instance_count": 4}, "serving": serving.model_dump()})
    desired = desired_serving(spec, version=ANY_VERSION, settings=decided)
    found = predict(desired, evidence, rows_per_request=serving.rows_per_request, allowed_now=now, allowed=now + more)
    low, high = found.requests_per_second_low, found.requests_per_second_high
    assert (low is None) == (high is None) == (found.failed_ratio is None)
    if low is not None and high is not None and found.failed_ratio is not None:
        assert math.isfinite(high)
        assert 0 <= low <= high
        assert 0 <= found.failed_ratio <= 1
    assert Prediction.from_stored(found.to_stored()) == found
    measured = effect(evidence, serving.protocol)
    assert Effect.from_stored(measured.to_stored()) == measured


ratios: st.SearchStrategy[Metric] = st.one_of(
    st.just(Unknown(reason="503")), st.builds(Known, value=st.floats(0, 1), age_seconds=st.just(180.0), samples=st.just(5))
)
amounts: st.SearchStrategy[Metric] = st.one_of(
    st.just(Unknown(reason="503")), st.builds(Known, value=st.floats(0, 10_000), age_seconds=st.just(180.0), samples=st.just(5))
)
effects = st.builds(
    Effect,
    requests_per_second=amounts,
    failed_ratio=ratios,
    p99_ms=amounts,
    mean_batch_rows=amounts,
    gpu_busy_ratio=ratios,
    cpu_busy_ratio=ratios,
)


@given(before=effects, after=effects, objective=st.one_of(st.none(), st.floats(1, 1_000)))
def test_what_is_worse_than_before_is_not_worse_the_other_way_round(before: Effect, after: Effect, objective: float | None) -> None:
    if verdict(before, after, objective_p99_ms=objective).worse:
        assert verdict(after, before, objective_p99_ms=objective).worse is not True


@given(one=effects, objective=st.one_of(st.none(), st.floats(1, 1_000)))
def test_what_stays_as_it_was_is_not_worse(one: Effect, objective: float | None) -> None:
    assert verdict(one, one, objective_p99_ms=objective).worse is not True


@given(before=effects, after=effects)
def test_nothing_unknown_of_failures_is_worse_or_better(before: Effect, after: Effect) -> None:
    if isinstance(before.failed_ratio, Unknown) or isinstance(after.failed_ratio, Unknown):
        assert verdict(before, after, objective_p99_ms=None).worse is None


texts = st.text(max_size=512)
shorts = st.text(max_size=256)
moments = st.integers(0, 40_000).map(lambda seconds: NOW + timedelta(seconds=seconds))
predictions = st.builds(Prediction, text=texts)


@st.composite
def repairs(draw: st.DrawFn) -> Repair:
    values: dict[str, Any] = {
        "repair_id": draw(shorts),
        "phase": draw(st.sampled_from(RepairPhase)),
        "basis": "a" * 10,
        "signal": draw(st.sampled_from(Signal)),
        "cause": draw(shorts),
        "why": draw(texts),
        "changes": tuple(draw(st.lists(shorts, max_size=10))),
        "settings": draw(repair_settings),
        "fallback": draw(repair_settings),
        "predicted": draw(predictions),
        "before": draw(effects),
        "after": draw(st.one_of(st.none(), effects)),
        "asked_at": draw(moments),
        "promoted_at": draw(st.one_of(st.none(), moments)),
        "revision": draw(st.sampled_from((None, "ranker-abcdefghij-1"))),
        "outcome": draw(texts),
    }
    return Repair.model_validate(values)


@given(repair=repairs(), asked=st.lists(moments, max_size=8))
@settings(max_examples=50)
def test_a_state_with_a_repair_is_stored_and_read_back_as_it_was(repair: Repair, asked: list[Any]) -> None:
    state = ServiceState(id=RANKER, repair=repair, repairs_asked_at=tuple(asked))
    assert ServiceState.from_stored(json.loads(json.dumps(state.to_stored()))) == state


def test_a_full_state_with_the_longest_repair_stays_below_its_limit() -> None:
    long = "m" * 512
    unknown = dict.fromkeys(Effect.model_fields, Unknown(reason="m" * KEPT_REASON))
    repair = Repair.model_validate(
        {
            "repair_id": "repair-20261130T031500",
            "phase": "reverting",
            "basis": "a" * 10,
            "signal": Signal.CPU_HIGH_GPU_LOW,
            "cause": max(STEPS, key=len),
            "why": long,
            "changes": ("m" * SHORT,) * KEPT_CHANGES,
            "settings": dict.fromkeys(RepairSettings.model_fields, 1_000),
            "fallback": dict.fromkeys(RepairSettings.model_fields, 1_000),
            "predicted": Prediction(text=long),
            "before": unknown,
            "after": unknown,
            "asked_at": NOW,
            "promoted_at": NOW,
            "revision": "r" * 63,
            "previous": "r" * 63,
            "outcome": long,
        }
    )
    opens = [stored(longest(number, "open"), number + 1) for number in range(KEPT_INCIDENTS)]
    closes = [stored(longest(number, "closed"), number + 1) for number in range(1_000, 1_010)]
    folded, _ = fold(ServiceState(id=RANKER), page(*opens, *closes), {})
    most = max(folded.incidents, key=lambda incident: len(incident.model_dump_json()))
    without = full("s" * 256, "m" * STATE_TEXT_LIMIT, incident=most, tombstone=folded.tombstones[0])
    assert size(without.model_copy(update={"repair": repair, "repairs_asked_at": (NOW,) * KEPT_ASKED})) < STATE_LIMIT_BYTES
