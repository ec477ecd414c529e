"""functions/command: a wish becomes a spec, a hold, a look; by Pub/Sub from other systems, by HTTPS from people and scripts.

Which of the two a request is, its verified identity says: what comes as the account of Pub/Sub's pushes is a push and is answered for
delivery (what can never work is parked and acknowledged); everybody else is a caller and is told in JSON what became of it. A body that
looks like a push gives its sender nothing: neither its subscription nor its author is believed.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shared.errors import Park, Retry
from shared.events.command import InvalidCommand, fact_of, parse_command, read_command
from shared.events.envelope import Envelope, open_envelope
from shared.events.lenient import clean, load_json
from shared.handlers.answer import Handled, ReadBody, Reply
from shared.handlers.command_caller import verified_identity
from shared.handlers.command_work import CommandPorts, Outcome, do
from shared.handlers.intake import take
from shared.records.commands import CommandFact, service_of
from shared.records.parked import ParkCode
from shared.records.rights import Caller
from shared.records.spec_problems import Problem

STATUSES: Mapping[str, int] = {"done": 200, "duplicate": 200, "refused": 400, "forbidden": 403, "superseded": 409}
LATER = 503
PROBLEMS_IN_REASON = 900
"""Characters of a parked command's reason."""
SUBSCRIPTION_LIMIT = 1_024
_WRAPPED = "message", "specversion"
"""What the outermost object of a push body or of a CloudEvent has, and no command."""


def receive_command(headers: Mapping[str, str], read: ReadBody, ports: CommandPorts) -> Handled | Reply:
    """Handle a push of Pub/Sub, or answer a caller.

    Raises:
        Retry: of a push only: the store or the bus could not be reached; delivery repeats.
    """
    if ports.trusted_local and any(name.lower() == "origin" for name in headers):
        # A page in a browser on this machine is not its owner: only browsers send this header, and they always do.
        ports = replace(ports, trusted_local=False)
    identity = verified_identity(headers)
    if identity is not None and ports.push_account is not None and identity == ports.push_account.lower():
        return handle_command(headers, read, ports)
    if ports.trusted_local and identity is None:
        return _on_this_machine(headers, read, ports)
    return answer_command(headers, read, ports)


def _on_this_machine(headers: Mapping[str, str], read: ReadBody, ports: CommandPorts) -> Handled | Reply:
    """Without tokens the body tells the bus of the local edition from its owner."""
    try:
        body = read()
    except Park as park:
        return _refused(park)
    if _is_wrapped(headers, body):
        return handle_command(headers, lambda: body, ports)
    return answer_command(headers, lambda: body, ports)


def handle_command(headers: Mapping[str, str], read: ReadBody, ports: CommandPorts) -> Handled:
    """Do what a push or a CloudEvent commands; what cannot be done is parked with its reason. The sender must be Pub/Sub itself.

    Raises:
        Retry: the store, the bus or Cloud Run could not be reached; delivery repeats.
    """

    def work(envelope: Envelope) -> Handled:
        if envelope.subscription is not None and len(envelope.subscription) > SUBSCRIPTION_LIMIT:
            raise Park(ParkCode.UNPARSABLE, f"subscription: a name of {len(envelope.subscription)} characters is none of Pub/Sub's")
        fact = parse_command(envelope)
        outcome = do(fact, Caller(subscription=envelope.subscription, trusted=ports.trusted_local), ports)
        if outcome.outcome in ("done", "duplicate"):
            return Handled(outcome.outcome, fact.command_id, _words(fact, outcome))
        raise Park(outcome.code or ParkCode.INVALID_COMMAND, _words(fact, outcome))

    return take("command", headers, read, work, store=ports.store, clock=ports.clock, events=ports.events)


def answer_command(headers: Mapping[str, str], read: ReadBody, ports: CommandPorts) -> Reply:
    """Do what a caller commands, and say at once what became of it. Raises nothing but bugs."""
    identity = verified_identity(headers)
    command_id: str | None = None
    try:
        body = read()
        reading = read_command(open_envelope(headers, body).payload() if _is_wrapped(headers, body) else body)
        command_id = reading.command_id
        fact = fact_of(reading, verified_author=identity[:256] if identity is not None else None)
        outcome = do(fact, Caller(identity=identity, trusted=ports.trusted_local and identity is None), ports)
    except InvalidCommand as invalid:
        return _reply(command_id, Outcome("refused", problems=invalid.problems), str(invalid))
    except Park as park:
        return _refused(park, command_id)
    except Retry as retry:
        content: dict[str, Any] = {
            "command_id": command_id,
            "outcome": "later",
            "problems": [],
            "generation": None,
            "detail": retry.reason[:300],
        }
        return Reply(LATER, content, Handled("later", command_id or "", retry.reason), retry.after_seconds)
    return _reply(fact.command_id, outcome, _words(fact, outcome))


def _refused(park: Park, command_id: str | None = None) -> Reply:
    problem = Problem("the command", "", park.reason, "send one JSON object as its schema says")
    return _reply(command_id, Outcome("refused", problems=(problem,)), str(park))


def _is_wrapped(headers: Mapping[str, str], body: bytes) -> bool:
    """Whether a command has something around it: then it is opened as a push or a CloudEvent would be."""
    if any(name.lower() == "ce-type" for name in headers):
        return True
    try:
        content = load_json(body, "body")
    except Park:
        return False
    return isinstance(content, dict) and "command" not in content and any(name in content for name in _WRAPPED)


def _reply(command_id: str | None, outcome: Outcome, words: str) -> Reply:
    content: dict[str, Any] = {
        "command_id": command_id,
        "outcome": outcome.outcome,
        "problems": [
            {"field": problem.field, "value": problem.value, "problem": problem.wrong, "fix": problem.fix} for problem in outcome.problems
        ],
        "generation": outcome.generation,
        "detail": outcome.detail,
    }
    return Reply(STATUSES[outcome.outcome], content, Handled(outcome.outcome, command_id or "", words))


def _words(fact: CommandFact, outcome: Outcome) -> str:
    service = service_of(fact.command)
    subject = str(service) if service is not None else getattr(fact.command, "key", "fleet")
    told = "; ".join(filter(None, (outcome.detail, " | ".join(map(str, outcome.problems)))))
    return clean(f"{fact.command.command} {subject}: {told}", PROBLEMS_IN_REASON)
