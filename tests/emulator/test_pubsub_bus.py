"""Wakes over Pub/Sub: through Google's emulator, and against a server that fails."""

import contextlib
import os
import threading
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest
from google.api_core import exceptions
from google.pubsub_v1.services.subscriber import SubscriberClient
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

from shared.errors import Retry
from shared.events.wake import encode_wake, parse_wake
from shared.gcp import pubsub_bus
from shared.gcp.pubsub_bus import PubsubBus
from shared.records.subject import ServiceId, Wake
from tests.support.emulators import fresh_project, pubsub_publisher

RANKER = ServiceId(project="acme-ml", region="europe-west1", name="ranker")
WAKE = Wake.of(RANKER, "alert é")


@contextlib.contextmanager
def closing_bus(project: str, topic: str = "wakes", timeout_seconds: float = 10.0) -> Iterator[PubsubBus]:
    bus = PubsubBus(project, topic, timeout_seconds=timeout_seconds)
    try:
        yield bus
    finally:
        bus.close()


@contextlib.contextmanager
def subscribed(host: str, project: str) -> Iterator[tuple[SubscriberClient, str]]:
    """A topic `wakes` with one subscription, and a client to pull from it."""
    topic, subscription = f"projects/{project}/topics/wakes", f"projects/{project}/subscriptions/wakes-pull"
    publisher = pubsub_publisher(host)
    publisher.create_topic(name=topic, retry=None, timeout=10)
    publisher.transport.close()  # type: ignore[no-untyped-call]
    subscriber = SubscriberClient(transport=SubscriberGrpcTransport(channel=grpc.insecure_channel(host)))
    subscriber.create_subscription(name=subscription, topic=topic, retry=None, timeout=10)
    try:
        yield subscriber, subscription
    finally:
        subscriber.transport.close()  # type: ignore[no-untyped-call]


def pull(subscriber: SubscriberClient, subscription: str, count: int) -> list[Any]:
    messages: list[Any] = []
    for _ in range(20):
        answer = subscriber.pull(subscription=subscription, max_messages=count, retry=None, timeout=10)
        messages += [received.message for received in answer.received_messages]
        if len(messages) >= count:
            break
    return messages


@pytest.mark.emulator
def test_a_wake_arrives_as_it_was_sent(pubsub_emulator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", pubsub_emulator)
    project = fresh_project()
    with subscribed(pubsub_emulator, project) as (subscriber, subscription), closing_bus(project) as bus:
        bus.publish_wakes([WAKE])
        (message,) = pull(subscriber, subscription, 1)
        assert (message.data, dict(message.attributes)) == encode_wake(WAKE)
        assert parse_wake(message.data) == (RANKER, WAKE)
        bus.close()
        bus.publish_wakes([WAKE])
        assert len(pull(subscriber, subscription, 1)) == 1


@pytest.mark.emulator
def test_many_threads_share_one_bus(pubsub_emulator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", pubsub_emulator)
    project = fresh_project()
    with subscribed(pubsub_emulator, project) as (subscriber, subscription), closing_bus(project) as bus:
        with futures.ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda number: bus.publish_wakes([Wake.of(RANKER, f"{number}")]), range(40)))
        reasons = {parse_wake(message.data)[1].reason for message in pull(subscriber, subscription, 40)}
        assert reasons == {f"{number}" for number in range(40)}


@pytest.mark.emulator
def test_more_wakes_than_one_call_takes_are_all_published(pubsub_emulator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", pubsub_emulator)
    monkeypatch.setattr(pubsub_bus, "MESSAGES_PER_PUBLISH", 10)
    project = fresh_project()
    with subscribed(pubsub_emulator, project) as (subscriber, subscription), closing_bus(project) as bus:
        bus.publish_wakes([Wake.of(RANKER, f"{number}") for number in range(25)])
        bus.publish_wakes([])
        reasons = {parse_wake(message.data)[1].reason for message in pull(subscriber, subscription, 25)}
        assert reasons == {f"{number}" for number in range(25)}


@pytest.mark.emulator
def test_a_topic_that_does_not_exist_is_a_bug_and_no_retry(pubsub_emulator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", pubsub_emulator)
    with closing_bus(fresh_project()) as bus, pytest.raises(exceptions.NotFound):
        bus.publish_wakes([WAKE])


@contextlib.contextmanager
def failing_server(code: grpc.StatusCode, *, hang: threading.Event | None = None) -> Iterator[tuple[str, list[str]]]:
    """A server that answers `code` to everything, or nothing until `hang` is set; gives its host and the calls it got."""
    calls: list[str] = []

    class Refuse(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
            def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
                calls.append(str(details.method))
                if hang is not None:
                    hang.wait(10)
                context.abort(code, "by the test")
                raise AssertionError

            return grpc.unary_unary_rpc_method_handler(answer)

    with futures.ThreadPoolExecutor(2) as threads:
        server = grpc.server(threads, handlers=[Refuse()])
        host = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        try:
            yield host, calls
        finally:
            if hang is not None:
                hang.set()
            server.stop(None).wait()


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED, grpc.StatusCode.RESOURCE_EXHAUSTED])
def test_what_may_mend_is_a_retry_after_one_call(code: grpc.StatusCode, monkeypatch: pytest.MonkeyPatch) -> None:
    with failing_server(code) as (host, calls):
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", host)
        with closing_bus("acme-ml") as bus, pytest.raises(Retry, match="projects/acme-ml/topics/wakes"):
            bus.publish_wakes([WAKE])
        assert calls == ["/google.pubsub.v1.Publisher/Publish"]


def test_a_publish_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with failing_server(grpc.StatusCode.INTERNAL, hang=threading.Event()) as (host, _):
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", host)
        with closing_bus("acme-ml", timeout_seconds=0.3) as bus, pytest.raises(Retry, match="DeadlineExceeded"):
            bus.publish_wakes([WAKE])


def test_a_missing_permission_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    with failing_server(grpc.StatusCode.PERMISSION_DENIED) as (host, _):
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", host)
        with closing_bus("acme-ml") as bus, pytest.raises(exceptions.PermissionDenied):
            bus.publish_wakes([WAKE])


def test_nothing_is_opened_before_the_first_publish_and_another_process_opens_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing_bus("acme-ml") as bus, failing_server(grpc.StatusCode.UNAVAILABLE) as (host, _):
        assert vars(bus._topic)["_client"] is None
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", host)
        with pytest.raises(Retry):
            bus.publish_wakes([WAKE])
        first = bus._topic._client
        assert first is not None
        bus._topic._process_id = os.getpid() + 1
        with pytest.raises(Retry):
            bus.publish_wakes([WAKE])
        assert bus._topic._client is not first
        first.transport.close()  # type: ignore[no-untyped-call]
