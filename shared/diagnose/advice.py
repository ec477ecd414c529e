"""How a cause's advice is written down, and the sums behind its numbers. Pure."""

import math
from collections.abc import Callable, Iterator

from shared.diagnose.answer import Avoid, Remedy
from shared.diagnose.load_seen import number
from shared.diagnose.picture import Picture
from shared.diagnose.remedy_catalog import REMEDIES
from shared.diagnose.settings_seen import Settings

Adviser = Callable[[Picture], Iterator[Remedy | Avoid]]
"""What to do about one cause, the safest that works first, and what not to do."""

SPARE_GRPC_THREADS, SPARE_REST_THREADS = 8, 2
"""Threads above the concurrency: pollers and health checks take some."""
GPU_HEADROOM = 0.7
"""A GPU below this has room for more requests at once."""


def do(remedy: str, why: str, before: object = None, after: object = None, knob: str | None = None) -> Remedy:
    """A remedy of the catalog, with why here and from what to what."""
    known = REMEDIES[remedy]
    return Remedy(
        remedy=remedy,
        knob=knob or known.knob,
        why=why,
        before=None if before is None else _shown(before),
        after=None if after is None else _shown(after),
        new_revision=known.new_revision,
        risk=known.risk,
    )


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def thread_flag(settings: Settings) -> str:
    """The flag of the threads that the service's protocol uses."""
    return "--rest_api_num_threads" if settings.protocol == "rest" else "--grpc_max_threads"


def threads_needed(settings: Settings) -> int | None:
    """Threads for the concurrency."""
    if settings.concurrency is None:
        return None
    return settings.concurrency + (SPARE_REST_THREADS if settings.protocol == "rest" else SPARE_GRPC_THREADS)


def budget_ms(picture: Picture) -> float | None:
    """The time that an answer has: the smaller of the objective and the callers' deadline."""
    return min((bound for bound in (picture.objective_ms, picture.given.workload.client_deadline_ms) if bound is not None), default=None)


def short_queue(picture: Picture) -> int | None:
    """max_enqueued_batches that drain within half of the time an answer has."""
    settings, budget = picture.settings, budget_ms(picture)
    batch = settings.batch_time_ms(settings.execution_batch)
    if batch is None or budget is None or batch <= 0:
        return max(1, settings.batch_threads) if settings.batch_threads is not None else None
    return max(1, int(budget / 2 / batch * settings.lanes))


def held_concurrency(picture: Picture, queue: int | None) -> int | None:
    """Requests that execution and such a queue hold together."""
    settings = picture.settings
    if settings.execution_batch is None or settings.batch_threads is None or queue is None:
        return None
    return max(1, settings.execution_batch * (settings.batch_threads + queue) // settings.rows)


def saturating_concurrency(picture: Picture) -> int | None:
    """Requests that keep one card busy: a batch that runs and one that waits, fewer where the objective does not allow it."""
    settings, objective = picture.settings, picture.objective_ms
    if settings.execution_batch is None:
        return None
    batch = settings.batch_time_ms(settings.execution_batch)
    rows = 2 * settings.execution_batch
    if batch is not None and objective is not None and batch > 0:
        rows = min(rows, max(1, int(objective / batch)) * settings.execution_batch)
    return max(1, rows // settings.rows)


def more_instances(picture: Picture) -> Iterator[Remedy]:
    """More instances by the fast knobs, as far as maximum and quota allow; above the quota a person has to ask."""
    settings = picture.settings
    most, total = settings.max_instances, picture.load.instance_total
    if picture.at_maximum is False and total is not None and most is not None:
        wanted = min(most, math.ceil(total) + 1)
        yield do(
            "raise-min-instances",
            f"{total:g} of at most {most} instances are active; the minimum is kept whatever the autoscaler thinks, without a new revision",
            settings.min_instances,
            wanted,
        )
    else:
        yield from higher_maximum(picture)


def higher_maximum(picture: Picture) -> Iterator[Remedy]:
    """A higher maximum inside the quota, else more quota."""
    settings = picture.settings
    most, quota = settings.max_instances, settings.gpu_quota
    if quota is not None and most is not None and most >= quota:
        yield do(
            "request-quota-increase",
            f"the maximum of {most} is the whole quota of {quota} GPUs: nothing above it is accepted",
            quota,
        )
        return
    after = None if most is None else (2 * most if quota is None else min(2 * most, quota))
    room = f"; the quota has room for {quota - most} more" if quota is not None and most is not None else ""
    check = "; it is refused above the GPU quota, so look there first" if quota is None and settings.gpu else ""
    yield do("raise-max-instances", f"the maximum is what stops it{room}{check}. No new revision", most, after)


def has_room(picture: Picture, part: float = GPU_HEADROOM) -> bool:
    """Whether an instance could take more requests at once: its card, and its CPU as far as that is known, are below `part`."""
    gpu, cpu = number(picture.load.gpu), number(picture.load.cpu)
    if gpu is None and (picture.settings.gpu or cpu is None):
        return False
    return (gpu is None or gpu < part) and (cpu is None or cpu < part)
