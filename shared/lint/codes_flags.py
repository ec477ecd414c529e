"""Codes about the flags of tensorflow_model_server. Pure."""

from shared.lint.code import Code
from shared.lint.sources import serving_issue, serving_source, sources

_FLAGS = serving_source("main.cc", "server.h")

FLAG_CODES: tuple[Code, ...] = (
    Code(
        name="batching-not-enabled",
        severity="error",
        title="The batching file is not in use",
        when="`--batching_parameters_file` without `--enable_batching`; or a batching file is given, the server's flags are known, and "
        "`--batching_parameters_file` is not among them.",
        not_when="`--enable_batching` without a file: the server batches with its defaults.",
        why="In the first case the server does not start: `server_options.batching_parameters_file is set without setting "
        "server_options.enable_batching to true.` In the second the file has no effect.",
        fix="Pass both flags.",
        example="--enable_batching=true\n--batching_parameters_file=/etc/tfs/batching.txt",
        authority=_FLAGS,
    ),
    Code(
        name="batching-off-on-gpu",
        severity="warning",
        title="A GPU serves one request at a time",
        when="A service with a GPU whose server flags are known, without `--enable_batching` and without a batching file, with a "
        "concurrency other than 1 and fewer than 8 rows per request.",
        not_when="Concurrency 1, and requests of 8 rows or more: they bring their own batch.",
        why="Each request runs alone on the card. A batch of 32 rows takes far less than 32 times as long as one row, so most of the GPU "
        "is paid for and not used.",
        fix="Switch batching on with a small file. The model's inputs and outputs need the batch as first dimension.",
        example="--enable_batching=true\n--batching_parameters_file=/etc/tfs/batching.txt",
        authority=serving_issue(1460),
    ),
    Code(
        name="per-model-batching-incomplete",
        severity="warning",
        title="Batching per model is switched on and not complete",
        when="`--enable_per_model_batching_parameters` without `--enable_batching`; or a served version in the listing has no "
        "`batching_params.pbtxt`; or the global file has more than `num_batch_threads` and `thread_pool_name`.",
        not_when="Every served version has the file, and the global one only those two fields.",
        why="The flag alone does nothing. A version without the file is served without batching, in silence. Of the global file only "
        "those two fields count then.",
        fix="Put `batching_params.pbtxt` beside `saved_model.pb` in every version, and switch batching on.",
        example="gcloud storage cp batching_params.pbtxt gs://acme-models/ranker/42/",
        authority=serving_source("server.cc", "saved_model_bundle_source_adapter.cc"),
    ),
    Code(
        name="server-flag-invalid",
        severity="error",
        title="tensorflow_model_server does not understand this argument",
        when="A flag that the server does not have (`--max_batch_size`, `--num_batch_threads`, `--grpc_port` and others), a value after "
        "a space instead of an equals sign, or a value that is no number or boolean where one is due.",
        not_when="`--enable_batching` without a value, `=true`, `=1`.",
        why="An unknown argument does not stop the server: it prints `unknown argument`, then its usage, and goes on without the "
        "setting. A value that it cannot read does: exit status 255.",
        fix="Write `--flag=value` with the real name. Batch sizes, timeouts and threads go in the batching file.",
        example="--enable_batching=true\n--batching_parameters_file=/etc/tfs/batching.txt",
        authority=sources(_FLAGS, serving_issue(1440), serving_issue(1413)),
    ),
    Code(
        name="server-flag-conflict",
        severity="error",
        title="Two flags of the server exclude each other",
        when="`--platform_config_file` with `--enable_batching`; `--tensorflow_session_parallelism` together with both "
        "`--tensorflow_intra_op_parallelism` and `--tensorflow_inter_op_parallelism`; the same number for `--port` and "
        "`--rest_api_port`.",
        not_when="Session parallelism alone, or the other two without it; `--rest_api_port=0`, which is off.",
        why="A platform file makes the server ignore the batching flags. All three parallelism flags end the start: `You cannot "
        "configure all.` With equal ports REST is left out, with one line in the log.",
        fix="Keep one side.",
        example="--port=8500\n--rest_api_port=8501",
        authority=sources(_FLAGS, serving_issue(836)),
    ),
    Code(
        name="grpc-threads-below-concurrency",
        severity="warning",
        title="The server has too few gRPC threads for the concurrency",
        when="The service is reached over gRPC, and `--grpc_max_threads` (4 per vCPU if not set) is below concurrency + 8.",
        not_when="REST services; and a concurrency that leaves 8 threads over.",
        why="Calls beyond the threads are refused before the model server sees them: RESOURCE_EXHAUSTED with empty details or `Server "
        "Threadpool Exhausted`. They are in no metric of the server, CPU and GPU look idle, and Cloud Run adds no instance. 4 vCPU have "
        "16 threads.",
        fix="At least concurrency + 8; the server keeps some threads for itself.",
        example="# for a concurrency up to 120\n--grpc_max_threads=128",
        authority=sources(serving_source("server.h", "server.cc"), serving_issue(1795)),
    ),
    Code(
        name="rest-threads-below-concurrency",
        severity="warning",
        title="The server has too few REST threads for the concurrency",
        when="The service is reached over REST, and `--rest_api_num_threads` (4 per vCPU if not set) is below concurrency + 2, or 1.",
        not_when="gRPC services; and a concurrency that leaves 2 threads over.",
        why="Requests beyond the threads wait in a queue of the HTTP server that has no bound and no metric, and batches never see more "
        "rows than there are threads. With one thread REST stands still: it runs the event loop.",
        fix="At least concurrency + 2.",
        example="# for a concurrency up to 126\n--rest_api_num_threads=128",
        authority=sources(serving_source("server.h", "http_server.cc"), serving_issue(1576)),
    ),
    Code(
        name="poll-wait-invalid",
        severity="error",
        title="The poll interval keeps models from being loaded or reloaded",
        when="`--file_system_poll_wait_seconds` is negative; or it is 0 and `--model_config_file_poll_wait_seconds` is above 0.",
        not_when="0 without a reload of the configuration: the models are read once, at the start.",
        why="A negative value loads nothing, ever. With 0 a reload waits for a poll that never comes.",
        fix="0 where each revision has its own model version, else 60 or more.",
        example="--file_system_poll_wait_seconds=0",
        authority=sources(serving_issue(1295), serving_issue(1519)),
    ),
    Code(
        name="poll-costly",
        severity="warning",
        title="The bucket is listed too often",
        when="The model's base path is `gs://` or `s3://`, the server's flags are known, and `--file_system_poll_wait_seconds` (1 if not "
        "set) is between 1 and 59.",
        not_when="0, or 60 and more; local paths.",
        why="Each poll lists everything below the base path, for each model and instance, every second by default: one report counts 130 "
        "dollars a month for one model.",
        fix="0 with one version per revision, or 60 and more.",
        example="--file_system_poll_wait_seconds=60",
        authority=sources(serving_issue(1916), serving_issue(1291)),
    ),
    Code(
        name="gpu-memory-fraction-low",
        severity="warning",
        title="The server may use only a part of the GPU's memory",
        when="A service with a GPU, and `--per_process_gpu_memory_fraction` is above 0 and below 0.9.",
        not_when="The flag left out or 0, which takes nearly all; 0.9 and above.",
        why="On Cloud Run one instance owns the whole card. What is left out is used by nobody, and batches run out of memory earlier.",
        fix="Leave the flag out.",
        example="--per_process_gpu_memory_fraction=0",
        authority=sources(serving_source("server.h"), serving_issue(1460)),
    ),
    Code(
        name="monitoring-not-served",
        severity="error",
        title="The metrics have no port, or their file is not found or switches nothing on",
        when="`--monitoring_config_file` without a REST port, or with a relative path. Or a monitoring file that does not parse, that "
        "enables nothing (`prometheus_config { enable: true }` is missing), or whose `path` does not start with a slash.",
        not_when="Images started by their own entry point: it opens REST on 8501. A file without `path`: it has a default.",
        why="The metrics are served on the REST port; without it nothing is. With a path that is not found the server ends after its "
        "gRPC port had opened.",
        fix="Open the REST port beside gRPC, give an absolute path, and enable Prometheus in the file.",
        example="--rest_api_port=8501\n--monitoring_config_file=/etc/tfs/monitoring.config",
        authority=sources(_FLAGS, serving_issue(462), serving_issue(1863)),
    ),
    Code(
        name="version-labels-need-allow-flag",
        severity="error",
        title="Version labels at the start need a flag",
        when="The models file has `version_labels`, the server's flags are known, and `--allow_version_labels_for_unavailable_models` is "
        "not among them.",
        not_when="The flag is set, or there are no labels.",
        why="At the start no version is available yet, and a label may not point at one that is not: `Request to assign label to version "
        "42 of model ranker, which is not currently available for inference`. The server does not start.",
        fix="Set the flag on every instance.",
        example="--allow_version_labels_for_unavailable_models=true",
        authority=sources(serving_issue(1230), _FLAGS),
    ),
    Code(
        name="model-source-missing",
        severity="error",
        title="The server is not told where its models are",
        when="The command replaces the image's entry point, and neither `--model_base_path` nor `--model_config_file` is passed.",
        not_when="The image's own entry point: it passes MODEL_BASE_PATH and MODEL_NAME.",
        why="The server ends at once: `Both server_options.model_base_path and server_options.model_config_file are empty!`",
        fix="Pass one of the two.",
        example="--model_name=ranker\n--model_base_path=gs://acme-models/ranker",
        authority=_FLAGS,
    ),
)
