"""Clients in a process of their own: `python -m tests.benchmarks.tf.load PORT ...`; what they saw comes as JSON on standard output.

`--rate`: requests come by chance at that rate whatever becomes of them (Poisson); a latency runs from the time at which a request should
have gone out. `--clients`: so many, each asks again when it is answered.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from array import array
from dataclasses import asdict, dataclass, field

import grpc.aio

from tests.support.tf_server import wire

FEATURES = 16


@dataclass
class Seen:
    """What happened after the warm-up: `answered` counts answers that came then, latencies are of requests that were due then."""

    latencies_ms: list[float] = field(default_factory=list)
    refusals: dict[str, int] = field(default_factory=dict)
    answered: int = 0
    measured_s: float = 0.0
    late_ms: float = 0.0
    """How late requests went out at the worst: the clients' own lag."""


def body(rows: int) -> bytes:
    """A request of so many rows."""
    chance = random.Random(rows)
    content = array("f", [chance.gauss(0, 1) for _ in range(rows * FEATURES)]).tobytes()
    return wire.predict_request("scorer", {"x": wire.float_tensor(content, (rows, FEATURES))})


class Clients:
    def __init__(self, port: int, warm_up_s: float, measured_s: float) -> None:
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        self.call = self.channel.unary_unary(wire.PREDICT)
        self.body = body(1)
        self.began = time.perf_counter() + 0.2
        self.counted_from = self.began + warm_up_s
        self.end = self.counted_from + measured_s
        self.seen = Seen(measured_s=measured_s)

    async def ask(self, due: float) -> None:
        sent = time.perf_counter()
        try:
            await self.call(self.body, timeout=60)
        except grpc.aio.AioRpcError as error:
            if due >= self.counted_from:
                name = f"{error.code().name}: {error.details()}"
                self.seen.refusals[name] = self.seen.refusals.get(name, 0) + 1
            return
        now = time.perf_counter()
        if self.counted_from <= now < self.end:
            self.seen.answered += 1
        if due >= self.counted_from:
            self.seen.latencies_ms.append((now - due) * 1000)
            self.seen.late_ms = max(self.seen.late_ms, (sent - due) * 1000)

    async def open_loop(self, rate: float, seed: int) -> None:
        chance = random.Random(seed)
        due, tasks = self.began, set()
        while (due := due + chance.expovariate(rate)) < self.end:
            wait = due - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            task = asyncio.create_task(self.ask(due))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)

    async def closed_loop(self, clients: int) -> None:
        async def client() -> None:
            while (now := time.perf_counter()) < self.end:
                await self.ask(now)

        await asyncio.gather(*(client() for _ in range(clients)))


async def drive(wanted: argparse.Namespace) -> Seen:
    clients = Clients(wanted.port, wanted.warm_up_s, wanted.measured_s)
    if wanted.clients:
        await clients.closed_loop(wanted.clients)
    else:
        await clients.open_loop(wanted.rate, wanted.seed)
    await clients.channel.close()
    return clients.seen


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--clients", type=int)
    parser.add_argument("--warm-up-s", type=float, default=2.0)
    parser.add_argument("--measured-s", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    json.dump(asdict(asyncio.run(drive(parser.parse_args()))), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
