"""Causes of revisions and servers that do not start, or start without what they need. Pure."""

from shared.diagnose.known import Harm, KnownCause, Lookalike

_LOG = "The container's log, and the platform's lines beside it."

START: tuple[KnownCause, ...] = (
    KnownCause(
        name="port-mismatch",
        title="Cloud Run waits on a port that the server does not open",
        seen="`failed to start and listen on the port defined provided by the PORT=8080 environment variable`, while the server's log "
        "says `Running gRPC ModelServer at 0.0.0.0:8500` or `Exporting HTTP/REST API at:localhost:8501` (that `localhost` is only the "
        "log's wording).",
        not_to_be_confused_with=(
            Lookalike("startup-window-too-short", "the server still loads when the window ends, and the port is right"),
            Lookalike("image-architecture", "the same sentence, but the log says `exec format error`"),
            Lookalike("server-config-invalid", "the same sentence, but the server says why it left"),
        ),
        where_visible=_LOG,
        remedies=("fix-port-or-protocol",),
        wrong_answers=(
            Harm(("fix-probe", "raise-request-timeout"), "However long it waits, nothing will listen there."),
            Harm(("raise-memory", "raise-cpu", "replace-image"), "The server is up; only the port's number differs."),
        ),
    ),
    KnownCause(
        name="startup-window-too-short",
        title="The start-up probe gives up while the model still loads",
        seen="`STARTUP TCP probe failed` with DEADLINE_EXCEEDED at the end of the window (240 s if not set); the server's log ends with "
        "lines about loading or downloading.",
        not_to_be_confused_with=(
            Lookalike("model-path-empty", "the same end, but a warning in the log every second"),
            Lookalike("probe-misconfigured", "the server is up, or the probe failed within a second"),
            Lookalike("gpu-kernels-jit", "the time goes into compiling kernels; the log says so"),
        ),
        where_visible="The platform's line and the container's log; container/startup_latencies of starts that worked.",
        remedies=("fix-probe", "move-model-local"),
        wrong_answers=(
            Harm(("raise-request-timeout",), "`--timeout` is the time of a request, not of a start."),
            Harm(("raise-memory", "replace-image", "fix-port-or-protocol", "republish-version"), "The server was loading as it should."),
        ),
    ),
    KnownCause(
        name="probe-misconfigured",
        title="The probe fails although the server is well",
        seen="The probe gets 404 on its path, is UNIMPLEMENTED, or fails within a second of the start with a threshold of 1; or a "
        "liveness probe restarts an instance that is busy and healthy.",
        not_to_be_confused_with=(Lookalike("startup-window-too-short", "the probe failed at the end of a window of minutes"),),
        where_visible="The platform's lines about probes; container/completed_probe_count.",
        remedies=("fix-probe",),
        wrong_answers=(
            Harm(
                ("replace-image", "raise-memory", "fix-port-or-protocol", "fix-model-path"),
                "The server is well; only the question is wrong.",
            ),
            Harm(("retry-rollout-later",), "The same probe fails again."),
        ),
    ),
    KnownCause(
        name="model-load-failed",
        title="The model cannot be loaded",
        seen="`servable(s) did not become available`, `exhausted max_num_retries`, or the loader's own error: DATA_LOSS, NOT_FOUND, a "
        "warm-up file that is not a TFRecord.",
        not_to_be_confused_with=(
            Lookalike("partial-upload", "files are missing or too short: the more exact answer"),
            Lookalike("server-config-invalid", "the error names a parameter or a configuration file"),
        ),
        where_visible="The container's log; GetModelStatus shows END with an error.",
        remedies=("republish-version", "pin-or-roll-back"),
        wrong_answers=(
            Harm(("fix-probe",), "A longer window shows the same error later: six tries take five minutes."),
            Harm(("raise-memory", "raise-max-instances", "retry-rollout-later", "replace-image"), "The same files fail everywhere."),
        ),
    ),
    KnownCause(
        name="model-path-empty",
        title="The server finds no version below the model's path",
        seen="`No versions of servable ranker found under base path` or `FileSystemStoragePathSource encountered a filesystem access "
        "error`, repeated each second or poll. The server never exits and never opens a port.",
        not_to_be_confused_with=(
            Lookalike("model-load-failed", "a version was found, and its load failed"),
            Lookalike("startup-window-too-short", "the log shows progress, not the same warning"),
            Lookalike("access-denied", "the file system error says permission denied"),
        ),
        where_visible=_LOG,
        remedies=("fix-model-path",),
        wrong_answers=(
            Harm(("fix-probe", "retry-rollout-later"), "It would wait for ever."),
            Harm(("raise-memory", "fix-port-or-protocol", "replace-image"), "Only the path or the directories' names are wrong."),
        ),
    ),
    KnownCause(
        name="server-config-invalid",
        title="The server refuses its configuration",
        seen="`Failed to start server. Error: INVALID_ARGUMENT`, `Invalid protobuf file`, exit status 255; or `Last entry in "
        "allowed_batch_sizes must match max_batch_size`, which comes only after about five minutes of tries.",
        not_to_be_confused_with=(
            Lookalike("model-load-failed", "the error is about the model's files"),
            Lookalike("port-mismatch", "the same sentence of the platform, without an error of the server"),
        ),
        where_visible="The container's log; the platform says only that the container failed to start and listen.",
        remedies=("fix-server-config",),
        wrong_answers=(
            Harm(("fix-port-or-protocol", "fix-probe"), "The platform's sentence about the port is only the consequence."),
            Harm(("raise-memory", "replace-image", "retry-rollout-later"), "The same configuration is refused everywhere."),
        ),
    ),
    KnownCause(
        name="image-architecture",
        title="The image is built for another processor",
        seen="`exec format error` in the container's log. Cloud Run runs amd64.",
        not_to_be_confused_with=(Lookalike("port-mismatch", "the same sentence of the platform, with a server that runs"),),
        where_visible=_LOG,
        remedies=("replace-image",),
        wrong_answers=(
            Harm(("fix-port-or-protocol", "fix-probe", "raise-memory", "retry-rollout-later"), "The program cannot run at all."),
        ),
    ),
    KnownCause(
        name="access-denied",
        title="Something may not be read",
        seen="`must have permission to read the image`, the condition reasons CONTAINER_PERMISSION_DENIED or "
        "SECRETS_ACCESS_CHECK_FAILED, or permission denied on the model's bucket.",
        not_to_be_confused_with=(
            Lookalike("image-architecture", "the image was read, and cannot run"),
            Lookalike("platform-transient", "the permission denied of the VPC health check goes away by itself"),
        ),
        where_visible="The answer to the call or the service's condition; for the bucket the container's log.",
        remedies=("grant-access",),
        wrong_answers=(
            Harm(
                ("replace-image", "fix-probe", "fix-server-config", "request-quota-increase"),
                "Nothing was started, so nothing else was tested.",
            ),
            Harm(("retry-rollout-later",), "The permission does not come by itself."),
        ),
    ),
    KnownCause(
        name="platform-transient",
        title="The platform itself was late",
        seen="`Resource readiness deadline exceeded`, or `Got permission denied error` of the health check with a VPC network; the "
        "container never ran, or the same image runs elsewhere.",
        not_to_be_confused_with=(
            Lookalike("model-load-failed", "the container ran and its log has an error"),
            Lookalike("startup-window-too-short", "a probe failed, after the container ran"),
        ),
        where_visible="The operation's error and the service's condition; no line of the container.",
        remedies=("retry-rollout-later",),
        wrong_answers=(
            Harm(("fix-probe", "replace-image", "raise-memory", "republish-version"), "None of them was tried."),
            Harm(("pin-or-roll-back",), "The old revision serves already."),
        ),
    ),
    KnownCause(
        name="cuda-driver-mismatch",
        title="The image needs a newer GPU driver than the platform has",
        seen="`CUDA driver version is insufficient for CUDA runtime version`, or `device kernel image is invalid`. The nvidia-l4 has "
        "driver 535 with CUDA 12.2.",
        not_to_be_confused_with=(
            Lookalike("gpu-kernels-jit", "it works, after minutes of compiling"),
            Lookalike("gpu-unused", "no error: the GPU is not touched"),
        ),
        where_visible=_LOG,
        remedies=("replace-image",),
        wrong_answers=(
            Harm(
                ("fix-probe", "raise-cpu", "raise-memory", "republish-version", "retry-rollout-later"),
                "The driver is part of the platform and stays what it is.",
            ),
            Harm(("request-quota-increase",), "A GPU was there."),
        ),
    ),
    KnownCause(
        name="gpu-kernels-jit",
        title="Each new instance compiles GPU kernels first",
        seen="`TensorFlow was not built with CUDA kernel binaries compatible with compute capability ... CUDA kernels will be "
        "jit-compiled from PTX`, and a first start that takes minutes.",
        not_to_be_confused_with=(Lookalike("startup-window-too-short", "its consequence: the window ends while kernels are compiled"),),
        where_visible=_LOG,
        remedies=("replace-image",),
        wrong_answers=(
            Harm(("raise-memory", "raise-cpu", "move-model-local", "republish-version"), "The time goes into compiling, not into loading."),
            Harm(("retry-rollout-later", "fix-probe"), "A longer window makes every scale-out that slow."),
        ),
    ),
    KnownCause(
        name="gpu-unused",
        title="The GPU is not used at all",
        seen="No line `Created device /job:localhost/... GPU:0` in the log, container/gpu/utilizations exactly 0 under load, CPU high: "
        "the CPU build of the image, or a CUDA library is missing. A GPU build takes nearly all of the card's memory, even idle.",
        not_to_be_confused_with=(Lookalike("cpu-bound-host", "GPU use is small, and not 0"),),
        where_visible="The container's log at the start; container/gpu/utilizations and memory_utilizations at 0.",
        remedies=("replace-image",),
        wrong_answers=(
            Harm(("raise-max-instances", "raise-cpu", "request-quota-increase"), "They add CPU to a service that pays for GPUs."),
            Harm(("enable-batching", "raise-max-batch-size"), "Batches on a CPU do not reach the GPU."),
        ),
    ),
    KnownCause(
        name="rollout-in-progress",
        title="The rollout is still going on",
        seen="The condition says MIN_INSTANCES_NOT_PROVISIONED, MIN_INSTANCES_WARMING, PENDING or WAITING_FOR_OPERATION, or "
        "`reconciling` is true, and the start-up window has not ended.",
        not_to_be_confused_with=(Lookalike("gpu-surge-at-rollout", "the revision failed, with a text about GPUs"),),
        where_visible="The service's conditions.",
        remedies=("wait",),
        wrong_answers=(
            Harm(("pin-or-roll-back", "fix-probe"), "Nothing has failed yet, and the old revision serves."),
            Harm(("retry-rollout-later",), "A second rollout needs GPUs beside the first."),
            Harm(("free-gpu-headroom", "request-quota-increase"), "Nothing says that GPUs are short."),
        ),
    ),
)
