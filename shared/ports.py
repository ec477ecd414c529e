"""What Trimtab needs of the outside, as Protocols. `gcp/` and `local/` implement them; one contract suite holds both to this text.

Every port may raise `errors.Retry` for what the world may mend (unavailable, too slow, out of rate). What else it may raise stands
in the method. No port retries a write by itself: a lost reply is the caller's to resolve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from shared.records.commands import CommandFact
    from shared.records.decision import Decision
    from shared.records.evidence import LogLines, Readings
    from shared.records.facts import Fact, FactPage, StoredFact, UploadFact
    from shared.records.fleet import ActSlot, Fleet
    from shared.records.metric import Metric
    from shared.records.model import ModelSnapshot, ModelState
    from shared.records.model_subject import ModelSubject
    from shared.records.objects import ObjectListing
    from shared.records.observed import Bounds, Observed, RevisionReading, ServiceReading, Shape
    from shared.records.outgoing import OutgoingEvent
    from shared.records.parked import Parked
    from shared.records.rollout import Probe
    from shared.records.service import OwnedField, ServiceDocument
    from shared.records.serving import DesiredServing, TrafficTarget
    from shared.records.snapshot import FleetReading, OperationStatus, Snapshot, SpecReading
    from shared.records.state import ServiceState
    from shared.records.subject import ServiceId, Wake


CommandOutcome = Literal["created", "duplicate"]


class IntakeStore(Protocol):
    """The part of the store that event functions and the schedule use: they create, park and look for what is due, nothing else."""

    def create_fact(self, service: ServiceId, fact: Fact) -> Literal["created", "duplicate"]:
        """Create the fact under its natural key, with the store's commit time. One remote operation.

        Raises:
            Retry: not known to have been stored; the fact may exist all the same.
        """

    def park(self, parked: Parked) -> None:
        """Create the parked entry; one that exists already is left as it is."""

    def due_services(self, *, now: datetime, sweep_slot: int) -> Iterable[ServiceId]:
        """The active services whose `next_look_at` has come, then all services of the sweep slot; each once.

        Reads documents in proportion to what it yields, not to how many services there are.
        """

    def unfolded_services(self, *, since: datetime, until: datetime) -> Iterable[ServiceId]:
        """Services that have a fact created in [since, until) behind their state's cursor (or no state at all)."""


class Parking(Protocol):
    """The part of the store that keeps what can never work."""

    def park(self, parked: Parked) -> None:
        """Create the parked entry; one that exists already is left as it is."""


class ScheduleStore(IntakeStore, Protocol):
    """The part of the store that the schedule alone uses."""

    def commanded_services(self, *, since: datetime, until: datetime) -> Iterable[ServiceId]:
        """The services whose document a command wrote in [since, until)."""

    def begin_tick(self, now: datetime) -> datetime | None:
        """When the last tick began, and from here on this one; None if there was none. Ticks that come late do not set it back."""


class CommandStore(Protocol):
    """The part of the store that commands use: they write specs, holds and brakes, and tidy up what is parked.

    A command is kept as `services/{id}/commands/{command_id}`, or `fleet/current/commands/{command_id}` where it is about no one
    service; its creation, in the same batch as the change, is the dedupe.
    """

    def read_spec(self, service: ServiceId) -> SpecReading:
        """The service's document with its token; one remote operation."""

    def commit_spec(
        self, service: ServiceId, command: CommandFact, *, document: ServiceDocument | None, token: str | None
    ) -> CommandOutcome:
        """Create the command and write the document (None: delete it, with its state), if its token still is `token`; all or nothing.

        Returns "duplicate", and nothing was written, if the command was there already.

        Raises:
            TokenConflict: the document changed since it was read; nothing was written.
            Retry: not known to have been written; the command may be there all the same.
        """

    def has_command(self, service: ServiceId | None, command_id: str) -> bool:
        """Whether a command was done before. Asked only of one that would be refused now: what it changed may be the reason."""

    def create_command(self, service: ServiceId | None, command: CommandFact) -> CommandOutcome:
        """Create a command that changes no document.

        Raises:
            Retry: not known to have been written.
        """

    def read_fleet(self) -> FleetReading:
        """The fleet's document with its token."""

    def commit_fleet(self, command: CommandFact, *, fleet: Fleet, token: str | None) -> CommandOutcome:
        """As `commit_spec`, for the fleet's document."""

    def park(self, parked: Parked) -> None:
        """Create the parked entry; one that exists already is left as it is."""

    def read_parked(self, key: str) -> Parked | None:
        """A parked entry by its key."""

    def parked(self, *, limit: int) -> list[Parked]:
        """The newest parked entries, newest first."""

    def discard_parked(self, command: CommandFact, *, key: str) -> CommandOutcome:
        """Create the command and delete the parked entry (one that is gone already is no error), all or nothing."""


class UploadStore(Protocol):
    """The part of the store that uploads use."""

    def create_upload(self, model: ModelSubject, fact: UploadFact) -> Literal["created", "duplicate"]:
        """Create the fact under the model, with the store's commit time. One remote operation.

        Raises:
            Retry: not known to have been stored; the fact may exist all the same.
        """

    def park(self, parked: Parked) -> None:
        """Create the parked entry; one that exists already is left as it is."""


class ModelStore(UploadStore, Protocol):
    """What reconcile and the schedule keep of models."""

    def read_model(self, model: ModelSubject) -> ModelSnapshot:
        """The model's state with its token; one remote operation."""

    def commit_model(self, model: ModelSubject, *, token: str | None, state: ModelState) -> str:
        """Write the state if its token still is `token` (None: if there is none). Returns the new token.

        Raises:
            TokenConflict: somebody else committed; nothing was written.
            Retry: not known to have been written.
        """

    def followers(self, model: ModelSubject) -> list[ServiceId]:
        """The services whose specs name this model's uri."""

    def due_models(self, *, now: datetime) -> Iterable[ModelSubject]:
        """The models whose `next_look_at` has come."""

    def unlisted_models(self, *, since: datetime, until: datetime) -> Iterable[ModelSubject]:
        """Models with an upload created in [since, until) and not listed since."""


class ModelFiles(Protocol):
    """The bucket, as far as a model's versions need it."""

    def list_objects(self, bucket: str, prefix: str, *, limit: int) -> ObjectListing:
        """The objects below `prefix` (it ends with a slash, or is empty), at most `limit` of them, in no order.

        Raises:
            Retry: the bucket could not be listed now.
            Refused: it never can (no such bucket, no permission).
        """

    def list_folders(self, bucket: str, prefix: str, *, limit: int) -> list[str]:
        """The names (without a slash) of the folders just below `prefix`, at most `limit` of them, in no order.

        Asked for where there are too many objects to be listed all at once.

        Raises:
            Retry, Refused: as `list_objects`.
        """

    def read_object(self, bucket: str, name: str, *, generation: int, limit_bytes: int) -> bytes | None:
        """The first `limit_bytes` of that generation of an object; None if it is not there any more.

        Raises:
            Retry, Refused: as `list_objects`.
        """


class Store(IntakeStore, Protocol):
    """Firestore, or SQLite on one machine. Reads are strong; a commit is atomic."""

    def read(self, service: ServiceId) -> Snapshot:
        """The documents of one service and the fleet's, in one round trip."""

    def facts_after(self, service: ServiceId, position: str | None, *, limit: int) -> FactPage:
        """At most `limit` facts behind `position` in commit order. Positions are texts that sort in that order.

        It may wait a moment until the order of the newest is settled, and may give a fact out a second time under the same key.
        """

    def facts_by_key(self, service: ServiceId, keys: Sequence[str]) -> dict[str, StoredFact]:
        """Those of the named facts (natural keys) that exist and can be read; one round trip."""

    def state_token(self, service: ServiceId) -> str | None:
        """The state's token now; None if there is no state."""

    def commit(
        self,
        service: ServiceId,
        *,
        token: str | None,
        state: ServiceState,
        decision: Decision | None = None,
        parked: Sequence[Parked] = (),
        act_slot: ActSlot | None = None,
    ) -> str:
        """Write the state if its token still is `token` (None: if there is none), with what belongs to it, all or nothing.

        A parked entry that exists already is left as it is. Returns the new token.

        Raises:
            TokenConflict: somebody else committed, or the act slot or the decision's id is taken; nothing was written.
            Retry: not known to have been written.
        """

    def put_service(self, document: ServiceDocument, *, if_generation: int | None) -> None:
        """Write a spec if the stored generation is `if_generation` (None: if there is no document).

        Raises:
            TokenConflict: the stored generation is another one.
        """

    def put_fleet(self, fleet: Fleet) -> None:
        """Write the fleet document."""

    def acts_in_minute(self, minute: str) -> int:
        """How many act slots of that minute (`YYYYmmddHHMM`, UTC) are taken."""

    def usd_per_hour_at_max(self) -> float:
        """The sum of `usd_per_hour_at_max` over all states; services without a known price do not count."""

    def decisions(self, service: ServiceId, *, limit: int) -> list[Decision]:
        """The newest decisions, newest first."""

    def parked(self, *, limit: int) -> list[Parked]:
        """The newest parked entries, newest first."""


class StateReader(Protocol):
    """The part of the store that a command uses which must know what is served now."""

    def read(self, service: ServiceId) -> Snapshot:
        """The documents of one service and the fleet's, in one round trip."""


class Redriver(Protocol):
    """The way of a parked event back to the function that it came from."""

    def republish(self, source: str, data: bytes, attributes: Mapping[str, str]) -> None:
        """Publish it to the topic of the function `source`; returns when it is accepted.

        Raises:
            Retry: not known to be accepted; a repeat does no harm.
            ValueError: no topic leads to a function of that name.
        """


class ServiceDeleter(Protocol):
    """Deletes Cloud Run services: used by the one command that says so in so many words."""

    def delete_service(self, service: ServiceId) -> None:
        """Have the service deleted, with all its revisions.

        Raises:
            ServiceMissing: there is none of that name (any more).
            Refused: Cloud Run does not let us delete it.
        """


class Platform(Protocol):
    """Cloud Run's Admin API, as far as the scaling bounds need it."""

    def get_service(self, service: ServiceId) -> Observed:
        """Read the service now.

        Raises:
            ServiceMissing: there is none of that name.
            Refused: Cloud Run does not let us read it (permissions, for example).
        """

    def update_scaling(self, service: ServiceId, *, etag: str, bounds: Bounds, fields: Sequence[OwnedField]) -> str:
        """Write the named fields of `service.scaling`, nothing else, if the etag still holds. Returns the operation's name.

        Raises:
            StaleEtag: the service changed since the etag was read (by whomever).
            QuotaRefused: the quota does not allow it.
            Refused: refused for good; the message says why.
            ServiceMissing: there is none of that name.
            ValueError: no field or no etag is given: Cloud Run would take that for "replace everything" or "do not check".
        """

    def get_operation(self, name: str) -> OperationStatus | None:
        """The operation of that name; None if Cloud Run no longer knows it.

        Raises:
            Refused: Cloud Run does not let us read it.
        """


class TemplatePlatform(Platform, Protocol):
    """Cloud Run's Admin API with what a revision is made of: its template, its traffic, its start."""

    def read_service(self, service: ServiceId) -> ServiceReading:
        """Read the whole service now, the fields that only the REST API names included.

        Raises:
            ServiceMissing, Refused: as `get_service`.
        """

    def update_service(
        self,
        service: ServiceId,
        *,
        etag: str,
        serving: DesiredServing | None = None,
        revision: str | None = None,
        traffic: Sequence[TrafficTarget] | None = None,
        again: bool = False,
        validate_only: bool = False,
    ) -> str | None:
        """Write template and traffic in one request, if the etag still holds: what is desired over what is there, the rest as it is.

        Returns the operation's name; None, and nothing was written, where the service means the same already. `revision` names the
        new revision where the template changes; with `again` one of that name is made even of the same template. With
        `validate_only` Cloud Run looks at the request and keeps nothing.

        Raises:
            StaleEtag: the service changed since the etag was read (by whomever).
            RevisionNameTaken: another template has that revision's name.
            QuotaRefused: the quota does not allow it.
            Refused: refused for good; the message says why.
            ServiceMissing: there is none of that name.
            ValueError: the template changes and `revision` is None, or the traffic does not add up.
        """

    def restore_template(self, service: ServiceId, *, etag: str, revision: str) -> str | None:
        """Put the template of an existing revision back into the service, under that revision's name: no new revision is made.

        Returns the operation's name; None, and nothing was written, where the service means the same already.

        Raises:
            StaleEtag, RevisionNameTaken, QuotaRefused, Refused, ServiceMissing: nothing was written; ServiceMissing also for a
                revision that is not there.
        """

    def get_revision(self, service: ServiceId, revision: str) -> RevisionReading | None:
        """A revision of the service by its short name; None if there is none.

        Raises:
            Refused: Cloud Run does not let us read it.
        """


class Prober(Protocol):
    """Asks a revision the way a client would."""

    def predict(self, uri: str, *, model: str, body: Mapping[str, Any]) -> Probe:
        """POST a predict call to a revision's own address; an answer that is no prediction is told in the probe, never raised."""


class Metrics(Protocol):
    """What Cloud Monitoring knows of a service."""

    def instance_count(self, service: ServiceId) -> Metric:
        """Instances of the service, active and idle, all revisions."""

    def readings(self, service: ServiceId) -> Readings:
        """The readings of `records.evidence_keys`, every one of them, over one window that ended `end_age_seconds` ago.

        So long ago that all its points can be seen: a window that is still filling is nobody's evidence.

        What cannot be read is Unknown with the reason; nothing is raised for it. A bounded number of remote calls, in bounded time.
        """


class Logs(Protocol):
    """What Cloud Logging has of a service."""

    def recent(self, service: ServiceId, *, since: datetime, until: datetime, limit: int) -> LogLines:
        """The newest lines of [since, until), at most `limit`: what containers and Cloud Run wrote, and requests that were refused.

        Raises:
            Retry: the log could not be read now.
            Refused: it may not be read.
        """


class Quota(Protocol):
    """How much the project may run."""

    def instances(self, service: ServiceId, shape: Shape) -> Metric:
        """How many instances of this shape the project may run in the service's region, those running included."""


class Bus(Protocol):
    """The way to wake reconcile."""

    def publish_wakes(self, wakes: Sequence[Wake]) -> None:
        """Hand the wakes over (at most 500) in one remote operation; returns when they are accepted.

        Raises:
            Retry: not known to be accepted, all or some; a repeat does no harm.
        """


class EventBus(Protocol):
    """The way to tell others what Trimtab did."""

    def publish_events(self, events: Sequence[OutgoingEvent]) -> None:
        """Hand the events over in one remote operation; returns when they are accepted.

        Raises:
            Retry: not known to be accepted, all or some; a repeat has the same ids.
        """


class Clock(Protocol):
    """The only source of time for handlers."""

    def now(self) -> datetime:
        """The time now, aware, in UTC."""


class Ids(Protocol):
    """The only source of chance for handlers."""

    def new_id(self) -> str:
        """A fresh identifier: 26 characters that sort by time, unique for all practical purposes."""
