"""What both schedulers are asked: settings of the batch queue, and requests that come while no batch ends.

A case has phases. In a phase the batches that begin do not end before all its requests have come; then all end, and what waits runs. So
only the rules of the queue decide what becomes of whom, not how quick the machine is. Times within a phase are far from the timeouts.
"""

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import accumulate, combinations
from typing import Any

from tests.support.tf_server.rules import Rules

STEP_MS = 25
"""From one request to the next."""
FILLING_MS = 1_000
"""A timeout that does not pass while the requests of a phase come one after the other."""
PASSED_MS = 1_400
"""A pause after which it has passed."""
CLEAR_MS = 150
"""No request of a drawn case comes so close to the end of a timeout."""


@dataclass(frozen=True)
class Offer:
    """A request, and the time since the one before it."""

    rows: int
    after_ms: int = STEP_MS


@dataclass(frozen=True)
class Case:
    name: str
    rules: Rules
    phases: tuple[tuple[Offer, ...], ...]

    def as_json(self) -> dict[str, Any]:
        """With each request as its rows and the time since the one before."""
        phases = [[[offer.rows, offer.after_ms] for offer in phase] for phase in self.phases]
        return {"name": self.name, "rules": asdict(self.rules), "phases": phases}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "Case":
        rules = {**document["rules"], "allowed_batch_sizes": tuple(document["rules"]["allowed_batch_sizes"])}
        phases = tuple(tuple(Offer(*offer) for offer in phase) for phase in document["phases"])
        return cls(document["name"], Rules(**rules), phases)


@dataclass(frozen=True)
class Outcome:
    """What became of a case: each batch in the order of the queue as its rows and the rows that ran, and who was refused why.

    Of TensorFlow the reason is code and text (`UNAVAILABLE: ...`), of the simulation it is the cause in the words of the diagnosis.
    """

    batches: tuple[tuple[int, int], ...]
    refused: tuple[tuple[int, str], ...]
    """The number of the request in the case, from 0."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "Outcome":
        refused = tuple((int(number), str(text)) for number, text in document["refused"])
        return cls(tuple((int(rows), int(ran)) for rows, ran in document["batches"]), refused)


def _phase(*rows: int) -> tuple[Offer, ...]:
    return tuple(Offer(each) for each in rows)


def _ones(count: int) -> tuple[Offer, ...]:
    return _phase(*[1] * count)


def _split(size: int, execution: int, **rules: Any) -> Rules:
    sizes = rules.pop("allowed_batch_sizes", (execution,))
    return Rules(size, allowed_batch_sizes=sizes, enable_large_batch_splitting=True, **rules)


_POWERS = (1, 2, 4, 8)

NAMED = (
    Case("one request", Rules(8), (_ones(1),)),
    Case("whoever finds the thread idle runs alone, the rest in full batches", Rules(4), (_ones(14),)),
    Case("two threads take one each", Rules(4, 2), (_ones(14),)),
    Case("three threads take one each", Rules(8, 3), (_ones(20),)),
    Case("batches of one", Rules(1, 1, 20), (_ones(6),)),
    Case("a request that does not fit closes the batch", Rules(8), (_phase(1, 5, 4, 3, 8, 1),)),
    Case("a small one after a closed batch does not go back into it", Rules(8), (_phase(1, 6, 5, 2, 1, 1),)),
    Case("requests as large as a batch", Rules(4), (_phase(4, 4, 4, 4),)),
    Case("larger than a batch", Rules(4), (_phase(5, 4, 9),)),
    Case("larger than a batch, in between", Rules(4), (_phase(1, 3, 5, 3, 1),)),
    Case("queue of one", Rules(4, 1, 1), (_ones(7),)),
    Case("queue of two", Rules(4, 1, 2), (_ones(12),)),
    Case("queue of two, two threads", Rules(4, 2, 2), (_ones(14),)),
    Case("queue of four, two threads: 1 + 1 + 32", Rules(8, 2, 4), (_ones(38),)),
    Case("a full queue still takes what fits the open batch", Rules(8, 1, 2), (_phase(1, 8, 5, 4, 3, 1),)),
    Case("a full queue refuses a large one and takes a small one after it", Rules(8, 1, 2), (_phase(1, 6, 6, 3, 2, 2, 1),)),
    Case("closed batches with room to spare count whole", Rules(8, 1, 3), (_phase(1, 5, 5, 5, 5, 3, 3),)),
    Case("after it was full it takes again", Rules(4, 1, 2), (_ones(12), _ones(12))),
    Case("queue of zero counts as one", Rules(4, 1, 0), (_ones(7),)),
    Case("a timeout gathers what comes", Rules(16, 1, 10, FILLING_MS), (_phase(1, 2, 3),)),
    Case("a full batch does not wait for its timeout", Rules(4, 1, 10, FILLING_MS), (_ones(6),)),
    Case("a batch closed by a large request does not wait either", Rules(8, 1, 10, FILLING_MS), (_phase(5, 4, 1),)),
    Case("the timeout passes twice", Rules(16, 2, 10, FILLING_MS), ((Offer(1), Offer(1), Offer(1, PASSED_MS), Offer(2)),)),
    Case(
        "the timeout passes while the thread is busy: the batch goes on filling",
        Rules(8, 1, 10, FILLING_MS),
        ((Offer(1), Offer(1, PASSED_MS), Offer(1), Offer(1, PASSED_MS), Offer(2)),),
    ),
    Case("with a timeout the first batches are full: 8 accepted", Rules(4, 1, 1, FILLING_MS), (_ones(11),)),
    Case("with a timeout: 12 accepted", Rules(4, 1, 2, FILLING_MS), (_ones(15),)),
    Case("with a timeout and two threads: 16 accepted", Rules(4, 2, 2, FILLING_MS), (_ones(19),)),
    Case("padded to the next allowed size", Rules(8, allowed_batch_sizes=_POWERS), (_phase(1, 3, 8, 5),)),
    Case("a lone row padded to two", Rules(8, allowed_batch_sizes=(2, 4, 8)), (_phase(1, 1, 1, 1),)),
    Case("one allowed size", Rules(8, allowed_batch_sizes=(8,)), (_phase(1, 1, 8, 3),)),
    Case("a sum that pads", Rules(8, allowed_batch_sizes=_POWERS), (_phase(1, 2, 1, 2, 6),)),
    Case("padding is not in the queue's count", Rules(8, 1, 2, allowed_batch_sizes=(8,)), (_phase(1, 1, 1, 1, 1, 5, 4, 4, 2),)),
    Case("split: 10 rows in batches of 4", _split(10, 4), (_phase(10),)),
    Case("split: fills the open batch first", _split(12, 4), (_phase(1, 3, 6, 2, 9),)),
    Case("split: two threads", _split(16, 4, num_batch_threads=2), (_phase(16, 3, 7),)),
    Case("split: padded pieces", _split(16, 8, allowed_batch_sizes=_POWERS), (_phase(1, 11, 3, 13),)),
    Case("split: larger than allowed at all", _split(8, 4), (_phase(9, 8, 1),)),
    Case("split: the queue counts rows", _split(16, 4, max_enqueued_batches=2), (_phase(4, 4, 8, 4, 1),)),
    Case("split: exactly full, then refused", _split(16, 4, max_enqueued_batches=3), (_phase(1, 12, 1), _phase(5, 9))),
    Case("split: room for the small one", _split(12, 4, max_enqueued_batches=2), (_phase(2, 6, 3, 2, 1),)),
    Case("split: batches as large as requests", _split(8, 8, max_enqueued_batches=2), (_phase(1, 5, 8, 4, 3),)),
    Case("split: with a timeout", _split(12, 4, batch_timeout_ms=FILLING_MS), (_phase(6, 1, 1), _phase(3, 3))),
    Case(
        "split: the timeout passes for the last piece",
        _split(12, 4, batch_timeout_ms=FILLING_MS, num_batch_threads=2),
        ((Offer(6), Offer(1, PASSED_MS), Offer(3)),),
    ),
)
"""One for each rule, and for each figure that is known of the scheduler."""


def _drawn_rules(chance: random.Random) -> Rules:
    execution = chance.choice((2, 4, 6, 8, 16))
    sizes = {size for size in (1, 2, 3, 4, 6, 8, 12) if size < execution and chance.random() < 0.5}
    allowed = (*sorted(sizes), execution) if chance.random() < 0.6 else ()
    threads, queue = chance.choice((1, 1, 2, 3)), chance.choice((1, 2, 3, 5))
    timeout_ms = chance.choice((0, 0, FILLING_MS))
    if chance.random() < 0.45:
        return Rules(
            execution * chance.choice((1, 2, 3)), threads, queue, timeout_ms, allowed or (execution,), enable_large_batch_splitting=True
        )
    return Rules(execution, threads, queue, timeout_ms, allowed)


def _drawn_phase(chance: random.Random, rules: Rules) -> tuple[Offer, ...]:
    largest = rules.max_batch_size + (1 if chance.random() < 0.3 else 0)
    small = chance.random() < 0.5
    offers = []
    for place in range(chance.randint(4, 18)):
        rows = chance.randint(1, max(1, largest // 3) if small and chance.random() < 0.8 else largest)
        pause = place and rules.batch_timeout_ms and chance.random() < 0.1
        offers.append(Offer(rows, PASSED_MS if pause else STEP_MS))
    return tuple(offers)


def _clear(rules: Rules, phase: tuple[Offer, ...]) -> bool:
    """Whether no request comes when the timeout of one before it may just have passed."""
    times = list(accumulate(offer.after_ms for offer in phase))
    return not rules.batch_timeout_ms or all(abs(b - a - rules.batch_timeout_ms) > CLEAR_MS for a, b in combinations(times, 2))


def drawn(count: int, seed: int) -> Iterator[Case]:
    """Cases by chance, always the same for a seed."""
    chance = random.Random(seed)
    made = 0
    while made < count:
        rules = _drawn_rules(chance)
        phases = tuple(_drawn_phase(chance, rules) for _ in range(chance.choice((1, 1, 2))))
        if all(_clear(rules, phase) for phase in phases):
            made += 1
            yield Case(f"drawn {made}", rules, phases)


CASES = (*NAMED, *drawn(100, seed=20261130))
