"""A store of commands in memory, and what else the command function needs, as twins that remember what was asked of them."""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from shared.errors import TokenConflict
from shared.handlers.command_work import CommandPorts
from shared.ports import CommandOutcome, CommandStore
from shared.records.commands import CommandFact
from shared.records.fleet import Fleet
from shared.records.parked import Parked
from shared.records.rights import Grants
from shared.records.service import ServiceDocument
from shared.records.snapshot import FleetReading, Snapshot, SpecReading
from shared.records.state import ServiceState
from shared.records.subject import ServiceId
from tests.support.builders import NOW
from tests.support.clocks import HandClock
from tests.unit.handlers.twins import Batches

FLEET = "fleet"
PUSH_ACCOUNT = "pubsub-push@acme-ml.iam.gserviceaccount.com"
SUBSCRIPTION = "projects/acme-ml/subscriptions/commands"
ALICE = "alice@example.com"


class MemoryCommands:
    """`ports.CommandStore` in memory. `before_commit` runs once before the next commit: somebody else's turn."""

    def __init__(self) -> None:
        self.documents: dict[str, tuple[ServiceDocument, int]] = {}
        self.fleet: tuple[Fleet, int] | None = None
        self.commands: dict[tuple[str, str], CommandFact] = {}
        self.entries: dict[str, Parked] = {}
        self.states: dict[str, ServiceState] = {}
        self.unreadable: str | None = None
        self.calls: list[str] = []
        self.before_commit: list[Callable[[], object]] = []
        self._token = 0
        self._lock = RLock()

    def read_spec(self, service: ServiceId) -> SpecReading:
        self.calls.append("read_spec")
        if self.unreadable is not None:
            return SpecReading(document=None, token=None, unreadable=self.unreadable)
        found = self.documents.get(str(service))
        return SpecReading(document=found[0], token=str(found[1])) if found else SpecReading(document=None, token=None)

    def commit_spec(
        self, service: ServiceId, command: CommandFact, *, document: ServiceDocument | None, token: str | None
    ) -> CommandOutcome:
        self.calls.append("commit_spec")
        self._others()
        with self._lock:
            return self._commit_spec(service, command, document, token)

    def _commit_spec(self, service: ServiceId, command: CommandFact, document: ServiceDocument | None, token: str | None) -> CommandOutcome:
        if (str(service), command.command_id) in self.commands:
            return "duplicate"
        there = self.documents.get(str(service))
        if (None if there is None else str(there[1])) != token:
            raise TokenConflict("the document changed")
        self.commands[str(service), command.command_id] = command
        if document is None:
            del self.documents[str(service)]
            self.states.pop(str(service), None)
        else:
            self.documents[str(service)] = (document, self._next())
        return "created"

    def has_command(self, service: ServiceId | None, command_id: str) -> bool:
        self.calls.append("has_command")
        return (FLEET if service is None else str(service), command_id) in self.commands

    def create_command(self, service: ServiceId | None, command: CommandFact) -> CommandOutcome:
        self.calls.append("create_command")
        key = (FLEET if service is None else str(service), command.command_id)
        if key in self.commands:
            return "duplicate"
        self.commands[key] = command
        return "created"

    def read_fleet(self) -> FleetReading:
        self.calls.append("read_fleet")
        return FleetReading(fleet=self.fleet[0], token=str(self.fleet[1])) if self.fleet else FleetReading(fleet=Fleet(), token=None)

    def commit_fleet(self, command: CommandFact, *, fleet: Fleet, token: str | None) -> CommandOutcome:
        self.calls.append("commit_fleet")
        self._others()
        if (FLEET, command.command_id) in self.commands:
            return "duplicate"
        if (None if self.fleet is None else str(self.fleet[1])) != token:
            raise TokenConflict("the fleet changed")
        self.commands[FLEET, command.command_id] = command
        self.fleet = (fleet, self._next())
        return "created"

    def park(self, parked: Parked) -> None:
        self.calls.append("park")
        self.entries.setdefault(parked.key, parked)

    def read_parked(self, key: str) -> Parked | None:
        self.calls.append("read_parked")
        return self.entries.get(key)

    def parked(self, *, limit: int) -> list[Parked]:
        return list(self.entries.values())[::-1][:limit]

    def discard_parked(self, command: CommandFact, *, key: str) -> CommandOutcome:
        self.calls.append("discard_parked")
        if (FLEET, command.command_id) in self.commands:
            return "duplicate"
        self.commands[FLEET, command.command_id] = command
        self.entries.pop(key, None)
        return "created"

    def read(self, service: ServiceId) -> Snapshot:
        self.calls.append("read")
        found = self.documents.get(str(service))
        state = self.states.get(str(service))
        return Snapshot(document=found[0] if found else None, state=state, token="1" if state else None, fleet=Fleet())

    def put(self, document: ServiceDocument) -> None:
        """Somebody else's write."""
        self.documents[str(document.id)] = (document, self._next())

    def _others(self) -> None:
        if self.before_commit:
            self.before_commit.pop(0)()

    def _next(self) -> int:
        self._token += 1
        return self._token


class Republished:
    """A redriver that keeps what it was given; `fails` is raised by every publish."""

    def __init__(self, *, fails: Exception | None = None) -> None:
        self._fails = fails
        self.messages: list[tuple[str, bytes, dict[str, str]]] = []

    def republish(self, source: str, data: bytes, attributes: Mapping[str, str]) -> None:
        if self._fails is not None:
            raise self._fails
        if source not in {"alert", "upload", "command", "audit", "schedule", "reconcile"}:
            raise ValueError(f"no topic leads to a function {source!r}")
        self.messages.append((source, data, dict(attributes)))


class Deleter:
    """A Cloud Run that only deletes; `fails` is raised by the next deletion."""

    def __init__(self) -> None:
        self.deleted: list[str] = []
        self.fails: Exception | None = None

    def delete_service(self, service: ServiceId) -> None:
        if self.fails is not None:
            failure, self.fails = self.fails, None
            raise failure
        self.deleted.append(str(service))


def grant(commands: str, *services: str, subscription: str | None = None, identity: str | None = None) -> dict[str, Any]:
    side = {"identity": identity} if identity is not None else {"subscription": subscription or SUBSCRIPTION}
    return {**side, "commands": commands.split(), "services": list(services) or ["*"]}


ALL = "apply patch hold release rollback reconcile redrive discard delete"


@dataclass
class Scene:
    """The command function's ports, all of them twins (or the store that is given)."""

    grants: list[dict[str, Any]] = field(default_factory=lambda: [grant(ALL), grant(ALL, identity=ALICE)])
    store: Any = None
    bus: Batches = field(default_factory=Batches)
    clock: HandClock = field(default_factory=lambda: HandClock(NOW))
    redriver: Republished = field(default_factory=Republished)
    deleter: Deleter = field(default_factory=Deleter)
    trusted_local: bool = False
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store = self.store if self.store is not None else MemoryCommands()

    @property
    def ports(self) -> CommandPorts:
        store: CommandStore = self.store
        return CommandPorts(
            store=store,
            states=self.store,
            bus=self.bus,
            clock=self.clock,
            redriver=self.redriver,
            deleter=lambda: self.deleter,
            grants=Grants.of(self.grants),
            push_account=PUSH_ACCOUNT,
            trusted_local=self.trusted_local,
            **self.settings,
        )


def token(email: object, *, issuer: str = "https://accounts.google.com", verified: object = True, **claims: object) -> str:
    """An identity token as Cloud Run passes it on."""

    def part(content: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()

    payload = {"iss": issuer, "email": email, "email_verified": verified, **claims}
    return f"{part({'alg': 'RS256'})}.{part(payload)}.SIGNATURE_REMOVED_BY_GOOGLE"


def bearer(email: object, **claims: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {token(email, **claims)}", "Content-Type": "application/json"}


def pushed(
    command: object,
    message_id: str = "9001",
    *,
    subscription: str = SUBSCRIPTION,
    published: str = "2026-11-30T03:00:00Z",
    **attributes: str,
) -> bytes:
    """The body of a push that carries the command (bytes as they are, all else as JSON)."""
    data = command if isinstance(command, bytes) else json.dumps(command).encode()
    message = {"data": base64.b64encode(data).decode(), "messageId": message_id, "publishTime": published, "attributes": attributes}
    return json.dumps({"message": message, "subscription": subscription}).encode()
