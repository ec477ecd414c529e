"""When a look asks for more than Cloud Run's own word: the instance count, logs and metrics. Pure."""

from shared.records.observed import Observed, ReadyState
from shared.records.rollout import TemplateView
from shared.records.snapshot import Observation
from shared.records.state import ServiceState


def wants_evidence(state: ServiceState, observation: Observation) -> bool:
    """Whether a look asks for logs and metrics: an incident is open, or the candidate of a rollout failed. Never on an idle look.

    Where Cloud Run cannot be read nothing is decided, and so nothing else is asked for.
    """
    if not isinstance(observation.cloud_run, Observed):
        return False
    return state.open_incident_count > 0 or failed_candidate(state, observation.template) is not None


def wants_count(state: ServiceState) -> bool:
    """Whether a look asks how many instances run: trouble is open or just over, or a bound is above where it should rest."""
    raised = state.floor is not None or state.resting_max is not None
    return state.open_incident_count > 0 or bool(state.episodes) or raised or state.act is not None


def failed_candidate(state: ServiceState, view: TemplateView | None) -> str | None:
    """The revision of the rollout under way, if Cloud Run says that it failed."""
    if state.rollout is None or view is None or view.candidate is None:
        return None
    return view.candidate.name if view.candidate.ready is ReadyState.FAILED else None
