"""Codes about what batching parameters do together with concurrency, CPU, traffic and latency. Pure."""

from shared.lint.code import Code
from shared.lint.sources import BATCHING_GUIDE, TIMING_MODEL, serving_issue, serving_source, sources, thread

_SCHEDULER = serving_source("shared_batch_scheduler.h")

MEANING_CODES: tuple[Code, ...] = (
    Code(
        name="batch-timeout-seconds",
        severity="error",
        title="The batch timeout is a second or more",
        when="`batch_timeout_micros` is 1000000 or more, and the work is not bulk.",
        not_when="5000, which is 5 ms; and any timeout for bulk work.",
        why="The unit is microseconds: 5000000 is 5 s, not 5 ms. A batch that does not fill makes each of its requests wait that long, "
        "on an idle GPU.",
        fix="Write microseconds: 1000 for 1 ms, 5000 for 5 ms. 0 is often best: batches still form while the threads are busy.",
        example="batch_timeout_micros { value: 5000 }",
        authority=sources(BATCHING_GUIDE, _SCHEDULER),
    ),
    Code(
        name="batch-timeout-over-budget",
        severity="warning",
        title="The batch timeout takes too much of the latency target",
        when="A p99 target is stated, and `batch_timeout_micros` (below one second) is more than a quarter of it.",
        not_when="A timeout of a quarter of the target or less.",
        why="At low traffic a request waits the whole timeout in the queue, then for the batch before its own, then for its own.",
        fix="At most a quarter of the target, and less than one batch takes to compute.",
        example="# for a p99 target of 100 ms\nbatch_timeout_micros { value: 2000 }",
        authority=sources(_SCHEDULER, TIMING_MODEL),
    ),
    Code(
        name="queue-too-deep",
        severity="warning",
        title="The batch queue holds more than can be answered in time",
        when="The work is not bulk, and more than 100 batches can really wait: `max_enqueued_batches`, or fewer where the concurrency "
        "does not admit so many rows. Or, with a p99 target and measured batch times, the time to work off that queue plus one batch "
        "plus the batch timeout is above the target. On a GPU all threads share one card.",
        not_when="A huge `max_enqueued_batches` that the concurrency keeps from filling; that is `queue-unbounded`, a note.",
        why="Overload becomes latency instead of refusals: requests wait for seconds, callers leave, and the GPU computes answers that "
        "nobody reads. The guide's example file with 1000000 is meant for experiments.",
        fix="Let about one concurrency's worth of batches wait, and lower the concurrency to what the target allows.",
        example="max_enqueued_batches { value: 4 }",
        authority=sources(_SCHEDULER, BATCHING_GUIDE, TIMING_MODEL),
    ),
    Code(
        name="queue-unbounded",
        severity="info",
        title="Only the concurrency bounds the batch queue",
        when="The work is not bulk, `max_enqueued_batches` is above 100, and the concurrency admits 100 batches or fewer.",
        not_when="Up to 100 batches; more where the concurrency does not bound them is `queue-too-deep`.",
        why="Nothing is wrong today. Whoever raises the concurrency later gets a queue that refuses nothing.",
        fix="Write the bound that is in force.",
        example="max_enqueued_batches { value: 4 }",
        authority=sources(_SCHEDULER, TIMING_MODEL),
    ),
    Code(
        name="queue-below-concurrency",
        severity="warning",
        title="Cloud Run admits more rows than the batch queue takes",
        when="Concurrency times rows per request is above the rows that can run and wait: executed batch size times (`num_batch_threads` "
        "+ `max_enqueued_batches`).",
        not_when="A concurrency that fits. What the file leaves out counts with its default: 1000 rows, 10 batches, one thread per vCPU.",
        why="A burst that Cloud Run lets in is refused by the server: UNAVAILABLE, over REST 503, `The batch scheduling queue to which "
        "this task was submitted is full`. Cloud Run adds no instance for refused requests.",
        fix="Lower the concurrency to what fits, or let more batches run and wait if their latency fits.",
        example="# 32 rows times (2 threads + 4 waiting batches) take up to 192\ngcloud run services update ranker --concurrency=96",
        authority=_SCHEDULER,
    ),
    Code(
        name="batch-threads-too-many",
        severity="warning",
        title="Too many batch threads keep batches small",
        when="`num_batch_threads` (one per vCPU if left out) is above the vCPU, or above 4 on a service with a GPU; or the batch timeout "
        "is 0 and there are at least as many threads (2 or more) as concurrent requests.",
        not_when="One thread per vCPU on a service without a GPU, which is the guide's advice there; 1 to 4 threads per GPU.",
        why="A free thread takes whatever waits, so many threads take batches of one or two rows, one after the other on the same card.",
        fix="1 or 2 per GPU: one computes while the other prepares.",
        example="num_batch_threads { value: 2 }",
        authority=sources(serving_issue(1312), serving_issue(1529), TIMING_MODEL),
    ),
    Code(
        name="batch-unreachable",
        severity="warning",
        title="The concurrency is too low to fill a batch",
        when="`max_batch_size` is given, concurrency times rows per request is below the executed batch size, and the batch timeout is "
        "above 0 or the concurrency is 1.",
        not_when="A timeout of 0 with a concurrency above 1: a batch then never waits to be full.",
        why="No batch is ever full, so each waits its timeout for rows that Cloud Run does not let in. With concurrency 1 batching does "
        "nothing but add the timeout.",
        fix="A concurrency of at least twice the batch size in rows, or a smaller batch.",
        example="# for max_batch_size 32 and one row per request\ngcloud run services update ranker --concurrency=64",
        authority=sources(_SCHEDULER, thread("kserve/kserve", 2102)),
    ),
    Code(
        name="request-rows-exceed-batch",
        severity="error",
        title="One request has more rows than a batch may have",
        when="The stated rows per request are above `max_batch_size` (1000 if left out), and splitting is off.",
        not_when="Splitting on, with the rows within `max_batch_size`; rows that are not stated count as 1.",
        why="Every such request is refused with 400: `Task size 64 is larger than maximum input batch size 32`.",
        fix="Raise `max_batch_size`, or switch splitting on and keep the executed size.",
        example="max_batch_size { value: 64 }\nenable_large_batch_splitting { value: true }\nmax_execution_batch_size { value: 32 }",
        authority=sources(_SCHEDULER, serving_issue(1401)),
    ),
    Code(
        name="max-batch-size-unbounded",
        severity="warning",
        title="max_batch_size does not bound GPU memory",
        when="A service with a GPU, and `max_batch_size` above 8192.",
        not_when="Sizes in the thousands on a small model; without a GPU any size.",
        why="Memory grows with the batch, so the first burst ends in `OOM when allocating tensor`. 8192 is also the last limit of the "
        "metric `processed_batch_size`: larger batches cannot be told apart.",
        fix="The size from which a row gets no cheaper, from measured batch times; powers of two.",
        example="max_batch_size { value: 128 }",
        authority=sources(_SCHEDULER, serving_issue(1267), serving_issue(1904)),
    ),
)
