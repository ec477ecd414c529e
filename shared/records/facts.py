"""A fact: one thing that happened, as one immutable document whose id is the event's natural key.

Stored at `services/{id}/facts/{key}`; its creation is the dedupe. Fields of the document:

* `schema_version`: 1.
* `record`: the fact below, as JSON.
* `created_at`: the server's time of the creation; facts are folded in this order. Firestore stamps it when the request begins, not
  when it commits: its store waits until the stamps it reads have settled, and stamps anew what committed late.
* `expire_at`: when the store's TTL may delete it (`FACT_TTL_SECONDS` after creation, well past every subscription's retention).
"""

from typing import Annotated, Literal

from pydantic import StringConstraints

from shared.records.base import Record, UtcTime
from shared.records.signals import Signal

FACT_TTL_SECONDS = 35 * 24 * 3600
"""Longer than any Pub/Sub subscription can keep a message (31 days), so that a late repeat still meets its fact."""

ShortText = Annotated[str, StringConstraints(max_length=256)]
LongText = Annotated[str, StringConstraints(max_length=1_024)]


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


Fact = AlertFact
"""Every kind of fact; commands, uploads and changes by others join it as their functions arrive."""


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
