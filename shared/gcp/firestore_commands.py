"""The part of the store that commands use, on Firestore.

A command is created in one batch with the change that it makes, under a precondition on the update time of what it changes. No call is
retried by the library: a retried commit whose first reply was lost would look like a repeat of the command.
"""

from typing import Any

from google.api_core.exceptions import AlreadyExists
from google.cloud.firestore import DocumentReference, DocumentSnapshot, WriteBatch

from shared.errors import TokenConflict
from shared.gcp.firestore_calls import NEVER_RETRY, RPC_TIMEOUT_SECONDS, token_of, unchanged_since
from shared.gcp.firestore_layout import record_of
from shared.gcp.firestore_parking import FirestoreParking
from shared.gcp.firestore_spec_layout import command_fields, document_of, fleet_fields, service_changes, service_fields
from shared.gcp.google_errors import CONFLICTS, mendable_as_retry
from shared.ports import CommandOutcome
from shared.records.commands import CommandFact
from shared.records.fleet import Fleet
from shared.records.service import ServiceDocument
from shared.records.snapshot import FleetReading, SpecReading
from shared.records.subject import ServiceId


class FirestoreCommands(FirestoreParking):
    """`ports.CommandStore` on the database of `client`."""

    def read_spec(self, service: ServiceId) -> SpecReading:
        """The service's document with its token; one call. An unreadable document comes without its token: it is never overwritten.

        Raises:
            Retry: Firestore did not answer.
        """
        snapshot = self._read(self._layout.service(service), f"reading the spec of {service}")
        unreadable: dict[str, str] = {}
        document = document_of(snapshot, unreadable)
        token = token_of(snapshot.update_time) if document is not None else None
        return SpecReading(document=document, token=token, unreadable=unreadable.get("document"))

    def commit_spec(
        self, service: ServiceId, command: CommandFact, *, document: ServiceDocument | None, token: str | None
    ) -> CommandOutcome:
        """Create the command and write the document (None: delete it, with its state), if its token still is `token`; all or nothing.

        One call, and a second one where something was in the way. Facts and decisions of a deleted service expire by themselves.

        Raises:
            TokenConflict: the document changed since it was read; nothing was written.
            Retry: not known to have been written; the command may be there all the same.
            ValueError: the document is that of another service.
        """
        if document is not None and document.id != service:
            raise ValueError(f"the document of {document.id} cannot be that of {service}")
        reference, batch = self._layout.service(service), self._client.batch()
        made = self._layout.command(service, command.command_id)
        batch.create(made, command_fields(command))
        if document is None:
            batch.delete(reference, option=unchanged_since(self._client, token))
            batch.delete(self._layout.state(service))
        elif token is None:
            batch.create(reference, service_fields(document))
        else:
            batch.update(reference, service_changes(document), option=unchanged_since(self._client, token))
        return self._commit(batch, made, f"command {command.command_id} of {service}")

    def has_command(self, service: ServiceId | None, command_id: str) -> bool:
        """Whether a command was done before; one call.

        Raises:
            Retry: Firestore did not answer.
        """
        return self._exists(self._layout.command(service, command_id), f"looking for command {command_id} of {service or 'the fleet'}")

    def create_command(self, service: ServiceId | None, command: CommandFact) -> CommandOutcome:
        """Create a command that changes no document; one call.

        Raises:
            Retry: not known to have been written.
        """
        batch, made = self._client.batch(), self._layout.command(service, command.command_id)
        batch.create(made, command_fields(command))
        return self._commit_unless_made(batch, f"command {command.command_id} of {service or 'the fleet'}")

    def read_fleet(self) -> FleetReading:
        """The fleet's document with its token; one call. An unreadable document comes without its token: it is never overwritten.

        Raises:
            Retry: Firestore did not answer.
        """
        snapshot = self._read(self._layout.fleet(), "reading the fleet's document")
        unreadable: dict[str, str] = {}
        fleet = record_of(Fleet, snapshot, "fleet", unreadable)
        token = token_of(snapshot.update_time) if fleet is not None else None
        return FleetReading(fleet=fleet or Fleet(), token=token, unreadable=unreadable.get("fleet"))

    def commit_fleet(self, command: CommandFact, *, fleet: Fleet, token: str | None) -> CommandOutcome:
        """Create the command and write the fleet's document, if its token still is `token`; all or nothing.

        One call, and a second one where something was in the way.

        Raises:
            TokenConflict: the document changed since it was read; nothing was written.
            Retry: not known to have been written; the command may be there all the same.
        """
        reference, batch = self._layout.fleet(), self._client.batch()
        made = self._layout.command(None, command.command_id)
        batch.create(made, command_fields(command))
        if token is None:
            batch.create(reference, fleet_fields(fleet))
        else:
            batch.update(reference, fleet_fields(fleet), option=unchanged_since(self._client, token))
        return self._commit(batch, made, f"command {command.command_id} of the fleet")

    def discard_parked(self, command: CommandFact, *, key: str) -> CommandOutcome:
        """Create the command and delete the parked entry (one that is gone already is no error), all or nothing; one call.

        Raises:
            Retry: not known to have been written.
        """
        batch = self._client.batch()
        batch.create(self._layout.command(None, command.command_id), command_fields(command))
        batch.delete(self._layout.parked(key))
        return self._commit_unless_made(batch, f"command {command.command_id}: discarding {key}")

    def _commit_unless_made(self, batch: WriteBatch, what: str) -> CommandOutcome:
        """Commit a batch of which nothing but the command can exist already."""
        with mendable_as_retry(what):
            try:
                batch.commit(retry=None, timeout=RPC_TIMEOUT_SECONDS)
            except AlreadyExists:
                return "duplicate"
        return "created"

    def _commit(self, batch: WriteBatch, made: DocumentReference, what: str) -> CommandOutcome:
        """Commit a batch that fails if the command exists, or if what it changes has changed. Which it was is read, not guessed."""
        with mendable_as_retry(what):
            try:
                batch.commit(retry=None, timeout=RPC_TIMEOUT_SECONDS)
            except CONFLICTS as error:
                if self._exists(made, what):
                    return "duplicate"
                raise TokenConflict(f"{what}: {type(error).__name__}: {error}") from error
        return "created"

    def _exists(self, made: DocumentReference, what: str) -> bool:
        with mendable_as_retry(what):
            return bool(made.get(["schema_version"], retry=NEVER_RETRY, timeout=RPC_TIMEOUT_SECONDS).exists)

    def _read(self, reference: DocumentReference, what: str) -> DocumentSnapshot[Any]:
        with mendable_as_retry(what):
            return reference.get(retry=NEVER_RETRY, timeout=RPC_TIMEOUT_SECONDS)
