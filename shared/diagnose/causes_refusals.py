"""Causes of refused and broken requests and calls. Pure."""

from shared.diagnose.known import Harm, KnownCause, Lookalike

EXHAUSTED: tuple[KnownCause, ...] = (
    KnownCause(
        name="server-thread-quota",
        title="The model server's gRPC threads are exhausted",
        seen="gRPC RESOURCE_EXHAUSTED with empty details or `Server Threadpool Exhausted`, more calls in flight than "
        "`--grpc_max_threads` (4 per vCPU if not set), CPU and GPU not saturated. The refused calls do not appear in the server's own "
        "request_count.",
        not_to_be_confused_with=(
            Lookalike("gpu-out-of-memory", "its text names a tensor and an allocator"),
            Lookalike("instance-cap-reached", "its text is Cloud Run's: no available instance, or an HTTP status 429"),
            Lookalike("batch-queue-full", "its code is UNAVAILABLE and its text names the batch scheduling queue"),
        ),
        where_visible="The client sees it. Cloud Run counts the calls as successes (HTTP 200 with grpc-status 8), the server does not "
        "count them: Cloud Run's request_count is then above TF Serving's by more than 1 %.",
        remedies=("raise-server-threads", "lower-concurrency"),
        wrong_answers=(
            Harm(("lower-max-batch-size", "raise-max-batch-size", "raise-max-enqueued-batches"), "The calls never reach the batching."),
            Harm(("raise-memory", "request-quota-increase"), "Neither memory nor a quota of Google Cloud is exhausted."),
            Harm(("raise-concurrency",), "Still more calls than threads."),
        ),
    ),
    KnownCause(
        name="gpu-out-of-memory",
        title="The GPU has no memory left",
        seen="`OOM when allocating tensor with shape[...] ... by allocator GPU_0_bfc`, with RESOURCE_EXHAUSTED or HTTP 429, and GPU "
        "memory near full. The model stays AVAILABLE and its status 200. The memory is taken by large batches, by several batches at "
        "once, or by two versions that are loaded.",
        not_to_be_confused_with=(
            Lookalike("host-memory-exceeded", "Cloud Run's line says `Memory limit of ... MiB exceeded`, and the instance is killed"),
            Lookalike("server-thread-quota", "its details are empty or name the thread pool"),
        ),
        where_visible="TF Serving's log and answers; request_count with status RESOURCE_EXHAUSTED; container/gpu/memory_utilizations "
        "near 1.",
        remedies=("lower-max-batch-size", "lower-batch-threads", "shrink-client-request", "deploy-new-revision", "pin-or-roll-back"),
        wrong_answers=(
            Harm(("raise-memory",), "That is the container's memory, not the card's."),
            Harm(("raise-max-enqueued-batches", "raise-server-threads", "raise-concurrency"), "More work at once takes more GPU memory."),
            Harm(("raise-max-batch-size",), "A larger batch takes more GPU memory."),
        ),
    ),
    KnownCause(
        name="batch-queue-wait-timeout",
        title="Requests reach their deadline while they wait for a batch",
        seen="`Run() timeout exceeded while waiting in batching queue` with RESOURCE_EXHAUSTED or HTTP 429; queuing_latency is near the "
        "client's deadline.",
        not_to_be_confused_with=(
            Lookalike("batch-queue-full", "its code is UNAVAILABLE: the request was refused at once and did not wait"),
            Lookalike("request-timeout", "504 or DEADLINE_EXCEEDED: the time ran out in the computation or at Cloud Run"),
        ),
        where_visible="The client; TF Serving's request_count with status RESOURCE_EXHAUSTED and batching_session:queuing_latency.",
        remedies=("lower-max-enqueued-batches", "lower-concurrency", "raise-min-instances"),
        wrong_answers=(
            Harm(("raise-max-enqueued-batches",), "A longer queue lets more requests wait until they are worthless."),
            Harm(("raise-server-threads", "raise-concurrency"), "More requests get in and wait in the same queue."),
            Harm(("raise-request-timeout",), "It hides that the instance takes more than it gets done."),
        ),
    ),
    KnownCause(
        name="client-message-limit",
        title="The client refuses a large answer",
        seen="`Received message larger than max (32243844 vs. 4194304)` with RESOURCE_EXHAUSTED, raised in the client: 4194304 bytes are "
        "the default of a gRPC channel. The server counts the call as OK; its own limit is 2 GiB.",
        not_to_be_confused_with=(Lookalike("request-too-large", "413 from Google's front end, for the request and not the answer"),),
        where_visible="The client only. Server and Cloud Run both count a success.",
        remedies=("raise-client-message-limit", "shrink-client-request"),
        wrong_answers=(
            Harm(("fix-server-config", "raise-server-threads", "lower-max-batch-size"), "No setting of the server is involved."),
            Harm(("raise-memory", "raise-max-instances"), "Nothing on the server's side is short."),
        ),
    ),
    KnownCause(
        name="instance-cap-reached",
        title="All instances that are allowed are busy",
        seen="429 `The request was aborted because there was no available instance.` (body `Rate exceeded.`, severity WARNING), "
        "instance_count at the maximum, pending latency up.",
        not_to_be_confused_with=(
            Lookalike("scale-out-lag", "the status is 500, or there are fewer instances than allowed"),
            Lookalike("admin-api-rate-limit", "its text names run.googleapis.com and a quota metric; traffic is fine"),
            Lookalike(
                "batch-queue-full",
                "a gRPC client shows a 429 as UNAVAILABLE too, but without TF Serving's sentence and without a rise in request_count",
            ),
        ),
        where_visible="Cloud Run's request log, request_count with response_code 429, container/instance_count at the maximum. Not in TF "
        "Serving: the request never arrived.",
        remedies=("raise-max-instances", "request-quota-increase"),
        wrong_answers=(
            Harm(("raise-max-enqueued-batches", "raise-server-threads", "raise-max-batch-size"), "The request never reached the server."),
            Harm(("raise-concurrency",), "On a saturated GPU it turns refusals into latency."),
            Harm(("raise-request-timeout", "lower-min-instances"), "Neither adds an instance."),
        ),
    ),
    KnownCause(
        name="admin-api-rate-limit",
        title="Too many calls of Cloud Run's Admin API",
        seen="RESOURCE_EXHAUSTED or 429 from run.googleapis.com: `Quota exceeded for quota metric 'Read requests' and limit 'Read "
        "requests per minute per region'`. Only calls that read or change services fail; requests to the service are fine.",
        not_to_be_confused_with=(
            Lookalike("instance-cap-reached", "`Rate exceeded.` is the body of a refused request to the service, not of the Admin API"),
            Lookalike("stale-etag", "409 Conflict, after which the next try may work"),
        ),
        where_visible="The caller's own log; the quotas page of run.googleapis.com.",
        remedies=("back-off-admin-calls",),
        wrong_answers=(
            Harm(("raise-max-instances", "raise-min-instances", "lower-concurrency"), "It says nothing about the service's capacity."),
            Harm(("raise-server-threads", "lower-max-batch-size"), "The model server is not involved."),
            Harm(("request-quota-increase", "reread-and-retry"), "Calls without need stay without need, and each retry is one more call."),
        ),
    ),
    KnownCause(
        name="gpu-quota-refused",
        title="More GPUs are asked for than the quota allows",
        seen="400 at the call itself: `Max instances must be set to 3 or fewer in order to set GPU requirements`, `You do not have quota "
        "for using GPUs with zonal redundancy` (or without), `NvidiaL4GpuAlloc... requested: 10 allowed: 3`.",
        not_to_be_confused_with=(
            Lookalike("gpu-surge-at-rollout", "the call succeeded, and the revision failed afterwards"),
            Lookalike("cpu-memory-quota-refused", "its quotas are CpuAlloc or MemAlloc"),
        ),
        where_visible="The answer to the call (gcloud, Terraform, the audit log).",
        remedies=("clamp-max-instances", "request-quota-increase", "disable-gpu-zonal-redundancy"),
        wrong_answers=(
            Harm(("retry-rollout-later",), "The quota is checked as maximum instances times GPUs; asking again changes nothing."),
            Harm(("raise-max-instances", "raise-memory"), "They ask for still more."),
        ),
    ),
    KnownCause(
        name="cpu-memory-quota-refused",
        title="More CPU or memory is asked for than the quota allows",
        seen="400 at the call itself: `Max instances must be set to 0 or fewer to set the requested total CPU/memory`, with "
        "`CpuAllocPerProjectRegion` in thousandths of a vCPU or `MemAllocPerProjectRegion` in bytes.",
        not_to_be_confused_with=(Lookalike("gpu-quota-refused", "its text names GPUs"),),
        where_visible="The answer to the call (gcloud, Terraform, the audit log).",
        remedies=("request-quota-increase", "clamp-max-instances"),
        wrong_answers=(
            Harm(("disable-gpu-zonal-redundancy", "lower-concurrency"), "Neither changes CPU or memory."),
            Harm(("retry-rollout-later",), "The same call gets the same answer."),
            Harm(("raise-memory",), "It asks for still more."),
        ),
    ),
    KnownCause(
        name="gpu-surge-at-rollout",
        title="No GPU was left for the new revision",
        seen="The call succeeded, then the revision failed with `Quota exceeded for total allowable count of GPUs per project per "
        "region.` The old revision holds the GPUs and serves.",
        not_to_be_confused_with=(
            Lookalike("gpu-quota-refused", "there the call itself is refused"),
            Lookalike("model-load-failed", "there the container ran and its log says why it left"),
        ),
        where_visible="The service's condition and the operation's error; container/instance_count of the old revision.",
        remedies=("free-gpu-headroom", "retry-rollout-later", "request-quota-increase"),
        wrong_answers=(
            Harm(
                ("pin-or-roll-back", "replace-image", "republish-version", "fix-probe"),
                "The new revision was never tried; nothing speaks against it.",
            ),
            Harm(("raise-max-instances",), "It asks for still more GPUs."),
        ),
    ),
)

UNAVAILABLE: tuple[KnownCause, ...] = (
    KnownCause(
        name="batch-queue-full",
        title="The batch queue refuses requests",
        seen="`The batch scheduling queue to which this task was submitted is full` with UNAVAILABLE or HTTP 503, and request_count with "
        "status UNAVAILABLE rises.",
        not_to_be_confused_with=(
            Lookalike("instance-cap-reached", "without TF Serving's sentence; request_count does not move"),
            Lookalike("batch-queue-wait-timeout", "RESOURCE_EXHAUSTED: the request waited until its deadline"),
            Lookalike("server-thread-quota", "RESOURCE_EXHAUSTED without a sentence"),
        ),
        where_visible="The client, and TF Serving's request_count with status UNAVAILABLE.",
        remedies=("lower-concurrency", "raise-max-batch-size", "raise-min-instances", "raise-max-instances"),
        wrong_answers=(
            Harm(
                ("raise-max-enqueued-batches",),
                "A very long queue refuses nothing and answers too late; only right where its drain time fits the latency target.",
            ),
            Harm(("raise-server-threads", "raise-concurrency"), "More requests reach the same queue."),
            Harm(("request-quota-increase", "raise-memory"), "Nothing of Google Cloud is exhausted: the server itself refuses."),
        ),
    ),
    KnownCause(
        name="host-memory-exceeded",
        title="The instance used more memory than it has",
        seen="`Memory limit of 16384 MiB exceeded with 16501 MiB used` or `container instance was found to be using too much memory and "
        "was terminated`, then 503 with a malformed response or a broken connection, and restarts.",
        not_to_be_confused_with=(
            Lookalike("gpu-out-of-memory", "names a tensor and an allocator, and the instance lives on"),
            Lookalike("socket-exhaustion", "the same 503, without a line about memory and without a restart"),
            Lookalike("probe-misconfigured", "a probe ends the instance, and the log names the probe"),
        ),
        where_visible="Cloud Run's log of the service; container/memory/utilizations near 1 before it.",
        remedies=("raise-memory", "lower-concurrency"),
        wrong_answers=(
            Harm(("raise-max-instances",), "More instances are killed in the same way."),
            Harm(("raise-concurrency", "raise-request-timeout"), "More requests at once take more memory."),
            Harm(("fix-probe", "fix-port-or-protocol"), "The broken connections are the killed instance's."),
        ),
    ),
    KnownCause(
        name="protocol-mismatch",
        title="Client and port do not speak the same protocol",
        seen="The instance is healthy, and clients see `upstream connect error ... protocol error`, `Transport closed` or `Trying to "
        "connect an http1.x server`: gRPC to the REST port, or REST to a port with HTTP/2 on.",
        not_to_be_confused_with=(Lookalike("port-mismatch", "nothing listens on the port, and the revision does not start"),),
        where_visible="The client and Cloud Run's request log; TF Serving counts nothing.",
        remedies=("fix-port-or-protocol",),
        wrong_answers=(
            Harm(
                ("raise-max-instances", "raise-server-threads", "raise-memory", "lower-concurrency"),
                "Nothing is short: no request is understood.",
            ),
            Harm(("fix-probe",), "The probe passes."),
        ),
    ),
    KnownCause(
        name="scale-out-lag",
        title="Instances start too slowly for a ramp",
        seen="`no available instance` with status 500 (ERROR), or 429 while there are fewer instances than allowed; long "
        "startup_latencies; pending latency rises at ramps or from zero instances.",
        not_to_be_confused_with=(
            Lookalike("instance-cap-reached", "the maximum is reached"),
            Lookalike("host-memory-exceeded", "instances that are killed give the same text; the log has a line about memory"),
        ),
        where_visible="Cloud Run's request log, request_latency/pending, container/startup_latencies, container/instance_count below the "
        "maximum.",
        remedies=("raise-min-instances", "move-model-local", "raise-concurrency"),
        wrong_answers=(
            Harm(("raise-max-instances", "request-quota-increase"), "The maximum is not what stopped it."),
            Harm(("raise-request-timeout",), "A request waits about 3.5 times the start time for an instance, whatever its timeout."),
        ),
    ),
    KnownCause(
        name="socket-exhaustion",
        title="Too many HTTP/1 connections to one instance",
        seen="503 with a malformed response or a broken connection at more than about 800 requests a second per instance over HTTP/1, "
        "without a line about memory and without a restart.",
        not_to_be_confused_with=(Lookalike("host-memory-exceeded", "there the log has a line about memory, and the instance restarts"),),
        where_visible="Cloud Run's request log; request_count divided by container/instance_count.",
        remedies=("lower-concurrency", "fix-port-or-protocol", "raise-min-instances"),
        wrong_answers=(
            Harm(("raise-memory", "fix-probe"), "The instance is healthy."),
            Harm(("raise-concurrency", "raise-request-timeout"), "They bring still more connections at once."),
        ),
    ),
    KnownCause(
        name="request-timeout",
        title="Requests take longer than a time limit",
        seen="504 `reached the maximum request timeout` (Cloud Run, 300 s if not set), `Timed out waiting for notification` (REST of TF "
        "Serving, 30 s), or DEADLINE_EXCEEDED (the caller's own deadline).",
        not_to_be_confused_with=(Lookalike("batch-queue-wait-timeout", "RESOURCE_EXHAUSTED: the time passed in the batch queue"),),
        where_visible="The client, Cloud Run's request log, TF Serving's request_count with status DEADLINE_EXCEEDED.",
        remedies=("shrink-client-request", "lower-concurrency", "raise-request-timeout"),
        wrong_answers=(
            Harm(
                ("raise-server-threads", "raise-max-enqueued-batches", "raise-concurrency"), "More work at once makes each request slower."
            ),
            Harm(("raise-memory", "fix-probe"), "Neither is short or wrong."),
        ),
    ),
    KnownCause(
        name="request-too-large",
        title="Google's front end refuses a large request",
        seen="413 `Your client issued a request that was too large`, over HTTP/1, with a body above 32 MiB. It never reaches the "
        "container.",
        not_to_be_confused_with=(Lookalike("client-message-limit", "raised in the client, for the answer"),),
        where_visible="The client; neither the container's log nor TF Serving's metrics.",
        remedies=("shrink-client-request", "fix-port-or-protocol"),
        wrong_answers=(
            Harm(
                ("raise-client-message-limit", "raise-max-batch-size", "raise-request-timeout"),
                "The front end's limit is fixed; HTTP/2 has none.",
            ),
            Harm(("raise-memory", "raise-max-instances"), "The container never saw the request."),
        ),
    ),
    KnownCause(
        name="retry-amplification",
        title="Retries are most of the load",
        seen="Several attempts per call; attempts rise as successes fall; errors began after a short dip and go on although capacity is "
        "back. Push subscriptions that deliver again before the first answer do the same.",
        not_to_be_confused_with=(Lookalike("instance-cap-reached", "the load is real: attempts and calls rise together"),),
        where_visible="The callers' own counts beside Cloud Run's request_count; the subscription's delivery attempts.",
        remedies=("back-off-retries",),
        wrong_answers=(
            Harm(("raise-concurrency", "raise-request-timeout"), "Longer waits bring more retries."),
            Harm(
                ("fix-probe", "raise-memory"),
                "Neither makes fewer attempts. A Cloud Run service has no setting for retries: `--max-retries` is for jobs.",
            ),
        ),
    ),
)
