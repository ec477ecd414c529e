"""Codes about start-up, liveness and readiness probes. Pure."""

from shared.lint.code import Code
from shared.lint.sources import PROBES_PAGE, REFUSALS, pull_request, serving_issue, serving_source, sources

PROBE_CODES: tuple[Code, ...] = (
    Code(
        name="startup-window-too-short",
        severity="error",
        title="The start-up probe gives up before the model is loaded",
        when="The stated time from the container's start to the open port is not shorter than the probe's initial delay plus period "
        "times failure threshold. Without a probe the window is 240 s.",
        not_when="Services whose start time is not stated; a window longer than the start.",
        why="Cloud Run kills the instance while it still loads, on every try: `STARTUP TCP probe failed ... DEADLINE_EXCEEDED`. "
        "`--timeout` is the request timeout and changes nothing here.",
        fix="A TCP probe that tries often and long: every 10 s, at least one and a half times as often as the start needs. The window "
        "may be 600 s, with a GPU 1800 s.",
        example="gcloud run services update ranker \\\n  --startup-probe=tcpSocket.port=8500,periodSeconds=10,failureThreshold=60",
        authority=sources(PROBES_PAGE, pull_request("observ-ing/core", 177)),
    ),
    Code(
        name="startup-probe-single-attempt",
        severity="error",
        title="The start-up probe has one try only",
        when="An HTTP or gRPC start-up probe with a failure threshold of 1.",
        not_when="The TCP probe that Cloud Run adds by itself (timeout 240 s, period 240 s, threshold 1): it waits for the port to open.",
        why="The server opens its ports when all models are loaded. Until then a connection is refused, and a refused connection is a "
        "failed try at once, whatever the timeout: such a revision was given up 0.22 s after its start.",
        fix="A short period and a high threshold, or a TCP probe.",
        example="gcloud run services update ranker \\\n  --startup-probe=tcpSocket.port=8501,periodSeconds=10,failureThreshold=60",
        authority=sources(PROBES_PAGE, "a public log of a failed deployment with such a probe"),
    ),
    Code(
        name="probe-path-not-served",
        severity="error",
        title="TensorFlow Serving answers 404 to this probe",
        when="An HTTP probe asks the gRPC port, or asks the REST port for a path that it does not have. It has `/v1/models/<name>` of a "
        "served model, with `/versions/<number>` or `/labels/<label>` and `/metadata` behind it, and the metrics' path where monitoring "
        "is on.",
        not_when="Paths on ports of sidecars, and model names that are not known.",
        why="`/`, `/health`, `/healthz` and names of models that are not served get 404 for ever: the revision does not start, or "
        "healthy instances are restarted.",
        fix="Ask for the model's status on the REST port, or use a TCP probe for the start.",
        example="gcloud run services update ranker \\\n  --startup-probe=httpGet.path=/v1/models/ranker,failureThreshold=60",
        authority=sources(serving_source("http_rest_api_util.cc"), serving_issue(1754)),
    ),
    Code(
        name="probe-grpc-health-disabled",
        severity="error",
        title="The gRPC health service is not switched on",
        when="A gRPC probe, and the server's flags do not have `--enable_grpc_healthcheck_service`.",
        not_when="The flag is set, or the server's flags are not known.",
        why="The server has the health service since 2.15 and leaves it off; the probe gets UNIMPLEMENTED and fails every time.",
        fix="Add the flag, or use a TCP probe for the start.",
        example="--enable_grpc_healthcheck_service=true",
        authority=serving_source("server.h", "main.cc"),
    ),
    Code(
        name="status-probe-blind",
        severity="info",
        title="The model's status does not show a GPU that fails",
        when="An HTTP liveness probe on `/v1/models/...`.",
        not_when="The same path as a start-up probe.",
        why="The status stays 200 and AVAILABLE while every prediction fails because the GPU is out of memory, and each probe counts as "
        "an OK request in `:tensorflow:serving:request_count`, which hides errors.",
        fix="Watch the ratio of errors instead; no probe of the server shows it.",
        example='sum(rate(:tensorflow:serving:request_count{status!="OK"}[5m]))\n  / sum(rate(:tensorflow:serving:request_count[5m]))',
        authority=sources(serving_issue(2066), serving_source("http_server.cc")),
    ),
    Code(
        name="load-retries-outlive-probe",
        severity="info",
        title="The reason of a failed load comes after the probe gave up",
        when="`--max_num_load_retries` times `--load_retry_interval_micros` (5 times 60 s if not set) is longer than the start-up window "
        "(240 s without a probe).",
        not_when="`--max_num_load_retries=0`, or a window longer than all tries.",
        why="A model that cannot be loaded is tried again and again; the instance is killed before the server says why, and the log ends "
        "with the probe's failure.",
        fix="Let the server leave at the first failure: the error is then in the log within seconds.",
        example="--max_num_load_retries=0",
        authority=sources(serving_source("server.h"), serving_issue(1099)),
    ),
    Code(
        name="probe-liveness-tcp",
        severity="error",
        title="Only a start-up probe can be a TCP probe",
        when="A liveness or readiness probe of the kind TCP.",
        not_when="A TCP start-up probe, which suits TensorFlow Serving best.",
        why="gcloud refuses the command: `Key [tcpSocket.port] not recognized for liveness probe.` The API refuses the document.",
        fix="Leave the probe out, or make it HTTP or gRPC.",
        example="gcloud run services update ranker \\\n  --liveness-probe=httpGet.path=/v1/models/ranker,periodSeconds=60",
        authority=sources("gcloud 528's parser", REFUSALS, PROBES_PAGE),
    ),
)
