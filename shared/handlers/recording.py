"""One look of reconcile as a decision record."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime

from shared.records.decision import Decision, DecisionInputs
from shared.records.observed import Observed
from shared.records.plan import Plan
from shared.records.service import Autonomy, ServiceDocument
from shared.records.snapshot import Observation
from shared.records.subject import ServiceId


@dataclass(frozen=True)
class Look:
    """What one look saw and decided. `acting`: the plan's changes are to be written, not only shown."""

    service: ServiceId
    trigger: str
    document: ServiceDocument
    observation: Observation
    plan: Plan
    acting: bool
    now: datetime


def fingerprint(plan: Plan, autonomy: Autonomy) -> str | None:
    """Of what was decided, without times and words: the same decision is recorded once. None: nothing was decided."""
    if not plan.changes and not plan.denials and plan.rollout is None and plan.repair is None:
        return None
    essence: list[object] = [
        autonomy,
        list(plan.signals),
        [(change.field, change.before, change.after) for change in plan.changes],
        None if plan.rollout is None else (plan.rollout.kind, plan.rollout.revision),
        sorted((denial.code, denial.field or "", -1 if denial.wanted is None else denial.wanted) for denial in plan.denials),
    ]
    if plan.repair is not None:
        asked = plan.repair.repair
        # The same repair again is another one; only where nothing is written is it the same recommendation at every look.
        which = asked.repair_id if autonomy is Autonomy.ACT else ""
        essence.append([plan.repair.kind, asked.phase, asked.cause, list(asked.changes), which])
    # Another first cause is another decision, even where it changes nothing: whoever reads the newest must find the newest.
    if plan.diagnosis is not None and plan.diagnosis.causes:
        essence.append(plan.diagnosis.causes[0].cause)
    return hashlib.sha256(json.dumps(essence).encode()).hexdigest()[:32]


def record(look: Look, decision_id: str, act_id: str | None) -> Decision:
    """The decision, with what it was made from."""
    seen = look.observation.cloud_run if isinstance(look.observation.cloud_run, Observed) else None
    at_max = look.plan.state.usd_per_hour_at_max
    return Decision(
        decision_id=decision_id,
        subject=look.service,
        decided_at=look.now,
        trigger=look.trigger,
        generation=look.document.generation,
        mode=look.document.spec.autonomy,
        signals=look.plan.signals,
        inputs=DecisionInputs(
            bounds=seen.bounds if seen else None,
            cloud_run_generation=seen.generation if seen else None,
            instance_count=look.observation.instance_count,
            quota_instances=look.observation.quota_instances,
            open_incidents=look.plan.state.open_incident_count,
            usd_per_instance_hour=at_max / seen.max_in_force if seen and at_max is not None else None,
        ),
        changes=look.plan.changes,
        rollout=look.plan.rollout,
        repair=look.plan.repair,
        denials=look.plan.denials,
        explanation=look.plan.explanation[:1024],
        diagnosis=look.plan.diagnosis,
        act_id=act_id,
    )
