"""When a look asks for more than Cloud Run's own word: the instance count, logs and metrics. Pure."""

from datetime import datetime, timedelta

from shared.control.timing import TRIAL_SETTLE_SECONDS
from shared.records.evidence import WINDOW_SECONDS
from shared.records.observed import Observed, ReadyState
from shared.records.repair import RepairPhase
from shared.records.rollout import TemplateView
from shared.records.signals import Signal
from shared.records.snapshot import Observation
from shared.records.state import ServiceState


def wants_evidence(state: ServiceState, observation: Observation, now: datetime) -> bool:
    """Whether a look asks for logs and metrics: never on an idle look.

    It does while an incident is open, where the candidate of a rollout failed, when a repair can be judged, and when instances that were
    added for latency may go. Where Cloud Run cannot be read nothing is decided, and so nothing else is asked for.
    """
    if not isinstance(observation.cloud_run, Observed):
        return False
    judged_from = trial_reads_from(state)
    on_trial = judged_from is not None and now >= judged_from
    floor = state.floor
    lowered = floor is not None and floor.signal is Signal.LATENCY and now >= floor.expires_at
    return on_trial or lowered or state.open_incident_count > 0 or failed_candidate(state, observation.template) is not None


def trial_reads_from(state: ServiceState) -> datetime | None:
    """From when on a look asks for metrics to judge a repair; None where none is on trial."""
    repair = state.repair
    if repair is None or repair.phase is not RepairPhase.ON_TRIAL or repair.promoted_at is None:
        return None
    return repair.promoted_at + timedelta(seconds=WINDOW_SECONDS + TRIAL_SETTLE_SECONDS)


def wants_count(state: ServiceState) -> bool:
    """Whether a look asks how many instances run: trouble is open or just over, or a bound is above where it should rest."""
    raised = state.floor is not None or state.resting_max is not None
    return state.open_incident_count > 0 or bool(state.episodes) or raised or state.act is not None


def failed_candidate(state: ServiceState, view: TemplateView | None) -> str | None:
    """The revision of the rollout under way, if Cloud Run says that it failed."""
    if state.rollout is None or view is None or view.candidate is None:
        return None
    return view.candidate.name if view.candidate.ready is ReadyState.FAILED else None
