"""A fact: one thing that happened, as one immutable document whose id is the event's natural key.

Stored at `services/{id}/facts/{key}`, of an upload at `models/{id}/uploads/{key}`; its creation is the dedupe. Fields of the document:

* `schema_version`: 1.
* `record`: the fact below, as JSON.
* `created_at`: the server's time of the creation; facts are folded in this order. Firestore stamps it when the request begins, not
  when it commits: its store waits until the stamps it reads have settled, and stamps anew what committed late. Uploads are not folded:
  of them it only says whether the model was listed since.
* `uri`: of an upload, its model's.
* `expire_at`: when the store's TTL may delete it (`FACT_TTL_SECONDS` after creation, well past every subscription's retention).
"""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from shared.records.base import Record, UtcTime
from shared.records.signals import Signal

FACT_TTL_SECONDS = 35 * 24 * 3600
"""Longer than any Pub/Sub subscription can keep a message (31 days), so that a late repeat still meets its fact."""

ShortText = Annotated[str, StringConstraints(max_length=256)]
LongText = Annotated[str, StringConstraints(max_length=1_024)]


OBJECT_NAME_LIMIT_BYTES = 1_024
"""Cloud Storage's limit on an object's name, as UTF-8."""

BucketName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$", max_length=222)]
"""A bucket of Cloud Storage; names with dots in them may have 222 characters."""
Count = Annotated[int, Field(ge=0, lt=2**63)]
"""A 64-bit number of Google's APIs."""


def _object_name(value: str) -> str:
    if len(value.encode()) > OBJECT_NAME_LIMIT_BYTES:
        raise ValueError(f"has {len(value.encode())} bytes, Cloud Storage allows {OBJECT_NAME_LIMIT_BYTES}")
    return value


ObjectName = Annotated[str, StringConstraints(min_length=1, max_length=OBJECT_NAME_LIMIT_BYTES), AfterValidator(_object_name)]
"""An object's name as it is: any characters, `..` and line breaks included. It is data, never a path on a machine."""

_WRITES_A_SERVICE = re.compile(r"(?:^|[./])(?:Create|Replace|Update|Patch|Delete)(?:Internal)?Service$")


class AlertFact(Record):
    """A Cloud Monitoring incident was reported open or closed.

    Natural key `incident_id:state`: a renotification repeats the open, a redelivery repeats either.
    """

    schema_version: Literal[1] = 1
    kind: Literal["alert"] = "alert"
    incident_id: ShortText
    state: Literal["open", "closed"]
    signal: Signal
    """From the policy's label `trimtab_signal`, else from what the condition watches."""
    signal_source: Literal["label", "condition"]
    started_at: UtcTime | None = None
    ended_at: UtcTime | None = None
    closes: bool = True
    """False for log-match policies: Cloud Monitoring never reports their end."""
    metric_type: ShortText | None = None
    observed_value: float | None = None
    threshold_value: float | None = None
    policy_name: ShortText = ""
    condition_name: ShortText = ""
    revision_name: ShortText | None = None
    summary: LongText = ""
    url: LongText = ""
    published_at: UtcTime | None = None
    """When Pub/Sub accepted the notification, if the envelope said so."""

    @property
    def key(self) -> str:
        """The natural key: the same incident in the same state is the same fact, however often it is sent."""
        return f"{self.incident_id}:{self.state}"


class UploadFact(Record):
    """Cloud Storage said that something happened to an object. Which files there are is for the bucket's listing to say, not for this.

    Natural key `bucket/name#generation` of a finalize. What happens to the same generation later has its event behind that (and a
    change of metadata its metageneration), so that a delete is no duplicate of the upload it undoes.
    """

    schema_version: Literal[1] = 1
    kind: Literal["upload"] = "upload"
    bucket: BucketName
    name: ObjectName
    generation: Count
    """Cloud Storage's number of this content; a later upload under the same name has a larger one."""
    metageneration: Count | None = None
    """Counts the changes of the metadata of this generation."""
    event: Literal["finalize", "archive", "delete", "metadataUpdate"]
    size_bytes: Count | None = None
    crc32c: ShortText | None = None
    """As Cloud Storage writes it: base64 of four bytes, big-endian."""
    md5: ShortText | None = None
    """Base64 of sixteen bytes; composite objects have none."""
    overwrote_generation: Count | None = None
    """Of a finalize: the generation that it replaced."""
    overwritten_by_generation: Count | None = None
    """Of a delete or an archive: the generation that took the place of this one. The object is still there then."""
    occurred_at: UtcTime | None = None
    published_at: UtcTime | None = None

    @property
    def key(self) -> str:
        """The natural key: repeats of one notification are the same fact."""
        key = f"{self.bucket}/{self.name}#{self.generation}"
        if self.event == "finalize":
            return key
        counted = self.event == "metadataUpdate" and self.metageneration is not None
        return f"{key}:{self.event}.{self.metageneration}" if counted else f"{key}:{self.event}"


class AuditFact(Record):
    """Cloud Run's audit log says that somebody called its API for a service, or that the service's readiness changed.

    Natural key `insertId`, which Cloud Logging gives once: the same entry through an Eventarc trigger and a log sink is one fact.
    """

    schema_version: Literal[1] = 1
    kind: Literal["audit"] = "audit"
    insert_id: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    log: Literal["activity", "system_event"]
    """`activity`: a call; `system_event`: Cloud Run's own report of what became of one."""
    method: ShortText | None = None
    """As logged: `google.cloud.run.v2.Services.UpdateService`; of system events absent, or `/Services.ReplaceService`."""
    principal: ShortText | None = None
    """The caller's e-mail address; system events have none."""
    principal_subject: ShortText | None = None
    """The caller as IAM names it; federated identities have no address."""
    delegation: tuple[ShortText, ...] = ()
    """Who stood behind a service account that was impersonated, nearest first."""
    user_agent: ShortText = ""
    """What the caller said of its program: free text."""
    client: Literal["", "gcloud", "cloud-console", "terraform"] = ""
    """The tool that the user agent speaks of."""
    resource: LongText = ""
    revision_name: ShortText | None = None
    status_code: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    """The gRPC code of a failure (10: ABORTED, a conflict); None: nothing failed."""
    message: LongText = ""
    """The status in words: of a failed call its error, of a system event the sentence about readiness."""
    dry_run: bool = False
    """The call asked for validation only."""
    operation_id: ShortText | None = None
    """The long-running operation, whose start and end are logged as two entries."""
    operation_first: bool = False
    operation_last: bool = False
    ready: bool | None = None
    """Of a system event: what readiness changed to; None: to unknown, or it is not about that."""
    ready_kind: Literal["service", "revision"] | None = None
    """Of a system event: whose readiness."""
    generation: Count | None = None
    """The service's generation that the call's answer states."""
    occurred_at: UtcTime | None = None
    published_at: UtcTime | None = None

    @property
    def key(self) -> str:
        """The natural key: Cloud Logging's id of the entry."""
        return self.insert_id

    @property
    def change_id(self) -> str | None:
        """What tells changes apart: the entries of one operation have the same. None: nobody's call wrote the service.

        A call that failed, that only validated, or that does not write services (an IAM policy, a revision's removal) has none. The
        entry at the end of an operation may report a failure of what its start already wrote: the start has the id.
        """
        wrote = self.log == "activity" and not self.dry_run and not self.status_code
        if not wrote or self.method is None or _WRITES_A_SERVICE.search(self.method) is None:
            return None
        return self.operation_id or self.insert_id


Fact = Annotated[AlertFact | AuditFact, Field(discriminator="kind")]
"""What is kept of a service and folded into its state. Commands are kept apart (the spec has what they said), uploads with their model."""


class StoredFact(Record):
    """A fact as the store gives it back: `position` orders the facts of one subject by commit time (as text)."""

    key: str
    position: str
    created_at: UtcTime
    fact: Fact


class UnreadableFact(Record):
    """A stored fact that this code cannot read: it is parked and passed over, never overwritten."""

    key: str
    position: str
    error: LongText
    body: str


class FactPage(Record):
    """A bounded page of facts in commit order; `more` says that at least one lies behind it."""

    facts: tuple[StoredFact | UnreadableFact, ...]
    more: bool
