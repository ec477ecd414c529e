"""What messages carry of the trace that they were published in."""

from shared import trace_context
from shared.gcp.traces import Traces
from shared.handlers.answer import Handled, serve
from shared.handlers.intake import take
from tests.support.rig import PostedRequest, Rig

ATTRIBUTE = "googclient_traceparent"
BEFORE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
NOW = "00-1bf7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"


def test_what_is_published_carries_the_trace_around_it_and_not_an_older_one() -> None:
    with trace_context.within(NOW, lambda _: None):
        assert trace_context.sent({"kind": "wake", ATTRIBUTE: BEFORE}) == {"kind": "wake", ATTRIBUTE: NOW}


def test_outside_of_a_trace_attributes_are_as_they_were() -> None:
    assert trace_context.sent({"kind": "wake"}) == {"kind": "wake"}
    trace_context.received({ATTRIBUTE: BEFORE})


def test_what_a_message_carries_is_told_and_nothing_is_told_of_one_without() -> None:
    came_from: list[str] = []
    with trace_context.within(NOW, came_from.append):
        trace_context.received({ATTRIBUTE: BEFORE})
        trace_context.received({"kind": "wake"})
    assert came_from == [BEFORE]


def test_the_intake_tells_it_of_a_push() -> None:
    came_from: list[str] = []
    body = b'{"message": {"data": "e30=", "messageId": "9001", "attributes": {"googclient_traceparent": "%s"}}}' % BEFORE.encode()
    rig = Rig()
    ports = rig.alert_ports
    with trace_context.within(NOW, came_from.append):
        take("alert", {}, lambda: body, lambda _: Handled("done", "k"), store=ports.store, clock=ports.clock)
    assert came_from == [BEFORE]


def test_a_watched_request_publishes_its_own() -> None:
    class Nowhere:
        def send(self, spans: object) -> str:
            return "" if spans else "nothing"

    seen: dict[str, str] = {}

    def handle(_headers: object, _read: object) -> Handled:
        seen.update(trace_context.sent({}))
        return Handled("done", "k")

    serve("alert", PostedRequest(b"{}"), handle, Traces("acme-ml", ratio=1.0, connect=Nowhere).request)
    assert list(seen) == [ATTRIBUTE]
