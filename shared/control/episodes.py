"""Stretches of trouble: which signals are on, since when, and from which bounds their targets are computed."""

from datetime import datetime, timedelta

from shared.control.inflight import last_attempt
from shared.control.timing import EFFECT_SECONDS, EPISODE_GRACE_SECONDS, METRIC_FRESH_SECONDS
from shared.records.metric import Known, Metric, Unknown
from shared.records.observed import Observed
from shared.records.signals import Signal
from shared.records.state import Episode, ServiceState

URGENCY = (
    Signal.NO_INSTANCE,
    Signal.PENDING_LATENCY,
    Signal.QUEUE_FULL,
    Signal.THREAD_GAP,
    Signal.GPU_MEMORY,
    Signal.ERROR_RATIO,
    Signal.LATENCY,
    Signal.CPU_HIGH_GPU_LOW,
    Signal.NO_DATA,
    Signal.IDLE,
)
"""All signals, the most urgent first: refused requests before slow ones, slow ones before wasted money."""


def open_signals(state: ServiceState) -> tuple[Signal, ...]:
    """The signals with an open incident, the most urgent first."""
    opened = {incident.signal for incident in state.incidents}
    return tuple(signal for signal in URGENCY if signal in opened)


def fresh(metric: Metric) -> Metric:
    """The metric, or Unknown where its newest sample is too old to decide on."""
    if isinstance(metric, Known) and metric.age_seconds > METRIC_FRESH_SECONDS:
        return Unknown(reason=f"the newest sample is {metric.age_seconds:.0f} s old, more than {METRIC_FRESH_SECONDS:.0f} s")
    return metric


def advance(state: ServiceState, observed: Observed, instance_count: Metric, now: datetime) -> ServiceState:
    """The state with its episodes brought up to what is open now.

    A new episode is anchored at the bounds in force now. An incident that opened well after the last change for its signal,
    while the instance count is known to have reached the bound, is new trouble on top of the old: the anchor moves up to it.
    """
    known = {episode.signal: episode for episode in state.episodes}
    episodes = []
    opened = open_signals(state)
    for signal in URGENCY:
        episode = known.get(signal)
        if signal in opened:
            ground = {"anchor_min": observed.min_in_force, "anchor_max": observed.max_in_force, "anchored_at": now}
            if episode is None:
                episodes.append(Episode.model_validate({"signal": signal, "started_at": now, **ground}))
            else:
                moved = _new_trouble(episode, state) and _at_bound(observed, instance_count)
                episodes.append(episode.model_copy(update={"ended_at": None, **(ground if moved else {})}))
        elif episode is not None:
            ended_at = episode.ended_at or now
            if now < ended_at + timedelta(seconds=EPISODE_GRACE_SECONDS):
                episodes.append(episode.model_copy(update={"ended_at": ended_at}))
    return state.model_copy(update={"episodes": tuple(episodes)})


def _new_trouble(episode: Episode, state: ServiceState) -> bool:
    """Whether an incident opened after the effect of the last change for the signal could be seen."""
    changed_at = last_attempt(state, episode.signal)
    if changed_at is None or changed_at < episode.anchored_at:
        return False
    settled_at = changed_at + timedelta(seconds=EFFECT_SECONDS)
    return any(incident.started_at > settled_at for incident in state.incidents if incident.signal == episode.signal)


def _at_bound(observed: Observed, instance_count: Metric) -> bool:
    return isinstance(instance_count, Known) and instance_count.value >= observed.max_in_force
