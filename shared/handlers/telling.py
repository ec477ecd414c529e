"""What reconcile tells others of one look: decisions and ended rollouts, each at least once, a repeat under the same id."""

from collections.abc import Callable
from typing import cast

from shared import log
from shared.errors import Retry, TokenConflict
from shared.ports import EventBus, Store
from shared.records.decision import Decision
from shared.records.outgoing import EventType, OutgoingEvent
from shared.records.rollout import LastRollout
from shared.records.state import KEPT_UNTOLD_DETAIL, KEPT_UNTOLD_ROLLOUTS, ServiceState, Told
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
    return bool(state.untold_rollouts) or state.told != _told(state)


def with_untold_rollout(state: ServiceState, before: ServiceState) -> ServiceState:
    """The state with the last rollout of the one before it, if that was not told and another one has ended since."""
    ended = before.last_rollout
    if ended is None or ended == state.last_rollout or before.told.rollout == _told(before).rollout:
        return state
    kept = ended.model_copy(update={"detail": ended.detail[:KEPT_UNTOLD_DETAIL]})
    return state.model_copy(update={"untold_rollouts": (*state.untold_rollouts, kept)[-KEPT_UNTOLD_ROLLOUTS:]})


def tell(
    service: ServiceId, state: ServiceState, decision: Decision | None, *, behind: bool, events: EventBus, store: Store
) -> ServiceState:
    """Publish what is recorded in the state and was not told; returns the state that says so, for the caller to store.

    `decision` is the one just recorded, if there is one; `behind` says that something was untold before, and the store is asked for it.

    Raises:
        Retry: not known to be published, or the store could not be read; nothing is marked as told.
    """
    outgoing = [event_of_decision(each) for each in _decisions(service, state, decision, behind=behind, store=store)]
    outgoing += [event_of_rollout(service, ended) for ended in state.untold_rollouts]
    if state.last_rollout is not None and state.told.rollout != _told(state).rollout:
        outgoing.append(event_of_rollout(service, state.last_rollout))
    if outgoing:
        events.publish_events(outgoing)
    return state.model_copy(update={"told": _told(state), "untold_rollouts": ()})


def mark(service: ServiceId, state: ServiceState, *, token: str | None, store: Store) -> None:
    """Store that it was told; where somebody else was quicker, they tell it again.

    Raises:
        Retry: the store could not be written.
    """
    try:
        store.commit(service, token=token, state=state)
    except TokenConflict:
        return  # the same ids go out once more


class Telling:
    """The telling of one look, tried once, after its write; what fails or comes too late is left to a later look.

    `committed` is the state that the look stored, `before` the one it found, and `check_time` raises Retry if there is no time left.
    """

    def __init__(
        self,
        committed: ServiceState,
        decision: Decision | None,
        *,
        before: ServiceState,
        events: EventBus,
        store: Store,
        check_time: Callable[[], None],
    ) -> None:
        self._committed, self._decision, self._behind = committed, decision, untold(before)
        self._events, self._store, self._check_time = events, store, check_time
        self._tried = False

    @property
    def store(self) -> Store:
        """The store for whoever performs the look's write: the outcome is recorded together with what was told, in one commit."""
        return cast("Store", _OutcomeStore(self._store, self._told))

    def alone(self, token: str | None) -> None:
        """Tell, and store that it was told, where no outcome was recorded."""
        if self._tried:
            return
        state = self._told(self._committed)
        if state == self._committed:
            return
        try:
            mark(state.id, state, token=token, store=self._store)
        except Retry as retry:
            log.event("WARNING", "it is not recorded what others were told", service=state.id, reason=retry.reason)

    def _told(self, state: ServiceState) -> ServiceState:
        self._tried = True
        state = with_untold_rollout(state, self._committed)
        if not untold(state):
            return state
        try:
            self._check_time()
            return tell(state.id, state, self._decision, behind=self._behind, events=self._events, store=self._store)
        except Retry as retry:
            log.event("WARNING", "others are told later", service=state.id, reason=retry.reason)
            return state


class _OutcomeStore:
    """What an executor needs of the store."""

    def __init__(self, store: Store, told: Callable[[ServiceState], ServiceState]) -> None:
        self._store, self._told = store, told

    def state_token(self, service: ServiceId) -> str | None:
        return self._store.state_token(service)

    def commit(self, service: ServiceId, *, token: str | None, state: ServiceState) -> str:
        return self._store.commit(service, token=token, state=self._told(state))


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
