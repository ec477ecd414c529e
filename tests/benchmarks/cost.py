"""Remote operations per event: counted, so the same on every machine and at every run."""

import base64
import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest import mock

import grpc
from google.cloud.firestore import Client
from google.pubsub_v1.types import PublishRequest, PublishResponse

from shared import log
from shared.clock import SystemClock
from shared.events.wake import encode_wake
from shared.gcp.cloud_logging import CloudLogging
from shared.gcp.cloud_monitoring import CloudMonitoring
from shared.gcp.firestore_commands import FirestoreCommands
from shared.gcp.firestore_store import FirestoreStore
from shared.gcp.pubsub_bus import PubsubBus
from shared.handlers.keeping import FactPorts
from shared.handlers.schedule import SchedulePorts, tick
from shared.local.clock import VirtualClock
from shared.local.sqlite_store import SqliteStore
from shared.ports import Bus, ModelStore, ScheduleStore, Store
from shared.records.commands import CommandFact, ReconcileCommand
from shared.records.facts import UploadFact
from shared.records.fleet import ActSlot, Fleet
from shared.records.model import ModelState
from shared.records.parked import ParkCode, Parked
from shared.records.state import ServiceState
from shared.records.subject import SWEEP_SLOTS, ServiceId, Wake
from shared.simulation.bucket import SimulatedBucket
from shared.simulation.monitoring import notification
from tests.benchmarks.emulated import firestore_or_none
from tests.benchmarks.table import Area, Row
from tests.benchmarks.twins import ListBus, as_bus
from tests.scenarios.test_uploads import MODEL, Harbour
from tests.support.audits import entry
from tests.support.builders import NOW, RANKER, alert, document
from tests.support.emulators import firestore_client, fresh_project
from tests.support.firestore_proxy import Proxy, proxy_before
from tests.support.json_door import JsonDoor
from tests.support.rig import Rig
from tests.support.tracing import EFFECTS, Trace, Traced

SETTLED = 1_000
PUBLISH_BATCH = 500
UNTIL_FACTS_SETTLE_SECONDS = 1.0
PUBSUB = "Publish"
TWO = "2 operations: 1 store + 1 publish"
LISTED_AGAIN_SECONDS = 90
"""Longer than the least time between two listings of a model, and than an upload takes to settle."""
OF_A_TICK = (
    "store.due_services",
    "store.begin_tick",
    "store.commanded_services",
    "store.unfolded_services",
    "store.due_models",
    "store.unlisted_models",
)

HOW = (
    "Every call of a port is counted while the real handlers work on one event (store: SQLite in memory; Cloud Run: simulated). "
    "{calls} Publishes are counted by a stand-in for Pub/Sub's gRPC server, calls of Cloud Logging and Cloud Monitoring by one for their "
    "REST APIs. Logs and metrics are asked for while an incident is open or a candidate has failed, and never on an idle look. Reads of "
    "quota are not counted: they have no source on Google Cloud yet."
)
WITH_EMULATOR = (
    "Below, the same methods of the store on the Firestore emulator, behind a gRPC proxy that counts calls: one operation is one call "
    "(`facts_after` takes a second one, half a second later, where its newest fact is too young to be in order)."
)
WITHOUT_EMULATOR = "No Firestore emulator was found: what one operation is in gRPC calls was not counted."


def measure() -> Area:
    with log.silenced(), firestore_or_none() as firestore:
        rows = [
            *_alert_rows(),
            *_audit_rows(),
            *_upload_rows(),
            *_command_rows(),
            *_reconcile_rows(),
            *_evidence_rows(),
            *_model_rows(),
            _tick_row(),
        ]
        rows += _firestore_rows(firestore) if firestore else []
        rows += _publish_rows()
    return Area("Cost per event", HOW.format(calls=WITH_EMULATOR if firestore else WITHOUT_EMULATOR), tuple(rows))


def _alert_rows() -> Iterator[Row]:
    rig = Rig()
    body = _push(json.dumps(notification(RANKER, "0.a1", "open", started_at=NOW, now=NOW)).encode())
    new = _alert(rig, body, fresh=True)
    yield Row("new alert", _named(new), TWO, new == {"store.create_fact": 1, "bus.publish_wakes": 1})
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


def _audit_rows() -> Iterator[Row]:
    rig = Rig()
    body = _push(entry(RANKER, "a1", principal="kim@example.com", at=NOW))
    new = _posted(rig, "audit", body, fresh=True)
    yield Row("new audit entry", _named(new), TWO, new == {"store.create_fact": 1, "bus.publish_wakes": 1})
    repeat = _posted(rig, "audit", body, fresh=True)
    yield Row("audit entry, duplicate, fresh instance", _named(repeat), "1 store + at most 1 publish", _frugal(repeat, store=1))
    again = _posted(rig, "audit", body, fresh=False)
    yield Row("audit entry, duplicate, same instance", _named(again), "1 store + at most 1 publish", _frugal(again, store=1))
    ours = _posted(rig, "audit", _push(entry(RANKER, "a2", at=NOW)), fresh=True)
    yield Row("audit entry of Trimtab's own write", _named(ours), "none", not ours)


def _upload_rows() -> Iterator[Row]:
    rig = Rig()
    resource = SimulatedBucket(now=rig.clock.now).put("acme-models", "ranker/7/saved_model.pb", b"x")
    body = _push(json.dumps(resource).encode(), eventType="OBJECT_FINALIZE", objectGeneration=resource["generation"])
    new = _posted(rig, "upload", body, fresh=True)
    yield Row("new upload notification", _named(new), TWO, new == {"store.create_upload": 1, "bus.publish_wakes": 1})
    repeat = _posted(rig, "upload", body, fresh=True)
    yield Row("upload, duplicate, fresh instance", _named(repeat), "1 store + at most 1 publish", _frugal(repeat, store=1))
    again = _posted(rig, "upload", body, fresh=False)
    yield Row("upload, duplicate, same instance", _named(again), "1 store + at most 1 publish", _frugal(again, store=1))
    for _ in range(6):
        last = _posted(rig, "upload", body, fresh=False)
    yield Row("upload, duplicate, same instance, many in a burst", _named(last), "1 store + at most 1 publish", _frugal(last, store=1))


def _command_rows() -> Iterator[Row]:
    rig = Rig(known_service=False)
    spec = {"scale": {"max_instance_count": 4}}

    def command(what: str, command: str, bound: int, *, https: bool = False, **fields: Any) -> Row:
        about = {} if fields.pop("fleet", False) else {"service": str(RANKER)}
        body = json.dumps({"command": command, **about, **fields}).encode()
        found = _posted(rig, "command", body if https else _push(body), fresh=True)
        return Row(f"command: {what}", _named(found), f"{bound} round trips", sum(found.values()) <= bound)

    yield command("apply", "apply", 3, command_id="c1", spec=spec)
    yield command("apply, duplicate", "apply", 3, command_id="c1", spec=spec)
    yield command("apply over HTTPS", "apply", 3, https=True, command_id="c2", spec=spec)
    yield command("patch", "patch", 3, command_id="c3", patch={"scale": {"max_instance_count": 6}})
    yield command("hold", "hold", 3, command_id="c4", hold_id="launch", reason="launch day")
    yield command("hold, duplicate", "hold", 3, command_id="c4", hold_id="launch", reason="launch day")
    yield command("release", "release", 3, command_id="c5", hold_id="launch")
    yield command("rollback to a revision", "rollback", 3, command_id="c6", to_revision="ranker-00001-abc")
    yield command("hold of all services", "hold", 3, fleet=True, command_id="c7", all=True, hold_id="outage", reason="outage")
    yield command("reconcile", "reconcile", 3, command_id="c8")
    yield command("refused, over HTTPS", "release", 3, https=True, command_id="c9", hold_id="nothing")
    yield command("refused, parked", "release", 3, command_id="c10", hold_id="nothing")
    key = rig.store.parked(limit=1)[0].key
    yield command("redrive", "redrive", 3, fleet=True, command_id="c11", key=key)
    rig.run()
    yield command("discard", "discard", 3, fleet=True, command_id="c12", key=rig.store.parked(limit=1)[0].key)
    yield command("delete", "delete", 3, command_id="c13")
    harbour = Harbour().upload(7).settled()
    back = json.dumps({"command": "rollback", "command_id": "c14", "service": str(RANKER)}).encode()
    found = _posted(harbour, "command", _push(back), fresh=True)
    yield Row("command: rollback to what served before", _named(found), "3 round trips, 1 for what is served", sum(found.values()) <= 4)


def _posted(rig: Rig, function: str, body: bytes, *, fresh: bool) -> dict[str, int]:
    """The operations of one request; `fresh`: to an instance that has just started."""
    if fresh:
        rig.start_process(Trace())
        redriver = Traced("redriver", rig.command_ports.redriver, rig.trace)
        rig.command_ports = replace(rig.command_ports, redriver=redriver)
    rig.trace.operations.clear()
    assert rig.post(function, body) in ({200, 400} if function == "command" else {200})
    return dict(rig.trace.operations)


def _alert(rig: Rig, body: bytes, *, fresh: bool) -> dict[str, int]:
    return _posted(rig, "alert", body, fresh=fresh)


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

    rig = Rig()
    assert rig.post("alert", _push(json.dumps(notification(RANKER, "0.a1", "open", started_at=NOW, now=NOW)).encode())) == 200
    told = _wake(rig, wake, telling=True)
    yield Row("the same, with somebody listening at the topic of events", _named(told))

    rig = Rig(diagnoses=True)
    rig.notify()
    rig.run()
    diagnosed = _wake(rig, wake)
    diagnosed = _wake(rig, wake)
    looked = sum(diagnosed.get(name, 0) for name in ("logs.recent", "metrics.readings", "metrics.instance_count"))
    yield Row(
        "the same open incident, with logs and metrics", _named(diagnosed), "0 writes, 3 more reads", not _writes(diagnosed) and looked == 3
    )

    rig = Rig(demand=1, diagnoses=True)
    unasked = _wake(rig, wake)
    unasked = _wake(rig, wake)
    asked = [name for name in unasked if name.startswith(("logs.", "metrics."))]
    yield Row("reconcile, nothing to do, with logs and metrics connected", _named(unasked), "no log, no metric", not asked)

    harbour = Harbour().upload(7).settled()
    idle = _wake(harbour, wake)
    idle = _wake(harbour, wake)
    yield Row("reconcile, nothing to do, a spec that follows a model's latest version", _named(idle), "0 writes", not _writes(idle))


def _evidence_rows() -> Iterator[Row]:
    """What a look at logs and metrics is in HTTP calls."""
    with JsonDoor(lambda _: (200, {"entries": [], "timeSeries": [], "data": {"result": []}})) as door:
        logs, metrics = CloudLogging(endpoint=door.endpoint), CloudMonitoring(SystemClock(), endpoint=door.endpoint)
        for what, act, bound in (
            ("logs.recent", lambda: logs.recent(RANKER, since=NOW, until=NOW, limit=100), 2),
            ("metrics.readings", lambda: metrics.readings(RANKER), 11),
            ("metrics.instance_count", lambda: metrics.instance_count(RANKER), 1),
        ):
            door.seen.clear()
            act()
            counted = Counter(asked.path.rsplit("/", 1)[-1] for asked in door.seen)
            yield Row(f"HTTP calls of {what}", _named(counted), str(bound), sum(counted.values()) == bound)
        logs.close()
        metrics.close()


def _model_rows() -> Iterator[Row]:
    harbour = Harbour().settled(3)
    wake = _push(encode_wake(Wake.of_model(MODEL.uri, "test"))[0])
    harbour.put(7)
    harbour.clock.advance(LISTED_AGAIN_SECONDS)
    first = _wake(harbour, wake)
    yield Row("model, listed, a version that is still settling", _named(first))
    too_soon = _wake(harbour, wake)
    yield Row("model, not to be listed again yet", _named(too_soon), "0 listings", "bucket.list_objects" not in too_soon)
    harbour.clock.advance(LISTED_AGAIN_SECONDS)
    news = _wake(harbour, wake)
    yield Row("model, listed, a version is found complete, its follower woken", _named(news), "1 listing", news["bucket.list_objects"] == 1)
    harbour.run()
    harbour.clock.advance(LISTED_AGAIN_SECONDS)
    known = _wake(harbour, wake)
    listed_alone = known["bucket.list_objects"] == 1 and "bucket.read_object" not in known
    yield Row("model, listed, nothing new", _named(known), "1 listing, nothing read", listed_alone)


def _wake(rig: Rig, body: bytes, *, telling: bool = False) -> dict[str, int]:
    rig.start_process(Trace())
    if telling:
        rig.reconcile_ports = replace(rig.reconcile_ports, events=Traced("events", rig.bus, rig.trace))
    assert rig.post("reconcile", body) == 200
    return dict(rig.trace.operations)


def _tick_row() -> Row:
    clock, trace = VirtualClock(NOW), Trace()
    store, bus = SqliteStore(":memory:", clock), ListBus()
    services = settle(store, SETTLED)
    slot = int(NOW.timestamp() // 60) % SWEEP_SLOTS
    due = sum(service.sweep_slot == slot for service in services)
    traced_store, traced_bus = Traced("store", store, trace), Traced("bus", as_bus(bus), trace)
    tick(SchedulePorts(_as_schedule_store(traced_store), _as_bus(traced_bus), clock, models=_as_models(traced_store)))
    store.close()
    found = dict(trace.operations)
    assert sum(map(len, bus.published)) == due
    publishes = -(-due // PUBLISH_BATCH)
    return Row(
        f"tick over {SETTLED:,} settled services ({due} of them due)",
        _named(found),
        f"0 platform calls; 1 publish per {PUBLISH_BATCH} wakes",
        found == {**dict.fromkeys(OF_A_TICK, 1), "bus.publish_wakes": publishes},
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
        yield from _firestore_command_rows(proxy, client)
        yield from _firestore_model_rows(proxy, store)
        yield _whole_alert(proxy, store)


def _firestore_command_rows(proxy: Proxy, client: Client) -> Iterator[Row]:
    commands, service = FirestoreCommands(client), RANKER.model_copy(update={"name": "commanded"})
    spec, entry = document(service=service), Parked.of(code=ParkCode.UNPARSABLE, reason="r", source="alert", body=b"y", now=NOW)

    def fact(command_id: str) -> CommandFact:
        command = ReconcileCommand(command="reconcile", command_id=command_id, service=service)
        return CommandFact(command_id=command_id, command=command)

    commands.park(entry)
    for what, act, wanted in (
        ("store.read_spec", lambda: commands.read_spec(service), "BatchGetDocuments"),
        ("store.commit_spec, new", lambda: commands.commit_spec(service, fact("c1"), document=spec, token=None), "Commit"),
        ("store.create_command, new", lambda: commands.create_command(service, fact("c2")), "Commit"),
        ("store.create_command, duplicate", lambda: commands.create_command(service, fact("c2")), "Commit"),
        ("store.has_command", lambda: commands.has_command(service, "c2"), "BatchGetDocuments"),
        ("store.read_fleet", commands.read_fleet, "BatchGetDocuments"),
        ("store.commit_fleet", lambda: commands.commit_fleet(fact("c3"), fleet=Fleet(), token=None), "Commit"),
        ("store.read_parked", lambda: commands.read_parked(entry.key), "BatchGetDocuments"),
        ("store.discard_parked", lambda: commands.discard_parked(fact("c4"), key=entry.key), "Commit"),
    ):
        calls = _calls(proxy, act)
        yield Row(f"gRPC calls of {what}", _named(calls), "1", calls == {wanted: 1})
    token = commands.read_spec(service).token
    repeated = _calls(proxy, lambda: commands.commit_spec(service, fact("c1"), document=spec, token=token))
    yield Row("gRPC calls of store.commit_spec, duplicate", _named(repeated), "at most 2", sum(repeated.values()) <= 2)


def _firestore_model_rows(proxy: Proxy, store: FirestoreStore) -> Iterator[Row]:
    upload = UploadFact(bucket="acme-models", name="ranker/7/saved_model.pb", generation=1, event="finalize")
    for what, act, wanted in (
        ("store.create_upload, new", lambda: store.create_upload(MODEL, upload), "Commit"),
        ("store.create_upload, duplicate", lambda: store.create_upload(MODEL, upload), "Commit"),
        ("store.read_model", lambda: store.read_model(MODEL), "BatchGetDocuments"),
        ("store.commit_model", lambda: store.commit_model(MODEL, token=None, state=ModelState(uri=MODEL.uri)), "Commit"),
        ("store.followers", lambda: store.followers(MODEL), "RunQuery"),
        ("store.commanded_services", lambda: list(store.commanded_services(since=NOW, until=NOW + timedelta(minutes=1))), "RunQuery"),
        ("store.due_models", lambda: list(store.due_models(now=NOW)), "RunQuery"),
        ("store.unlisted_models, none", lambda: list(store.unlisted_models(since=NOW, until=NOW + timedelta(seconds=1))), "RunQuery"),
    ):
        calls = _calls(proxy, act)
        yield Row(f"gRPC calls of {what}", _named(calls), "1", calls == {wanted: 1})
    begun = _calls(proxy, lambda: store.begin_tick(NOW))
    yield Row("gRPC calls of store.begin_tick", _named(begun), "at most 2", sum(begun.values()) <= 2)


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


def _push(data: bytes, **attributes: str) -> bytes:
    message = {"data": base64.b64encode(data).decode(), "messageId": "1", "attributes": attributes}
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


def _as_models(traced: Traced) -> ModelStore:
    return traced


def _as_bus(traced: Traced) -> Bus:
    return traced


def _as_schedule_store(traced: Traced) -> ScheduleStore:
    return traced
