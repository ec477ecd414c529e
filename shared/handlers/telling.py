"""What reconcile tells others of one look: decisions and ended rollouts, each at least once, a repeat under the same id."""

from shared.errors import TokenConflict
from shared.ports import EventBus, Store
from shared.records.decision import Decision
from shared.records.outgoing import EventType, OutgoingEvent
from shared.records.rollout import LastRollout
from shared.records.state import ServiceState, Told
from shared.records.subject import ServiceId

LOOKED_BACK = 20
"""Decisions that are looked through for those a process died over."""


def event_of_decision(decision: Decision) -> OutgoingEvent:
    """A recorded decision."""
    return OutgoingEvent(
        id=f"decision:{decision.decision_id}",
        type=EventType.DECISION,
        subject=str(decision.subject),
        time=decision.decided_at,
        data=decision.to_stored(),
    )


def event_of_rollout(service: ServiceId, ended: LastRollout) -> OutgoingEvent:
    """A rollout that ended."""
    return OutgoingEvent(
        id=f"rollout:{ended.rollout_id}:{ended.revision}:{ended.outcome}"[:256],
        type=EventType.ROLLOUT,
        subject=str(service),
        time=ended.at,
        data={"service": service.to_stored(), **ended.to_stored()},
    )


def untold(state: ServiceState) -> bool:
    """Whether something was recorded and not yet told."""
    return state.told != _told(state)


def tell(
    service: ServiceId, state: ServiceState, decision: Decision | None, *, behind: bool, events: EventBus, store: Store
) -> ServiceState:
    """Publish what is recorded in the state and was not told; returns the state that says so, for the caller to store.

    `decision` is the one just recorded, if there is one; `behind` says that something was untold before, and the store is asked for it.

    Raises:
        Retry: not known to be published, or the store could not be read; nothing is marked as told.
    """
    outgoing = [event_of_decision(each) for each in _decisions(service, state, decision, behind=behind, store=store)]
    if state.last_rollout is not None and state.told.rollout != _told(state).rollout:
        outgoing.append(event_of_rollout(service, state.last_rollout))
    if outgoing:
        events.publish_events(outgoing)
    return state.model_copy(update={"told": _told(state)})


def mark(service: ServiceId, state: ServiceState, *, token: str | None, store: Store) -> None:
    """Store that it was told; where somebody else was quicker, they tell it again.

    Raises:
        Retry: the store could not be written.
    """
    try:
        store.commit(service, token=token, state=state)
    except TokenConflict:
        return  # the same ids go out once more


def _told(state: ServiceState) -> Told:
    ended = state.last_rollout
    return Told(
        decision_id=state.last_decision_id,
        rollout=None if ended is None else f"{ended.rollout_id}:{ended.revision}:{ended.outcome}"[:256],
    )


def _decisions(service: ServiceId, state: ServiceState, decision: Decision | None, *, behind: bool, store: Store) -> list[Decision]:
    """Those recorded since the last that was told, oldest first."""
    if not behind:
        return [] if decision is None else [decision]
    recorded = store.decisions(service, limit=LOOKED_BACK)
    since = state.told.decision_id
    return [each for each in reversed(recorded) if since is None or each.decision_id > since]
