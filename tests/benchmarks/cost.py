"""Remote operations per event: counted, so the same on every machine and at every run."""

import base64
import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from unittest import mock

import grpc
from google.pubsub_v1.types import PublishRequest, PublishResponse

from shared import log
from shared.clock import SystemClock
from shared.events.wake import encode_wake
from shared.gcp.firestore_store import FirestoreStore
from shared.gcp.pubsub_bus import PubsubBus
from shared.handlers.keeping import FactPorts
from shared.handlers.schedule import SchedulePorts, tick
from shared.local.clock import VirtualClock
from shared.local.sqlite_store import SqliteStore
from shared.ports import Bus, ScheduleStore, Store
from shared.records.fleet import ActSlot
from shared.records.parked import ParkCode, Parked
from shared.records.state import ServiceState
from shared.records.subject import SWEEP_SLOTS, ServiceId, Wake
from shared.simulation.monitoring import notification
from tests.benchmarks.emulated import firestore_or_none
from tests.benchmarks.table import Area, Row
from tests.benchmarks.twins import ListBus, as_bus
from tests.support.builders import NOW, RANKER, alert, document
from tests.support.emulators import firestore_client, fresh_project
from tests.support.firestore_proxy import Proxy, proxy_before
from tests.support.rig import Rig
from tests.support.tracing import EFFECTS, Trace, Traced

SETTLED = 1_000
PUBLISH_BATCH = 500
UNTIL_FACTS_SETTLE_SECONDS = 1.0
PUBSUB = "Publish"

HOW = (
    "Every call of a port is counted while the real handlers work on one event (store: SQLite in memory; Cloud Run: simulated). "
    "{calls} Publishes are counted by a stand-in for Pub/Sub's gRPC server. Reads of metrics and quota are not counted: they have no "
    "source on Google Cloud yet."
)
WITH_EMULATOR = (
    "Below, the same methods of the store on the Firestore emulator, behind a gRPC proxy that counts calls: one operation is one call "
    "(`facts_after` takes a second one, half a second later, where its newest fact is too young to be in order)."
)
WITHOUT_EMULATOR = "No Firestore emulator was found: what one operation is in gRPC calls was not counted."


def measure() -> Area:
    with log.silenced(), firestore_or_none() as firestore:
        rows = [*_alert_rows(), *_reconcile_rows(), _tick_row()]
        rows += _firestore_rows(firestore) if firestore else []
        rows += _publish_rows()
    return Area("Cost per event", HOW.format(calls=WITH_EMULATOR if firestore else WITHOUT_EMULATOR), tuple(rows))


def _alert_rows() -> Iterator[Row]:
    rig = Rig()
    body = _push(json.dumps(notification(RANKER, "0.a1", "open", started_at=NOW, now=NOW)).encode())
    new = _alert(rig, body, fresh=True)
    yield Row("new alert", _named(new), "2 operations: 1 store + 1 publish", new == {"store.create_fact": 1, "bus.publish_wakes": 1})
    repeat = _alert(rig, body, fresh=True)
    yield Row("duplicate, fresh instance", _named(repeat), "1 store + at most 1 publish", _frugal(repeat, store=1))
    again = _alert(rig, body, fresh=False)
    yield Row("duplicate, same instance", _named(again), "1 store + at most 1 publish", _frugal(again, store=1))
    for _ in range(6):
        last = _alert(rig, body, fresh=False)
    yield Row("duplicate, same instance, many in a burst", _named(last), "1 store + at most 1 publish", _frugal(last, store=1))
    spoilt = _alert(rig, _push(b"no JSON"), fresh=True)
    yield Row("alert that is parked", _named(spoilt), "1 store", spoilt == {"store.park": 1})
    test = _alert(rig, _push(json.dumps({"version": "test", "incident": {}}).encode()), fresh=True)
    yield Row("console's test notification", _named(test), "none", not test)


def _alert(rig: Rig, body: bytes, *, fresh: bool) -> dict[str, int]:
    if fresh:
        rig.start_process(Trace())
    rig.trace.operations.clear()
    assert rig.post("alert", body) == 200
    return dict(rig.trace.operations)


def _reconcile_rows() -> Iterator[Row]:
    wake = _push(encode_wake(Wake.of(RANKER, "due"))[0])
    rig = Rig(demand=1)
    calm = _wake(rig, wake)
    calm = _wake(rig, wake)
    yield Row("reconcile, nothing to do", _named(calm), "0 writes", not _writes(calm))

    rig = Rig()
    rig.notify()
    rig.run()
    held = _wake(rig, wake)
    held = _wake(rig, wake)
    yield Row("reconcile, an open incident that needs nothing new", _named(held), "0 writes", not _writes(held))

    rig = Rig()
    assert rig.post("alert", _push(json.dumps(notification(RANKER, "0.a1", "open", started_at=NOW, now=NOW)).encode())) == 200
    acted = _wake(rig, wake)
    assert len(rig.writes()) == 1
    yield Row("reconcile that acts (folds, decides, announces, writes, records)", _named(acted))


def _wake(rig: Rig, body: bytes) -> dict[str, int]:
    rig.start_process(Trace())
    assert rig.post("reconcile", body) == 200
    return dict(rig.trace.operations)


def _tick_row() -> Row:
    clock, trace = VirtualClock(NOW), Trace()
    store, bus = SqliteStore(":memory:", clock), ListBus()
    services = settle(store, SETTLED)
    slot = int(NOW.timestamp() // 60) % SWEEP_SLOTS
    due = sum(service.sweep_slot == slot for service in services)
    traced_store, traced_bus = Traced("store", store, trace), Traced("bus", as_bus(bus), trace)
    tick(SchedulePorts(_as_schedule_store(traced_store), _as_bus(traced_bus), clock))
    store.close()
    found = dict(trace.operations)
    assert sum(map(len, bus.published)) == due
    publishes = -(-due // PUBLISH_BATCH)
    return Row(
        f"tick over {SETTLED:,} settled services ({due} of them due)",
        _named(found),
        f"0 platform calls; 1 publish per {PUBLISH_BATCH} wakes",
        found == {"store.due_services": 1, "store.unfolded_services": 1, "bus.publish_wakes": publishes},
    )


def settle(store: Store, count: int) -> list[ServiceId]:
    """That many services with a spec and a state that has nothing ahead of it."""
    services = [RANKER.model_copy(update={"name": f"ranker-{number}"}) for number in range(count)]
    for service in services:
        store.put_service(document(high=10, service=service), if_generation=None)
        store.commit(service, token=None, state=ServiceState(id=service))
    return services


def _firestore_rows(emulator: str) -> Iterator[Row]:
    with proxy_before(emulator) as proxy, firestore_client(proxy.host, fresh_project()) as client:
        store = FirestoreStore(client)
        store.put_service(document(high=10), if_generation=None)
        token = store.commit(RANKER, token=None, state=ServiceState(id=RANKER))
        spoilt = Parked.of(code=ParkCode.UNPARSABLE, reason="r", source="alert", body=b"x", now=NOW)
        for what, act, wanted in (
            ("store.create_fact, new", lambda: store.create_fact(RANKER, alert()), "Commit"),
            ("store.create_fact, duplicate", lambda: store.create_fact(RANKER, alert()), "Commit"),
            ("store.park, new", lambda: store.park(spoilt), "Commit"),
            ("store.park, duplicate", lambda: store.park(spoilt), "Commit"),
            ("store.read (spec, state, fleet)", lambda: store.read(RANKER), "BatchGetDocuments"),
            ("store.facts_after", lambda: store.facts_after(RANKER, None, limit=500), "RunQuery"),
            ("store.facts_by_key", lambda: store.facts_by_key(RANKER, [alert().key]), "BatchGetDocuments"),
            ("store.state_token", lambda: store.state_token(RANKER), "BatchGetDocuments"),
            ("store.acts_in_minute", lambda: store.acts_in_minute("202611300300"), "RunAggregationQuery"),
            ("store.usd_per_hour_at_max", store.usd_per_hour_at_max, "RunAggregationQuery"),
            (
                "store.commit (state, act slot, parked)",
                lambda: store.commit(
                    RANKER,
                    token=token,
                    state=ServiceState(id=RANKER),
                    parked=[spoilt.model_copy(update={"key": "alert:other"})],
                    act_slot=ActSlot(minute="202611300300", index=0),
                ),
                "Commit",
            ),
        ):
            if what == "store.facts_after":
                time.sleep(UNTIL_FACTS_SETTLE_SECONDS)
            calls = _calls(proxy, act)
            yield Row(f"gRPC calls of {what}", _named(calls), "1", calls == {wanted: 1})
        yield _whole_alert(proxy, store)


def _whole_alert(proxy: Proxy, store: FirestoreStore) -> Row:
    rig = Rig(store=SqliteStore(":memory:", VirtualClock(NOW)))
    rig.alert_ports = FactPorts.of(store, as_bus(ListBus()), rig.clock)
    now = SystemClock().now()
    body = _push(json.dumps(notification(RANKER, "0.whole", "open", started_at=now, now=now)).encode())
    calls = _calls(proxy, lambda: rig.post("alert", body))
    return Row("gRPC calls to Firestore of one new alert, whole handler", _named(calls), "1", calls == {"Commit": 1})


def _calls(proxy: Proxy, act: Callable[[], object]) -> dict[str, int]:
    proxy.calls.clear()
    act()
    return dict(Counter(proxy.calls))


def _publish_rows() -> Iterator[Row]:
    with counting_pubsub() as (host, calls), mock.patch.dict("os.environ", {"PUBSUB_EMULATOR_HOST": host}):
        bus = PubsubBus("acme-ml")
        for count in (1, PUBLISH_BATCH):
            calls.clear()
            bus.publish_wakes([Wake.of(RANKER, "due")] * count)
            yield Row(f"gRPC calls of bus.publish_wakes, {count} wakes", _named(Counter(calls)), "1", calls == [PUBSUB])
        bus.close()


@contextlib.contextmanager
def counting_pubsub() -> Iterator[tuple[str, list[str]]]:
    """A gRPC server that accepts every publish; gives its host and the names of the calls it got."""
    calls: list[str] = []

    class Accept(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
            def answer(request: bytes, _context: grpc.ServicerContext) -> bytes:
                calls.append(str(details.method).rsplit("/", 1)[1])
                count = len(PublishRequest.deserialize(request).messages)
                return bytes(PublishResponse.serialize(PublishResponse(message_ids=[str(number) for number in range(count)])))

            return grpc.unary_unary_rpc_method_handler(answer)

    with futures.ThreadPoolExecutor(2) as threads:
        server = grpc.server(threads, handlers=[Accept()])
        host = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        try:
            yield host, calls
        finally:
            server.stop(None).wait()


def _push(data: bytes) -> bytes:
    message = {"data": base64.b64encode(data).decode(), "messageId": "1", "attributes": {}}
    return json.dumps({"message": message, "subscription": "projects/acme-ml/subscriptions/alerts"}).encode()


def _named(operations: dict[str, int] | Sequence[str]) -> str:
    counted = Counter(operations)
    names = ", ".join(f"{count} {name}" for name, count in counted.items())
    return f"{sum(counted.values())}: {names}" if names else "0"


def _writes(operations: dict[str, int]) -> list[str]:
    return [name for name in operations if EFFECTS.get(name.split(".")[1]) == name.split(".", maxsplit=1)[0]]


def _frugal(operations: dict[str, int], *, store: int) -> bool:
    ports: Counter[str] = Counter()
    for name, count in operations.items():
        ports[name.split(".")[0]] += count
    return ports["store"] <= store and ports["bus"] <= 1 and set(ports) <= {"store", "bus"}


def _as_store(traced: Traced) -> Store:
    return traced


def _as_bus(traced: Traced) -> Bus:
    return traced


def _as_schedule_store(traced: Traced) -> ScheduleStore:
    return traced
