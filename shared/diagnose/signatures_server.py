"""What TensorFlow Serving and TensorFlow write: to the log, in a JSON body, in the details of a gRPC error. Pure.

Sources: batching_session.cc, shared_batch_scheduler.h, server.cc, server_core.cc, file_system_storage_path_source.cc,
loader_harness.cc, bfc_allocator.cc and gpu_device.cc; issues of tensorflow/serving by number. Older releases differ in small words
(`Batching session Run()`, `Invalid argument:`, `file-system`), and both forms are read.
"""

from shared.diagnose.signatures import Signature, Speaker, like

_SERVER, _TENSORFLOW = Speaker.SERVER, Speaker.TENSORFLOW


def _row(sign: str, pattern: str, cause: str | None, weight: float, *, means: str, source: str) -> Signature:
    return Signature(sign, like(pattern), cause, weight, _SERVER, means, source)


def _tf(sign: str, pattern: str, cause: str | None, weight: float, *, means: str, source: str) -> Signature:
    return Signature(sign, like(pattern), cause, weight, _TENSORFLOW, means, source)


REFUSALS: tuple[Signature, ...] = (
    _row(
        "batch-queue-full",
        r"batch scheduling queue to which this task was submitted is full|scheduling capacity is only \d",
        "batch-queue-full",
        0.95,
        means="the batching queue is full, the request was refused at once",
        source="shared_batch_scheduler.h",
    ),
    _row(
        "thread-quota",
        r"server threadpool exhausted",
        "server-thread-quota",
        0.95,
        means="the gRPC server has no thread left under --grpc_max_threads; the handler did not run",
        source="grpc server.cc; issue 1795",
    ),
    _row(
        "wait-timeout",
        r"run\(\) timeout exceeded while waiting in batching queue",
        "batch-queue-wait-timeout",
        0.95,
        means="every caller's deadline had passed before the batch was taken from the queue",
        source="batching_session.cc",
    ),
    _row(
        "rows-over-limit",
        r"task size \d{1,9} is larger than (?:the )?max(?:imum)? (?:input )?batch size",
        "request-rows-over-limit",
        0.95,
        means="one request has more rows than max_batch_size",
        source="batching_session.cc; issue 1401",
    ),
    _row(
        "not-batchable",
        r"equal 0th[- ]dimension size|must have at least one dimension|batched output tensor has 0 dimensions"
        r"|batched output tensor's 0th dimension|0th dimension does not equal the sum",
        "model-not-batchable",
        0.95,
        means="batching joins requests along dimension 0, and the model does not keep it",
        source="batching_session.cc; issues 276, 494, 1682, 2043",
    ),
    _row(
        "shapes-differ",
        r"different shapes and padding is turned off",
        "model-not-batchable",
        0.95,
        means="requests of one batch differ in shape beyond dimension 0",
        source="batching_session.cc; issue 1934",
    ),
    _row(
        "rest-timeout",
        r"timed out waiting for notification",
        "request-timeout",
        0.92,
        means="the run took longer than --rest_api_timeout_in_ms (30 s where it is not set)",
        source="http_server.cc; issue 1672",
    ),
    _tf(
        "gpu-oom",
        r"oom when allocating tensor(?!.{0,400}allocator (?:mkl)?cpu)|allocator \(?gpu_\d{1,2}_bfc\)? ran out of memory"
        r"|cuda_error_out_of_memory|(?:cublas|cudnn)_status_alloc_failed|failed to allocate .{0,80}\bfrom device\b"
        r"|cuda(?: runtime)?(?: error)?:? out of memory",
        "gpu-out-of-memory",
        0.93,
        means="the GPU's memory is used up",
        source="bfc_allocator.cc, op_kernel.cc; issues 1107, 2066",
    ),
    _tf(
        "device-oom",
        r"(?:resource[_ ]?exhausted|gpu|xla|node).{0,200}out of memory (?:while )?trying to allocate \d"
        r"|out of memory (?:while )?trying to allocate \d{1,20} ?bytes"
        r"|failed to allocate memory(?:.{0,20}\[\[|$| for)|resource[_ ]exhausted: failed to allocate memory"
        r"|failed to allocate (?:request for )?\d[\w. ()]{0,60} on device ordinal",
        "gpu-out-of-memory",
        0.88,
        means="the memory of the device that computes is used up; on a GPU service that is the card",
        source="XLA, op_kernel.cc; DeepLearningExamples 405, keras-ocr 195",
    ),
    _tf(
        "host-oom",
        r"oom when allocating tensor.{0,400}allocator (?:mkl)?cpu|std::bad_alloc|allocator \(?(?:mkl)?cpu\)? ran out of memory",
        "host-memory-exceeded",
        0.8,
        means="the host's memory is used up, not the GPU's",
        source="op_kernel.cc",
    ),
)

LOADING: tuple[Signature, ...] = (
    _row(
        "loading",
        r"loading servable(?: version)?:? \{ ?name: ?(?P<model>\S{1,200}) version: ?(?P<version>\d{1,20})\}(?! failed)"
        r"|reading savedmodel from|restoring savedmodel|reading meta ?graph|running initialization op|(?:copying|downloading) (?:gs|s3)://"
        r"|starting to read warmup data|downloading (?:the )?(?:model|weights|checkpoint)",
        None,
        0.0,
        means="a model is being loaded",
        source="loader.cc, basic_manager.cc",
    ),
    _row(
        "loaded",
        r"successfully loaded servable(?: version)? \{ ?name: ?(?P<model>\S{1,200}) version: ?(?P<version>\d{1,20})\}",
        None,
        0.0,
        means="a version is loaded",
        source="loader_harness.cc",
    ),
    _row(
        "listening",
        r"running grpc modelserver at \S{0,100}?:(?P<port>\d{1,5})\b|exporting http/rest api at: ?\S{0,100}?:(?P<rest>\d{1,5})\b",
        None,
        0.0,
        means="the server is up and its port is open (a REST line that says localhost still means all interfaces)",
        source="server.cc",
    ),
    _row(
        "load-failed",
        r"loading servable(?: version)?:? \{[^{}]{1,300}\} failed|encountered an error for servable version|"
        r"retrying of loading servable",
        "model-load-failed",
        0.6,
        means="a version did not load",
        source="loader_harness.cc, retrier.cc",
    ),
    _row(
        "gave-up",
        r"exhausted max_num_retries",
        "model-load-failed",
        0.6,
        means="the server has used up its tries and does not try this version again",
        source="retrier.cc; issue 1738",
    ),
    _row(
        "not-available",
        r"servable\(s\) did not become available",
        "model-load-failed",
        0.75,
        means="the server ends because a model did not load",
        source="server_core.cc",
    ),
    _row(
        "warm-up-broken",
        r"verify your warm-?up data|corrupted record at \d|warmup request failed|number of warmup records exceeds",
        "model-load-failed",
        0.8,
        means="a bad warm-up record fails the whole load",
        source="saved_model_warmup_util.cc; issues 1562, 1602",
    ),
    _tf(
        "graph-unusable",
        r"op type not registered|could not find meta graph def matching supplied tags|not implemented type|unsupported tensor type"
        r"|can't parse \S{1,400}saved_model\.pb|error parsing \S{0,400}saved_model",
        "model-load-failed",
        0.85,
        means="this server cannot use the graph that it read",
        source="loader.cc, op.cc",
    ),
    _tf(
        "no-saved-model",
        r"could not find savedmodel \.pb or \.pbtxt",
        "model-load-failed",
        0.75,
        means="the version's directory has no saved_model.pb",
        source="reader.cc",
    ),
    _tf(
        "files-short",
        r"read (?:less|fewer) bytes than requested|not an sstable|bad magic number|unexpected end of file|truncated (?:record|block)"
        r"|variables\.(?:data-\d{1,6}-of-\d{1,6}|index)\S{0,40}; no such (?:file|object)|unsuccessful tensorslicereader"
        r"|object \S{0,400}variables\S{0,100} does not exist|block checksum mismatch|checksum does not match",
        "partial-upload",
        0.8,
        means="a file of the version is missing or shorter than its index says",
        source="loader.cc; issues 631, 1441",
    ),
    _tf(
        "variables-missing",
        r"could not find variable|attempting to use uninitialized value|error while reading resource variable"
        r"|container localhost does not exist",
        "partial-upload",
        0.88,
        means="the version was loaded without its variables: such a load succeeds, and requests fail",
        source="resource_variable_ops.cc; issues 969, 1086",
    ),
    _row(
        "path-empty",
        r"no versions of servable \S{1,200} found under base path|did you forget to name your leaf directory"
        r"|(?:filesystem|file-system) access error: (?:could not find base path|\S{0,400} not found)|could not find base path",
        "model-path-empty",
        0.93,
        means="the server finds no version to load and looks again at every poll; it opens no port and never ends",
        source="file_system_storage_path_source.cc; issues 1250, 1419",
    ),
    _row(
        "path-denied",
        r"(?:filesystem|file-system) access error.{0,400}(?:permission denied|permission_denied|\b403\b|forbidden|does not have storage\.)",
        "access-denied",
        0.95,
        means="the server may not read the model's path",
        source="file_system_storage_path_source.cc; issue 1748",
    ),
)

CONFIGURATION: tuple[Signature, ...] = (
    _row(
        "start-refused",
        r"failed to start server\. error:? (?:invalid[_ ]argument|not[_ ]found|failed[_ ]precondition|already[_ ]exists)",
        "server-config-invalid",
        0.85,
        means="the server refuses its own configuration and ends",
        source="main.cc, server.cc",
    ),
    _row(
        "config-text",
        r"invalid protobuf file|error parsing text-format tensorflow\.serving|has no field named|should not have multiple",
        "server-config-invalid",
        0.9,
        means="a configuration file is no text of the message it should hold",
        source="file_probing_env, text_format",
    ),
    _row(
        "batching-values",
        r"last entry in allowed_batch_sizes must|num_batch_threads must be positive|input_batch_size_limit must be"
        r"|batch_timeout_micros must be non-negative|max_enqueued_batches must be positive|must be greater than or equal to max_execution",
        "server-config-invalid",
        0.93,
        means="TF Serving refuses a batching parameter; it tells so at model load, where it is retried for about five minutes",
        source="batching_session.cc, shared_batch_scheduler.h",
    ),
    _row(
        "flags-refused",
        r"batching_parameters_file is set without setting|you cannot configure all|model_config_file are empty",
        "server-config-invalid",
        0.9,
        means="the flags contradict each other or lack what the server needs",
        source="server.cc, main.cc",
    ),
    _row(
        "models-refused",
        r"requests unsupported platform|illegal to list model|to have an absolute path or uri|neither modelserverconfig"
        r"|illegal to change a model's platform|request to assign label to version",
        "server-config-invalid",
        0.9,
        means="the models' configuration names something the server does not take",
        source="server_core.cc",
    ),
    _row(
        "unknown-argument",
        r"\bunknown argument: ?--?\w",
        "server-config-invalid",
        0.45,
        means="tensorflow_model_server has no such flag; it says so and goes on without it",
        source="main.cc; issue 1413",
    ),
)

VERSIONS: tuple[Signature, ...] = (
    _row(
        "servable-not-found",
        r"servable not found for request|could not find (?:any versions of model|version \d{1,20} of model)",
        "version-unloaded",
        0.6,
        means="no such model or version is loaded",
        source="server_core.cc",
    ),
    _row(
        "label-unknown",
        r"unrecognized servable version label",
        "version-unloaded",
        0.6,
        means="no version carries that label: the models' configuration does not assign it",
        source="server_core.cc",
    ),
    _row(
        "unloading",
        r"(?:quiescing|unloading|done unloading|finished unloading) servable(?: version)? \{",
        None,
        0.0,
        means="the server takes a version out in order",
        source="loader_harness.cc",
    ),
    _row(
        "ended-in-order",
        r"[\"']?state[\"']?: ?[\"']?END[\"']?.{0,60}?error_code[\"']?: ?[\"']?OK\b",
        None,
        0.0,
        means="END with OK: the version was unloaded in order",
        source="get_model_status_impl.cc",
    ),
    _row(
        "ended-in-error",
        r"[\"']?state[\"']?: ?[\"']?END[\"']?.{0,60}?error_code[\"']?: ?[\"']?(?!OK\b)[A-Z_]{4,30}",
        "model-load-failed",
        0.6,
        means="END with an error: the version failed to load and is not tried again",
        source="get_model_status_impl.cc; issue 1738",
    ),
    _row(
        "version-available",
        r"[\"']?version[\"']?: ?[\"']?(?P<version>\d{1,20})[\"']?,? ?[\"']?state[\"']?: ?[\"']?AVAILABLE",
        None,
        0.0,
        means="a version is loaded and serves",
        source="get_model_status_impl.cc",
    ),
    _row(
        "reload-call",
        r"handlereloadconfigrequest|reloadconfig(?:request|response)?\b|reload(?:ing)? (?:the )?(?:model )?config",
        None,
        0.0,
        means="somebody asked the server to read its configuration again",
        source="model_service_impl.cc; issues 1519, 1801",
    ),
)

DEVICES: tuple[Signature, ...] = (
    _tf(
        "driver-too-old",
        r"cuda driver version is insufficient for cuda runtime|device kernel image is invalid|no kernel image is available for execution"
        r"|compiled with an unsupported toolchain|cuda_error_system_driver_mismatch|cuda_error_unsupported_ptx_version"
        r"|forward compatibility was attempted on non supported|unsatisfied condition: cuda|kernel version \S{1,40} does not match dso"
        r"|cuda_error_compat_not_supported|cudaerrorinsufficientdriver",
        "cuda-driver-mismatch",
        0.95,
        means="the image's CUDA runtime needs a newer driver than the instance has",
        source="CUDA runtime; tensorflow issues",
    ),
    _tf(
        "jit",
        r"not built with cuda kernel binaries compatible with compute capability|jit-compiled from ptx",
        "gpu-kernels-jit",
        0.93,
        means="the image has no kernels for this card and compiles them at every first use",
        source="gpu_device.cc; issue 1663",
    ),
    _tf(
        "no-gpu-device",
        r"cannot dlopen some gpu libraries|skipping registering gpu devices|cuda_error_no_device|no cuda-capable device"
        r"|could not find cuda drivers on your machine|could not load dynamic library '?lib(?:cu|nv)|gpu will not be used"
        r"|ignoring visible gpu device",
        "gpu-unused",
        0.88,
        means="TensorFlow does not open the GPU and computes on the CPU",
        source="gpu_device.cc, dso_loader.cc; issue 1392",
    ),
    _tf(
        "gpu-device",
        r"created (?:tensorflow )?device .{0,80}\bgpu:\d",
        None,
        0.0,
        means="TensorFlow has opened the GPU",
        source="gpu_device.cc",
    ),
)

TABLE: tuple[Signature, ...] = (*REFUSALS, *LOADING, *CONFIGURATION, *VERSIONS, *DEVICES)
