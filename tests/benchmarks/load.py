"""The load generator: a few keep-alive connections that are never without a request; run as a process of its own.

Prints one JSON list: for each round, for each port, the seconds of wall time and of its own processor time, and how many answers
were no success. In each round all ports get the same requests, one port after the other.
"""

import argparse
import base64
import json
import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shared.clock import SystemClock
from shared.records.subject import ServiceId
from shared.simulation.monitoring import notification

SERVICES = 2_000
"""So many services take turns: few enough to be real, so many that each event also wakes (wakes are limited per service)."""


class Drive(NamedTuple):
    """One port in one round."""

    wall_seconds: float
    own_cpu_seconds: float
    failed: int


def push_body(number: int, service: ServiceId, incident_id: str) -> bytes:
    """What Pub/Sub pushes for an alert of a 429 policy."""
    now = SystemClock().now()
    data = json.dumps(notification(service, incident_id, "open", started_at=now, now=now)).encode()
    published = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    message = {
        "data": base64.b64encode(data).decode(),
        "attributes": {},
        "messageId": str(number),
        "message_id": str(number),
        "publishTime": published,
        "publish_time": published,
    }
    return json.dumps({"message": message, "subscription": "projects/acme-ml/subscriptions/alerts"}).encode()


def requests(round_number: int, count: int) -> list[bytes]:
    made = []
    for number in range(count):
        service = ServiceId(project="acme-ml", region="europe-west1", name=f"ranker-{number % SERVICES}")
        body = push_body(number, service, f"0.r{round_number}x{number}")
        head = f"POST / HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        made.append(head.encode() + body)
    return made


def drive(port: int, todo: Sequence[bytes], connections: int) -> Drive:
    """Send them all; a connection sends its next request as soon as its last one is answered."""
    waiting, answered, failed = iter(todo), 0, 0
    with selectors.DefaultSelector() as selector:
        wall, cpu = time.perf_counter(), time.process_time()
        for first in _take(waiting, connections):
            peer = socket.create_connection(("127.0.0.1", port))
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer.sendall(first)
            selector.register(peer, selectors.EVENT_READ, bytearray())
        while answered < len(todo):
            for key, _ in selector.select():
                peer, received = _socket(key), key.data
                received += peer.recv(65_536)
                success = _success(received)
                if success is None:
                    continue
                answered += 1
                failed += not success
                received.clear()
                for following in _take(waiting, 1):
                    peer.sendall(following)
        spent = Drive(time.perf_counter() - wall, time.process_time() - cpu, failed)
        for key in list(selector.get_map().values()):
            _socket(key).close()
        return spent


def _socket(key: selectors.SelectorKey) -> socket.socket:
    assert isinstance(key.fileobj, socket.socket)
    return key.fileobj


def _success(received: bytearray) -> bool | None:
    """Whether the whole answer that is there is a success; None if it is not all there yet."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    head = bytes(received[:end]).lower()
    length = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
    return head.startswith(b"http/1.1 200") if len(received) >= end + 4 + length else None


def _take(waiting: Iterator[bytes], count: int) -> Iterator[bytes]:
    for _ in range(count):
        following = next(waiting, None)
        if following is None:
            return
        yield following


def main() -> None:
    parser = argparse.ArgumentParser(description="Load generator of the benchmarks")
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("ports", type=int, nargs="+")
    wanted = parser.parse_args()
    results = []
    for number in range(wanted.rounds):
        todo = requests(number, wanted.requests)
        results.append([drive(port, todo, wanted.connections) for port in wanted.ports])
    print(json.dumps(results))


if __name__ == "__main__":
    main()
