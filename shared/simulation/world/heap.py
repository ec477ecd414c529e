"""The events to come, the next one first: a binary heap in an array of records."""

from shared.simulation.world.compiled import compiled
from shared.simulation.world.layout import State


@compiled
def push(s: State, at: float, kind: int, place: int) -> None:
    """Something will happen."""
    heap = s.heap
    clock = s.clock[0]
    i = clock.events
    clock.events = i + 1
    while i > 0:
        parent = (i - 1) >> 1
        if heap[parent].at <= at:
            break
        heap[i].at = heap[parent].at
        heap[i].kind = heap[parent].kind
        heap[i].place = heap[parent].place
        i = parent
    heap[i].at = at
    heap[i].kind = kind
    heap[i].place = place


@compiled
def drop_first(s: State) -> None:
    """The next event has been read and is over."""
    heap = s.heap
    clock = s.clock[0]
    size = clock.events - 1
    clock.events = size
    at = heap[size].at
    kind = heap[size].kind
    place = heap[size].place
    i = 0
    child = 1
    while child < size:
        if child + 1 < size and heap[child + 1].at < heap[child].at:
            child += 1
        if heap[child].at >= at:
            break
        heap[i].at = heap[child].at
        heap[i].kind = heap[child].kind
        heap[i].place = heap[child].place
        i = child
        child = 2 * i + 1
    heap[i].at = at
    heap[i].kind = kind
    heap[i].place = place
