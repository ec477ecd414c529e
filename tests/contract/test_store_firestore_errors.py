"""What becomes of errors and lost replies of Firestore, and how many calls everything takes."""

from collections.abc import Callable

import grpc
import pytest
from google.api_core import exceptions

from shared.errors import Retry, TokenConflict
from shared.gcp import firestore_calls
from shared.gcp.firestore_commands import FirestoreCommands
from shared.gcp.firestore_store import FirestoreStore
from shared.gcp.firestore_uploads import FirestoreUploads
from shared.records.facts import StoredFact
from shared.records.fleet import Fleet
from tests.contract.store_contract import (
    FAR_AHEAD,
    LONG_AGO,
    NOW,
    RANKER,
    SCOPED,
    alert,
    all_facts,
    decision,
    document,
    parked,
    state,
)
from tests.contract.store_contract_commands import command, fleet, put
from tests.contract.store_contract_models import RANKER_MODEL, model_state, upload
from tests.support.firestore_proxy import Fault, Proxy

pytestmark = pytest.mark.emulator


def commands_of(store: FirestoreStore) -> FirestoreCommands:
    """The commands on the same client."""
    return FirestoreCommands(store._client)


MENDABLE = [
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.UNKNOWN,
]


WRITES: dict[str, Callable[[FirestoreStore], object]] = {
    "create_fact": lambda store: store.create_fact(RANKER, alert("1")),
    "commit": lambda store: store.commit(RANKER, token=None, state=state(), parked=[parked()]),
    "put_service": lambda store: store.put_service(document(), if_generation=None),
    "put_fleet": lambda store: store.put_fleet(Fleet()),
    "park": lambda store: store.park(parked()),
    "commit_spec": lambda store: commands_of(store).commit_spec(RANKER, command(), document=document(), token=None),
    "delete": lambda store: commands_of(store).commit_spec(RANKER, command(), document=None, token=None),
    "create_command": lambda store: commands_of(store).create_command(None, command()),
    "commit_fleet": lambda store: commands_of(store).commit_fleet(command(), fleet=fleet(5), token=None),
    "discard_parked": lambda store: commands_of(store).discard_parked(command(), key="a"),
    "create_upload": lambda store: store.create_upload(RANKER_MODEL, upload()),
    "commit_model": lambda store: store.commit_model(RANKER_MODEL, token=None, state=model_state()),
}


READS: dict[str, Callable[[FirestoreStore], object]] = {
    "read": lambda store: store.read(RANKER),
    "facts_after": lambda store: store.facts_after(RANKER, None, limit=5),
    "facts_by_key": lambda store: store.facts_by_key(RANKER, ["1"]),
    "state_token": lambda store: store.state_token(RANKER),
    "put_service": lambda store: store.put_service(document(generation=2), if_generation=1),
    "acts_in_minute": lambda store: store.acts_in_minute("202603011200"),
    "usd_per_hour_at_max": lambda store: store.usd_per_hour_at_max(),
    "due_services": lambda store: list(store.due_services(now=NOW, sweep_slot=1)),
    "unfolded_services": lambda store: list(store.unfolded_services(since=LONG_AGO, until=FAR_AHEAD)),
    "decisions": lambda store: store.decisions(RANKER, limit=5),
    "parked": lambda store: store.parked(limit=5),
    "read_spec": lambda store: commands_of(store).read_spec(RANKER),
    "has_command": lambda store: commands_of(store).has_command(RANKER, "c-1"),
    "read_fleet": lambda store: commands_of(store).read_fleet(),
    "read_parked": lambda store: commands_of(store).read_parked("a"),
    "read_model": lambda store: store.read_model(RANKER_MODEL),
    "followers": lambda store: store.followers(RANKER_MODEL),
    "due_models": lambda store: list(store.due_models(now=NOW)),
    "unlisted_models": lambda store: list(store.unlisted_models(since=LONG_AGO, until=FAR_AHEAD)),
}


CALLS = [*WRITES.values(), *READS.values()]


CALL_NAMES = [*WRITES, *(f"{name}-read" for name in READS)]


@pytest.mark.parametrize("call", CALLS, ids=CALL_NAMES)
def test_what_may_mend_is_a_retry_after_one_bounded_call(
    proxied: tuple[FirestoreStore, Proxy], call: Callable[[FirestoreStore], object]
) -> None:
    store, proxy = proxied
    for code in MENDABLE:
        proxy.calls.clear()
        proxy.faults[:] = [Fault(code)]
        with pytest.raises(Retry):
            call(store)
        assert len(proxy.calls) == 1, code
    assert all(left is not None and 0 < left < firestore_calls.RPC_TIMEOUT_SECONDS + 1 for left in proxy.deadlines)


@pytest.mark.parametrize("call", CALLS, ids=CALL_NAMES)
def test_everything_else_is_a_bug_and_is_not_hidden(
    proxied: tuple[FirestoreStore, Proxy], call: Callable[[FirestoreStore], object]
) -> None:
    store, proxy = proxied
    for code in (grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNAUTHENTICATED):
        proxy.faults[:] = [Fault(code)]
        with pytest.raises(exceptions.GoogleAPICallError):
            call(store)


@pytest.mark.parametrize(
    "name",
    [
        "facts_after",
        "due_services",
        "unfolded_services",
        "acts_in_minute",
        "usd_per_hour_at_max",
        "followers",
        "due_models",
        "unlisted_models",
    ],
)
def test_a_missing_index_is_a_bug_and_no_conflict(proxied: tuple[FirestoreStore, Proxy], name: str) -> None:
    store, proxy = proxied
    proxy.faults[:] = [Fault(grpc.StatusCode.FAILED_PRECONDITION)]
    with pytest.raises(exceptions.FailedPrecondition):
        READS[name](store)


def test_round_trips_are_what_the_flow_counts_on(proxied: tuple[FirestoreStore, Proxy]) -> None:
    store, proxy = proxied
    slow = FirestoreStore(store._client, settle_seconds=30.0, sleep=lambda _seconds: None)
    calls: list[tuple[Callable[[], object], list[str]]] = [
        (lambda: slow.create_fact(RANKER, alert("1")), ["Commit"]),
        (lambda: slow.create_fact(RANKER, alert("1")), ["Commit"]),
        (lambda: slow.read(RANKER), ["BatchGetDocuments"]),
        (lambda: slow.facts_by_key(RANKER, ["1", "2"]), ["BatchGetDocuments"]),
        (lambda: slow.facts_after(RANKER, None, limit=5), ["RunQuery", "RunQuery"]),
        (lambda: slow.facts_after(SCOPED, None, limit=5), ["RunQuery"]),
        (lambda: slow.state_token(RANKER), ["BatchGetDocuments"]),
        (lambda: slow.commit(RANKER, token=None, state=state(), parked=[parked()], decision=decision(1)), ["Commit"]),
        (lambda: slow.commit(SCOPED, token=None, state=state(SCOPED), parked=[parked()]), ["Commit", "BatchGetDocuments", "Commit"]),
    ]
    for call, expected in calls:
        proxy.calls.clear()
        call()
        assert proxy.calls == expected


def test_round_trips_of_commands_and_uploads_are_what_the_flow_counts_on(proxied: tuple[FirestoreStore, Proxy]) -> None:
    store, proxy = proxied
    commands, uploads = commands_of(store), FirestoreUploads(store._client)
    calls: list[tuple[Callable[[], object], list[str]]] = [
        (lambda: commands.read_spec(RANKER), ["BatchGetDocuments"]),
        (lambda: commands.commit_spec(RANKER, command(), document=document(), token=None), ["Commit"]),
        (lambda: commands.commit_spec(RANKER, command(), document=document(), token=None), ["Commit", "BatchGetDocuments"]),
        (lambda: commands.create_command(RANKER, command("c-2")), ["Commit"]),
        (lambda: commands.create_command(RANKER, command("c-2")), ["Commit"]),
        (lambda: commands.has_command(RANKER, "c-2"), ["BatchGetDocuments"]),
        (commands.read_fleet, ["BatchGetDocuments"]),
        (lambda: commands.commit_fleet(command(), fleet=fleet(5), token=None), ["Commit"]),
        (lambda: commands.read_parked("a"), ["BatchGetDocuments"]),
        (lambda: commands.parked(limit=5), ["RunQuery"]),
        (lambda: commands.discard_parked(command("c-3"), key="a"), ["Commit"]),
        (lambda: uploads.create_upload(RANKER_MODEL, upload()), ["Commit"]),
        (lambda: uploads.create_upload(RANKER_MODEL, upload()), ["Commit"]),
        (lambda: store.read_model(RANKER_MODEL), ["BatchGetDocuments"]),
        (lambda: store.commit_model(RANKER_MODEL, token=None, state=model_state()), ["Commit"]),
        (lambda: store.followers(RANKER_MODEL), ["RunQuery"]),
        (lambda: list(store.due_models(now=NOW)), ["RunQuery"]),
        (lambda: list(store.unlisted_models(since=LONG_AGO, until=FAR_AHEAD)), ["RunQuery", "BatchGetDocuments"]),
    ]
    for call, expected in calls:
        proxy.calls.clear()
        call()
        assert proxy.calls == expected


def test_a_command_that_landed_while_its_reply_was_lost_is_done_once(proxied: tuple[FirestoreStore, Proxy]) -> None:
    store, proxy = proxied
    commands = commands_of(store)
    token = put(commands, document(), "c-1")
    proxy.calls.clear()
    proxy.faults[:] = [Fault(grpc.StatusCode.DEADLINE_EXCEEDED, "after")]
    with pytest.raises(Retry):
        commands.commit_spec(RANKER, command("c-2"), document=document(generation=2), token=token)
    assert proxy.calls == ["Commit"]
    landed = commands.read_spec(RANKER)
    assert landed.document == document(generation=2)
    for stated in (token, landed.token):
        assert commands.commit_spec(RANKER, command("c-2"), document=document(generation=3), token=stated) == "duplicate"
    assert commands.read_spec(RANKER) == landed


def test_a_command_that_never_arrived_can_be_given_again(proxied: tuple[FirestoreStore, Proxy]) -> None:
    store, proxy = proxied
    commands = commands_of(store)
    token = put(commands, document(), "c-1")
    proxy.faults[:] = [Fault(grpc.StatusCode.UNAVAILABLE)]
    with pytest.raises(Retry):
        commands.commit_spec(RANKER, command("c-2"), document=document(generation=2), token=token)
    assert commands.commit_spec(RANKER, command("c-2"), document=document(generation=2), token=token) == "created"


def test_where_it_cannot_be_read_what_was_in_the_way_the_command_is_to_be_repeated(proxied: tuple[FirestoreStore, Proxy]) -> None:
    store, proxy = proxied
    commands = commands_of(store)
    put(commands, document(), "c-1")
    proxy.faults[:] = [Fault(grpc.StatusCode.ALREADY_EXISTS), Fault(grpc.StatusCode.UNAVAILABLE)]
    with pytest.raises(Retry):
        commands.commit_spec(RANKER, command("c-1"), document=document(), token=None)


@pytest.mark.parametrize("code", [grpc.StatusCode.ALREADY_EXISTS, grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.NOT_FOUND])
def test_a_conflict_is_told_by_what_is_there_and_not_by_its_code(proxied: tuple[FirestoreStore, Proxy], code: grpc.StatusCode) -> None:
    store, proxy = proxied
    commands = commands_of(store)
    put(commands, document(), "c-1")
    for command_id, wanted in (("c-1", "duplicate"), ("c-2", "conflict")):
        proxy.faults[:] = [Fault(code)]
        try:
            answer: str = commands.commit_spec(RANKER, command(command_id), document=document(), token=None)
        except TokenConflict:
            answer = "conflict"
        assert answer == wanted


@pytest.mark.parametrize(
    "call",
    [
        lambda store: commands_of(store).create_command(RANKER, command()),
        lambda store: commands_of(store).commit_fleet(command(), fleet=fleet(5), token=None),
        lambda store: commands_of(store).discard_parked(command(), key="a"),
        lambda store: commands_of(store).commit_spec(RANKER, command(), document=None, token=None),
        lambda store: store.create_upload(RANKER_MODEL, upload()),
    ],
    ids=["create_command", "commit_fleet", "discard_parked", "delete", "create_upload"],
)
def test_what_landed_while_its_reply_was_lost_is_a_duplicate_only_when_it_is_repeated(
    proxied: tuple[FirestoreStore, Proxy], call: Callable[[FirestoreStore], object]
) -> None:
    store, proxy = proxied
    proxy.faults[:] = [Fault(grpc.StatusCode.UNAVAILABLE, "after")]
    with pytest.raises(Retry):
        call(store)
    assert proxy.calls == ["Commit"]
    assert call(store) == "duplicate"


def test_a_state_of_a_model_that_landed_while_its_reply_was_lost_can_be_recognised(proxied: tuple[FirestoreStore, Proxy]) -> None:
    store, proxy = proxied
    token = store.commit_model(RANKER_MODEL, token=None, state=model_state(versions_not_kept=1))
    proxy.faults[:] = [Fault(grpc.StatusCode.DEADLINE_EXCEEDED, "after")]
    with pytest.raises(Retry):
        store.commit_model(RANKER_MODEL, token=token, state=model_state(versions_not_kept=2))
    assert store.read_model(RANKER_MODEL).state == model_state(versions_not_kept=2)
    with pytest.raises(TokenConflict):
        store.commit_model(RANKER_MODEL, token=token, state=model_state(versions_not_kept=2))


def test_a_fact_that_landed_while_its_reply_was_lost_is_not_mistaken_for_a_repeat(proxied: tuple[FirestoreStore, Proxy]) -> None:
    store, proxy = proxied
    proxy.faults[:] = [Fault(grpc.StatusCode.UNAVAILABLE, "after")]
    with pytest.raises(Retry):
        store.create_fact(RANKER, alert("1"))
    assert proxy.calls == ["Commit"]
    assert store.create_fact(RANKER, alert("1")) == "duplicate"
    (stored,) = all_facts(store, RANKER)
    assert isinstance(stored, StoredFact)


def test_a_commit_that_landed_while_its_reply_was_lost_can_be_recognised(proxied: tuple[FirestoreStore, Proxy]) -> None:
    store, proxy = proxied
    token = store.commit(RANKER, token=None, state=state(cursor="1"))
    proxy.faults[:] = [Fault(grpc.StatusCode.DEADLINE_EXCEEDED, "after")]
    with pytest.raises(Retry):
        store.commit(RANKER, token=token, state=state(cursor="2"), decision=decision(1), parked=[parked()])
    snapshot = store.read(RANKER)
    assert (snapshot.state, store.decisions(RANKER, limit=5)) == (state(cursor="2"), [decision(1)])
    assert snapshot.token == store.state_token(RANKER) != token
    with pytest.raises(TokenConflict):
        store.commit(RANKER, token=token, state=state(cursor="2"), decision=decision(1), parked=[parked()])


def test_a_commit_that_never_arrived_leaves_everything_as_it_was(proxied: tuple[FirestoreStore, Proxy]) -> None:
    store, proxy = proxied
    token = store.commit(RANKER, token=None, state=state(cursor="1"))
    proxy.faults[:] = [Fault(grpc.StatusCode.UNAVAILABLE)]
    with pytest.raises(Retry):
        store.commit(RANKER, token=token, state=state(cursor="2"))
    assert store.state_token(RANKER) == token
    assert store.commit(RANKER, token=token, state=state(cursor="2")) != token
