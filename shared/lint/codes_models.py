"""Codes about models.config, the models' files, and queries of metrics. Pure."""

from shared.lint.code import Code
from shared.lint.sources import LOADER, TEXT_FORMAT, serving_issue, serving_source, sources, thread

_CONFIG = serving_source("model_server_config.proto", "file_system_storage_path_source.proto")
_CORE = serving_source("server_core.cc")
_ONE_MODEL = (
    "model_config_list {\n"
    "  config {\n"
    '    name: "ranker"\n'
    '    base_path: "gs://acme-models/ranker"\n'
    '    model_platform: "tensorflow"\n'
    "    model_version_policy { specific { versions: 42 } }\n"
    "  }\n"
    "}"
)

MODELS_FILE_CODES: tuple[Code, ...] = (
    Code(
        name="models-file-syntax",
        severity="error",
        title="The models file is not in protobuf's text format",
        when="The file does not parse: JSON or YAML, `version_labels: {stable: 41}`, two version policies for one model. Unknown fields "
        "have a code of their own.",
        not_when="`#` comments, several `config` blocks, an empty `model_config_list`.",
        why="The server does not start: `Failed to start server. Error: INVALID_ARGUMENT: Invalid protobuf file`, exit status 255.",
        fix='Write protobuf\'s text format. A label is `version_labels { key: "stable" value: 41 }`.',
        example=_ONE_MODEL,
        authority=sources(TEXT_FORMAT, _CONFIG),
    ),
    Code(
        name="models-unknown-field",
        severity="error",
        title="The models file has a field that does not exist",
        when="A field that ModelServerConfig or ModelConfig does not have: `batching_parameters`, `version_policy`, `max_batch_size` and "
        "others.",
        not_when="`model_version_policy`, `version_labels`, `logging_config`: they exist.",
        why='The file does not parse: `Message type "tensorflow.serving.ModelConfig" has no field named "batching_parameters"`, and the '
        "server does not start. Batching has never been part of this file.",
        fix="Move batching to the file of `--batching_parameters_file`; use the real name of other fields.",
        example=_ONE_MODEL,
        authority=_CONFIG,
    ),
    Code(
        name="models-platform-invalid",
        severity="error",
        title='model_platform is not "tensorflow"',
        when='`model_platform` of a model is missing or not exactly `"tensorflow"`, and there is no `--platform_config_file`.',
        not_when="Other platforms together with a platform file that defines them.",
        why="The server does not start: `Model ranker requests unsupported platform tensorflow_serving`, or `Illegal setting neither "
        "ModelServerConfig::model_type (deprecated) nor ModelServerConfig::model_platform`.",
        fix='Write `model_platform: "tensorflow"`.',
        example=_ONE_MODEL,
        authority=_CORE,
    ),
    Code(
        name="models-entry-invalid",
        severity="error",
        title="A model's name or path cannot be used",
        when="A model has no name, or one that stands twice; or its `base_path` is missing, or neither absolute nor a URI.",
        not_when="`/models/ranker`, `gs://acme-models/ranker`; the same path under two names.",
        why="The server does not start: `Illegal to list model ranker multiple times in config list`, `Expected model ranker to have an "
        "absolute path or URI; got base_path()=acme-models/ranker`.",
        fix="One entry per name, with an absolute path or a URI.",
        example=_ONE_MODEL,
        authority=_CORE,
    ),
    Code(
        name="models-all-versions",
        severity="warning",
        title="Every version stays loaded",
        when="A model's version policy is `all`.",
        not_when="`specific` or `latest`, with several versions too.",
        why="All versions below the path are held in memory and on the GPU, and each upload adds one, until one of them ends in `OOM "
        "when allocating tensor`.",
        fix="Name the version, one per revision; or `latest`.",
        example=_ONE_MODEL,
        authority=sources(_CONFIG, serving_issue(2017)),
    ),
)

MODEL_FILE_CODES: tuple[Code, ...] = (
    Code(
        name="model-no-integer-version",
        severity="error",
        title="No directory below the base path is a version",
        when="The listing has files below the base path, and no directory directly below it is an integer: `v1`, `0.1` and `1-tmp` are "
        "skipped.",
        not_when="`1`, `0001`, `1730000000`: each is a version.",
        why="The server waits for a version for ever, with a line in the log each second and without opening a port, until the start-up "
        "probe gives up.",
        fix="Name the directories with whole numbers; the highest is the latest.",
        example="gs://acme-models/ranker/42/saved_model.pb",
        authority=sources(serving_issue(1250), serving_issue(1419)),
    ),
    Code(
        name="model-base-path-is-version",
        severity="error",
        title="The base path is a version directory",
        when="`saved_model.pb` lies directly in the base path.",
        not_when="`saved_model.pb` one level below, in a directory with a whole number.",
        why="The server looks for versions below the path and finds none: `Did you forget to name your leaf directory as a number (eg. "
        "'/1/')?` No port opens.",
        fix="Pass the directory above the version; where there is none, put the model in a directory `1`.",
        example="# for gs://acme-models/ranker/42/saved_model.pb\n--model_base_path=gs://acme-models/ranker",
        authority=sources(serving_issue(266), thread("huaweicloud/dls-example", 11)),
    ),
    Code(
        name="model-partial-upload",
        severity="error",
        title="A version is not complete",
        when="A version directory has `saved_model.pb` or `variables/`, but not all of `saved_model.pb`, `variables/variables.index` and "
        "every shard `variables.data-00000-of-00002`; 0 bytes count as missing.",
        not_when="No `fingerprint.pb`, no `assets/`: they are optional.",
        why="Without `variables.index` the version loads, is AVAILABLE, and fails each request: `Could not find variable`. With a shard "
        "missing or short the load fails, six times in five minutes.",
        fix="Upload `saved_model.pb` last, under a new number; never into a directory that is served.",
        example="gcloud storage cp -r export/42/variables gs://acme-models/ranker/42/\n"
        "gcloud storage cp export/42/saved_model.pb gs://acme-models/ranker/42/",
        authority=sources(serving_issue(1086), LOADER),
    ),
    Code(
        name="model-version-absent",
        severity="error",
        title="The pinned version is not in the listing",
        when="A version of a `specific` policy has no directory in the listing.",
        not_when="Listings of other models; policies `latest` and `all`.",
        why="The server waits for the version and opens no port; one that is running unloads what is gone.",
        fix="Publish the version, or name one that is there.",
        example="model_version_policy { specific { versions: 42 } }",
        authority=sources(serving_issue(2189), serving_source("file_system_storage_path_source.cc")),
    ),
)

QUERY_CODES: tuple[Code, ...] = (
    Code(
        name="metric-query-invalid",
        severity="error",
        title="The alert asks for a metric or an aligner that does not exist",
        when="An alert policy or query names a metric of `run.googleapis.com` that does not exist (`container/cpu/utilization`, "
        "`container/gpu/utilization`, `container/concurrent_requests`), or an aligner that the metric does not take (ALIGN_MAX on a "
        "distribution).",
        not_when="Metrics of other services, and metrics of your own.",
        why="A filter for a name that does not exist matches nothing: the alert never fires and the chart stays empty, which looks like "
        "a quiet service.",
        fix="The names are plural, and distributions take percentiles.",
        example='metric.type = "run.googleapis.com/container/gpu/utilizations"\nperSeriesAligner: ALIGN_PERCENTILE_99',
        authority="list of Cloud Run's metrics, Google Cloud documentation "
        "(https://docs.cloud.google.com/monitoring/api/metrics_gcp_p_z); a public report of ALIGN_MAX being refused",
    ),
)
