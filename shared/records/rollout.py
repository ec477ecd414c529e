"""A change of a service's template on its way: what is deployed, what it waits for, what became of the last one.

Part of the service's state, and of what is observed for it. A rollout is told by names and hashes only: what it deploys is rendered
anew from the spec at every look, and recognised by the hash in the revision's name.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from shared.records.base import Record, UtcTime
from shared.records.facts import LongText, ShortText
from shared.records.metric import Unknown
from shared.records.observed import RevisionReading
from shared.records.serving import RevisionName, TrafficTarget

KEPT_QUARANTINED = 20
KEPT_TRAFFIC_TARGETS = 20
TemplateHash = Annotated[str, StringConstraints(pattern=r"^[a-z2-7]{10}$")]
RolloutText = Annotated[str, StringConstraints(max_length=512)]


class RolloutPhase(StrEnum):
    """Where a rollout is."""

    DEPLOYING = "deploying"
    """The revision is written, or about to be, with none of the traffic; Cloud Run starts it."""
    WAITING = "waiting"
    """Cloud Run had no room for it: it is tried again under the next number."""
    VERIFYING = "verifying"
    """It is ready; the golden request must be answered, where the spec has one."""
    PROMOTING = "promoting"
    """All traffic goes to it, in one write."""
    RESTORING = "restoring"
    """It failed; the template of the revision that serves is put back, so that the next edit by anyone starts from a good one."""


class RolloutWrite(Record):
    """A write of a rollout, announced before Cloud Run is asked."""

    act_id: ShortText
    kind: Literal["deploy", "promote", "restore"]
    announced_at: UtcTime
    lease_expires_at: UtcTime
    base_generation: int
    times: Annotated[int, Field(ge=1)] = 1
    """How often this write was announced in a row without reaching Cloud Run."""
    sent: bool = False
    """Cloud Run accepted it."""


class Rollout(Record):
    """A template on its way to the traffic."""

    rollout_id: ShortText
    revision: RevisionName
    template_hash: TemplateHash
    attempt: Annotated[int, Field(ge=1, le=99)]
    phase: RolloutPhase
    stable: Annotated[tuple[TrafficTarget, ...], Field(max_length=KEPT_TRAFFIC_TARGETS)]
    """Where the traffic is, and stays until the candidate is verified."""
    began_at: UtcTime
    phase_since: UtcTime
    deadline_at: UtcTime
    """The candidate must be ready by then."""
    retry_at: UtcTime | None = None
    refusals: Annotated[int, Field(ge=0)] = 0
    """How often Cloud Run refused to move the traffic."""
    failed_probes: Annotated[int, Field(ge=0)] = 0
    reason: RolloutText = ""
    """Why it waits or is given up."""
    rollback: bool = False
    """The way back to a revision that exists: traffic first, then its template."""
    profile: Literal["improve", "repair", "revert"] = "improve"
    """What it is for: what the spec asks for, an explained incident, or taking a repair back that did harm."""
    write: RolloutWrite | None = None


class Served(Record):
    """What all traffic was last seen on, and of which wish it is: whoever changes it afterwards is somebody else."""

    revision: RevisionName
    desired_hash: TemplateHash
    since: UtcTime
    previous: RevisionName | None = None
    """What served before it: where a rollback that names no revision goes."""


class ForeignTemplate(Record):
    """Somebody else changed the template or the traffic of a service that was as its spec asks for."""

    modifier: ShortText
    seen_at: UtcTime
    open: bool = True
    """It still stands; False once the service is as its spec asks for again."""
    healed_at: UtcTime | None = None
    """When Trimtab began to put it back."""
    contended: bool = False
    """It was changed again soon after it was put back: it is left alone until the spec changes or a person releases it."""


class Quarantined(Record):
    """A template that failed: it is not deployed again until its content changes or a person says so."""

    template_hash: TemplateHash
    revision: RevisionName
    reason: RolloutText
    at: UtcTime


class LastRollout(Record):
    """How the last rollout ended."""

    rollout_id: ShortText
    revision: RevisionName
    outcome: Literal["promoted", "failed", "superseded", "overtaken"]
    detail: RolloutText = ""
    at: UtcTime
    previous: RevisionName | None = None
    """Of one that was promoted: the revision that had most of the traffic before."""
    moved_at: UtcTime | None = None
    """Of one that was promoted: when the traffic was about to be moved; a look later it was seen to be there."""


class RolloutChange(Record):
    """A step of a rollout that a plan asks for."""

    kind: Literal["deploy", "promote", "restore"]
    revision: RevisionName
    reason: LongText


class Probe(Record):
    """The answer to a golden request."""

    ok: bool
    detail: LongText = ""


class TemplateView(Record):
    """What was seen of a service's template and traffic, next to what is wanted."""

    wanted_hash: TemplateHash | Unknown
    """Of the template that the spec asks for; Unknown says why it cannot be said."""
    desired_hash: TemplateHash | None = None
    """Of what the spec asks for, whatever else the service holds; None where it cannot be said."""
    differs: bool
    """Whether the service's template means anything else than the wanted one."""
    kept: bool = False
    """The template that serves is somebody else's, and the spec has it replaced only to repair it: until then it is left as it is."""
    left_out: LongText = ""
    """Where the spec asks for the latest version: which newer one is not served, and why."""
    changes: Annotated[tuple[ShortText, ...], Field(max_length=10)] = ()
    """The first of the differences, for people."""
    faults: Annotated[tuple[LongText, ...], Field(max_length=10)] = ()
    """Why the wanted template is not to be written: what lint finds in it that Cloud Run or TF Serving would refuse."""
    start_up_seconds: Annotated[int, Field(ge=1)] = 240
    """How long the wanted template may take to start."""
    traffic: Annotated[tuple[TrafficTarget, ...], Field(max_length=KEPT_TRAFFIC_TARGETS)] = ()
    """By revision; who follows the latest is named by the revision it is."""
    traffic_asked: Annotated[tuple[ShortText, ...], Field(max_length=KEPT_TRAFFIC_TARGETS)] = ()
    """The revisions that are to have a share; after a failure these are not those that have one. Empty: not said."""
    latest_created: ShortText = ""
    template_revision: ShortText = ""
    """The revision's name that stands in the service's template."""
    candidate: RevisionReading | None = None
    """The rollout's revision, or the one that a person pinned; None: there is none of that name (yet)."""
    probe: Probe | None = None
    """Of the candidate, if it was asked."""
