"""Causes in a running service: its models, its speed, its cost. Pure."""

from shared.diagnose.known import Harm, KnownCause, Lookalike

MODELS: tuple[KnownCause, ...] = (
    KnownCause(
        name="partial-upload",
        title="A model version was not uploaded completely",
        seen="The version loads, then requests fail with `Could not find variable` or `Attempting to use uninitialized value`; or the "
        "load fails with `Read less bytes than requested` or `not an sstable`. The listing lacks files of `variables/`, or they are "
        "shorter than those of the version before.",
        not_to_be_confused_with=(Lookalike("model-load-failed", "all files are there and whole"),),
        where_visible="The container's log or the answers, and the bucket's listing with sizes.",
        remedies=("wait", "republish-version"),
        wrong_answers=(
            Harm(("raise-memory", "raise-max-instances", "fix-server-config"), "The bytes are not there."),
            Harm(
                ("pin-or-roll-back",),
                "Where the load failed the old version serves already, and while the copy runs the next try may work.",
            ),
        ),
    ),
    KnownCause(
        name="version-load-gave-up",
        title="The server gave a version up and does not try again",
        seen="The newest version is END with an error, the log says `exhausted max_num_retries`, the old version is AVAILABLE and "
        "serves; the files are complete now.",
        not_to_be_confused_with=(Lookalike("reload-not-effective", "no load was tried, so no error is there"),),
        where_visible="GetModelStatus, the container's log, the bucket's listing.",
        remedies=("deploy-new-revision", "republish-version"),
        wrong_answers=(
            Harm(("wait",), "It is not tried again until the version leaves the listing or the process restarts."),
            Harm(("raise-memory", "raise-max-instances", "fix-server-config"), "The files are whole and the configuration is right."),
        ),
    ),
    KnownCause(
        name="version-unloaded",
        title="The version was unloaded because its directory is gone",
        seen="`Servable not found for request`; the version is END with OK, and the listing has no such directory any more.",
        not_to_be_confused_with=(Lookalike("version-load-gave-up", "END with an error"),),
        where_visible="GetModelStatus, the answers (404), the bucket's listing.",
        remedies=("fix-server-config", "republish-version", "deploy-new-revision"),
        wrong_answers=(
            Harm(("raise-max-instances", "raise-memory", "fix-port-or-protocol"), "The server did what its policy says."),
            Harm(("wait",), "The directory does not come back by itself."),
        ),
    ),
    KnownCause(
        name="reload-not-effective",
        title="A reload changed nothing",
        seen="A reload of the configuration or an overwritten directory had no effect: polling is 0, files were overwritten in place, or "
        "the call reached one of several instances.",
        not_to_be_confused_with=(Lookalike("version-load-gave-up", "a load was tried and failed"),),
        where_visible="GetModelStatus of each instance, the server's flags, container/instance_count.",
        remedies=("deploy-new-revision", "fix-server-config"),
        wrong_answers=(
            Harm(("raise-request-timeout", "raise-server-threads", "raise-memory"), "The call waits for a poll that never comes."),
            Harm(("republish-version",), "Without a poll a new version is not seen either."),
        ),
    ),
    KnownCause(
        name="model-not-batchable",
        title="The model's signature cannot be batched",
        seen="Errors that appear only with batching on: `equal 0th-dimension size`, `must have at least one dimension`, `Batched output "
        "tensor has 0 dimensions`, `different shapes and padding is turned off`.",
        not_to_be_confused_with=(Lookalike("request-rows-over-limit", "its text compares two numbers of rows"),),
        where_visible="The answers, and TF Serving's request_count with status INVALID_ARGUMENT or FAILED_PRECONDITION.",
        remedies=("fix-signature", "disable-batching"),
        wrong_answers=(
            Harm(
                ("raise-max-batch-size", "lower-max-batch-size"), "The size is not the problem: inputs or outputs have no batch dimension."
            ),
            Harm(("raise-max-instances", "republish-version"), "The same signature fails everywhere."),
        ),
    ),
    KnownCause(
        name="request-rows-over-limit",
        title="A request has more rows than a batch may have",
        seen="`Task size 64 is larger than maximum input batch size 32` with INVALID_ARGUMENT or 400.",
        not_to_be_confused_with=(Lookalike("batch-queue-full", "UNAVAILABLE: there the queue is full, not the request too large"),),
        where_visible="The answers, and TF Serving's request_count with status INVALID_ARGUMENT.",
        remedies=("enable-batch-splitting", "raise-max-batch-size", "shrink-client-request"),
        wrong_answers=(
            Harm(("raise-max-instances", "raise-server-threads", "raise-max-enqueued-batches", "raise-memory"), "Nothing is overloaded."),
            Harm(("disable-batching",), "It throws the throughput away to lift a limit of rows."),
        ),
    ),
    KnownCause(
        name="load-interference",
        title="Loading a model slows the others down",
        seen="p99 rises exactly while another version or model loads, without errors and without a start of an instance.",
        not_to_be_confused_with=(Lookalike("scale-out-lag", "an instance starts, and pending latency rises"),),
        where_visible="TF Serving's request_latency beside the lines about loading in the container's log.",
        remedies=("deploy-new-revision", "add-warmup"),
        wrong_answers=(
            Harm(("raise-max-enqueued-batches", "raise-max-batch-size"), "Loading takes the threads that compute."),
            Harm(("request-quota-increase", "raise-request-timeout"), "It hides the rise and does not end it."),
        ),
    ),
)

SPEED: tuple[KnownCause, ...] = (
    KnownCause(
        name="batch-underfilled",
        title="Batches stay small",
        seen="The mean real batch is far below `max_batch_size` while the GPU has time left and requests are there: many batch threads, "
        "a low concurrency, or allowed sizes without 1.",
        not_to_be_confused_with=(Lookalike("compute-bound-model", "the GPU is busy and batches are full"),),
        where_visible="TF Serving: (processed_batch_size sum - padding_size sum) / count; queuing_latency; container/gpu/utilizations.",
        remedies=("lower-batch-threads", "raise-concurrency", "add-small-allowed-size", "enable-batching", "raise-batch-timeout"),
        wrong_answers=(
            Harm(("raise-max-batch-size", "raise-max-enqueued-batches"), "The limit is not reached; nobody waits."),
            Harm(("lower-concurrency",), "Fewer requests at once make batches still smaller."),
            Harm(("raise-max-instances", "raise-memory"), "The same work on more cards makes batches still smaller."),
        ),
    ),
    KnownCause(
        name="batch-timeout-latency",
        title="Requests wait for others that do not come",
        seen="Low traffic; the median latency is the time of a batch of one plus `batch_timeout_micros`; nearly all of the time is queue "
        "wait, and the GPU is idle.",
        not_to_be_confused_with=(Lookalike("queue-too-deep", "the queue wait grows with the load and is above the timeout"),),
        where_visible="TF Serving: queuing_latency near the timeout, processed_batch_size near 1.",
        remedies=("lower-batch-timeout",),
        wrong_answers=(
            Harm(("raise-max-instances", "raise-min-instances", "raise-cpu"), "Nothing is short: the wait is a setting."),
            Harm(("raise-max-batch-size", "lower-max-enqueued-batches"), "Neither size is reached."),
        ),
    ),
    KnownCause(
        name="queue-too-deep",
        title="The batch queue turns overload into latency",
        seen="queuing_latency is most of the latency and grows to seconds under load, with few or no UNAVAILABLE; callers give up before "
        "their answer; `max_enqueued_batches` is very large.",
        not_to_be_confused_with=(Lookalike("compute-bound-model", "the time goes into the batches, not into waiting"),),
        where_visible="TF Serving: batching_session:queuing_latency beside runtime_latency, which includes it; its buckets end at 1.09 s.",
        remedies=("lower-max-enqueued-batches", "lower-concurrency"),
        wrong_answers=(
            Harm(("raise-max-enqueued-batches", "raise-batch-timeout"), "They make the wait longer."),
            Harm(("raise-request-timeout", "raise-concurrency"), "More requests wait, for longer."),
        ),
    ),
    KnownCause(
        name="cpu-bound-host",
        title="The CPU is the limit, not the GPU",
        seen="CPU at its limit with the GPU far from it: JSON over REST, pre- or post-processing in the graph, or too many threads. The "
        "session takes a small part of a request's time.",
        not_to_be_confused_with=(
            Lookalike("gpu-unused", "GPU use is exactly 0"),
            Lookalike("batch-underfilled", "the CPU has time left"),
        ),
        where_visible="container/cpu/utilizations and container/gpu/utilizations; TF Serving's request_latency minus runtime_latency.",
        remedies=("offload-host-work", "raise-cpu", "limit-op-parallelism"),
        wrong_answers=(
            Harm(("raise-max-batch-size", "raise-batch-timeout", "lower-batch-threads"), "The time is spent before the batch."),
            Harm(("replace-image", "request-quota-increase"), "The GPU works, and waits."),
        ),
    ),
    KnownCause(
        name="compute-bound-model",
        title="The GPU is fully used",
        seen="The GPU is near 1, batches are full, and a row costs the same in a batch of any size.",
        not_to_be_confused_with=(
            Lookalike("batch-underfilled", "batches are small and the GPU has time left"),
            Lookalike("concurrency-too-high", "instances are left, and Cloud Run does not start them"),
        ),
        where_visible="container/gpu/utilizations, TF Serving's processed_batch_size, and batch times that were measured.",
        remedies=("raise-max-instances", "lower-concurrency"),
        wrong_answers=(
            Harm(("raise-max-batch-size", "raise-batch-timeout"), "Larger batches take as much longer as they are larger."),
            Harm(("raise-server-threads", "raise-max-enqueued-batches"), "More requests wait for the same card."),
        ),
    ),
    KnownCause(
        name="concurrency-too-high",
        title="Cloud Run fills one instance before it starts another",
        seen="An instance is saturated (GPU near 1, high latency) while Cloud Run adds none: concurrent requests are below 60 % of the "
        "concurrency and CPU below 60 %. GPU use and latency do not drive the autoscaler.",
        not_to_be_confused_with=(Lookalike("instance-cap-reached", "all instances that are allowed are there"),),
        where_visible="container/max_request_concurrencies against the concurrency, container/instance_count below the maximum, "
        "container/gpu/utilizations.",
        remedies=("lower-concurrency",),
        wrong_answers=(
            Harm(("raise-max-instances",), "The maximum is not reached."),
            Harm(
                ("raise-concurrency", "raise-server-threads", "raise-max-enqueued-batches"),
                "Still more requests go to the instance that is full.",
            ),
            Harm(("raise-memory",), "Memory is not short."),
        ),
    ),
    KnownCause(
        name="over-provisioned",
        title="More instances are kept than are needed",
        seen="For days: low use, instances at the minimum, the minimum above the need, latency far inside the target, and the metrics "
        "are complete.",
        not_to_be_confused_with=(Lookalike("insufficient-data", "points are missing: nothing is known, so nothing is lowered"),),
        where_visible="container/instance_count, container/billable_instance_time, container/max_request_concurrencies over days.",
        remedies=("lower-min-instances",),
        wrong_answers=(
            Harm(("raise-min-instances", "raise-max-instances"), "They keep still more."),
            Harm(("lower-concurrency", "lower-max-batch-size"), "They make each instance do less."),
        ),
    ),
)
