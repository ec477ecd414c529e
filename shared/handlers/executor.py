"""The one place that acts. Dry run lives here and nowhere else: what is only recommended is recorded and uses nothing up.

Fenced, not locked: a write goes out only while the stored state still carries the token this process committed, and Cloud Run
still is at the generation and the bounds that `decide` saw. The etag decides between two that both believe so.
"""

from dataclasses import dataclass

from shared import log
from shared.control.inflight import accepted, changed_fields, quota_refused, refused
from shared.errors import QuotaRefused, Refused, Retry, ServiceMissing, StaleEtag, TokenConflict
from shared.ports import Clock, Platform, Store
from shared.records.plan import Plan
from shared.records.service import Autonomy
from shared.records.state import Act, ServiceState
from shared.records.subject import ServiceId

WRITE_TRIES = 3
"""The platform bumps etags by itself while it reconciles; two more looks get past one such bump and its end."""
TRY_WITHIN_SECONDS = 10.0
"""No further try begins after this: reconcile must end in time."""


def acts_on(plan: Plan, autonomy: Autonomy) -> bool:
    """The dry-run switch: a plan's changes are written only where the owner lets Trimtab act. Everywhere else they are shown."""
    return (bool(plan.changes) or plan.rollout is not None) and autonomy == Autonomy.ACT


@dataclass(frozen=True)
class Executor:
    """Performs announced acts."""

    store: Store
    platform: Platform
    clock: Clock

    def perform(self, service: ServiceId, state: ServiceState, act: Act, *, etag: str, token: str) -> str:
        """Write the act's bounds to Cloud Run and record what became of it; returns that in a word.

        `state` is what was committed with the announcement and `token` its token. If the process dies anywhere in here, the next
        look settles the act from what Cloud Run says.

        Raises:
            Retry: the outcome could not be recorded; Cloud Run may have been written.
        """
        began = self.clock.now()
        for _ in range(WRITE_TRIES):
            if (self.clock.now() - began).total_seconds() > TRY_WITHIN_SECONDS:
                break
            try:
                if self.store.state_token(service) != token:
                    return "overtaken: the state was committed by somebody else"
                operation = self.platform.update_scaling(service, etag=etag, bounds=act.after, fields=changed_fields(act))
            except StaleEtag:
                fresh = self._etag_if_unmoved(service, act)
                if fresh is None:
                    return "overtaken: Cloud Run is not any more what was decided on"
                etag = fresh
                continue
            except QuotaRefused as refusal:
                self._record(service, quota_refused(state, act, refusal.message, refusal.allowed_instances, self.clock.now()), token)
                log.event("WARNING", "Cloud Run refused a change for quota", service=service, act=act.act_id, text=refusal.message)
                return f"refused for quota: {refusal.message}"
            except (Refused, ServiceMissing) as refusal:
                self._record(service, refused(state, act, str(refusal), self.clock.now()), token)
                log.event("ERROR", "Cloud Run refused a change", service=service, act=act.act_id, text=refusal)
                return f"refused: {refusal}"
            except Retry as lost:
                return f"not known to be written ({lost.reason}); the next look will tell"
            self._record(service, accepted(state, act, operation, self.clock.now()), token)
            return "written"
        return "not written: the etag moved at every try, or time ran out"

    def _etag_if_unmoved(self, service: ServiceId, act: Act) -> str | None:
        """The etag of now, if Cloud Run still is at the generation and the bounds that were decided on."""
        try:
            seen = self.platform.get_service(service)
        except (Retry, ServiceMissing, Refused) as unseen:
            log.event("WARNING", "could not look again before the write", service=service, reason=unseen)
            return None
        unmoved = seen.generation == act.base_generation and seen.bounds == act.before
        return seen.etag if unmoved else None

    def _record(self, service: ServiceId, state: ServiceState, token: str) -> None:
        now = self.clock.now()
        try:
            self.store.commit(service, token=token, state=state.model_copy(update={"next_look_at": now}))
        except TokenConflict:
            log.event("WARNING", "outcome not recorded: somebody else looked meanwhile", service=service)
