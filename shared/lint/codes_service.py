"""Codes about the Cloud Run service around the server: limits, document, ports, names. Pure."""

from shared.lint.code import Code
from shared.lint.sources import (
    ADMIN_API,
    CONTRACT_PAGE,
    REFUSALS,
    google_docs,
    pull_request,
    serving_source,
    sources,
    thread,
)

SERVICE_CODES: tuple[Code, ...] = (
    Code(
        name="cloud-run-limit",
        severity="error",
        title="A value is outside what Cloud Run allows",
        when="Concurrency above 1000; a request timeout above 3600 s; more minimum than maximum instances; a start-up probe's initial "
        "delay, period or timeout above 240 s; a probe whose timeout is longer than its period.",
        not_when="A start-up probe that may fail for longer than 240 s in all, such as 60 times every 10 s: the limit holds for each of "
        "its times, a long window is a high `failureThreshold`.",
        why="Cloud Run refuses the call: `Must be a number between 0 and 1000`, `maximum allowed time is one hour`, `must be greater "
        "than or equal to min_instance_count`. A probe's timeout above its period it accepts, and then starts a try before the last one "
        "ended.",
        fix="Stay inside the limit.",
        example="gcloud run services update ranker --concurrency=128 --timeout=3600",
        authority=sources(ADMIN_API, CONTRACT_PAGE, REFUSALS),
    ),
    Code(
        name="service-document-invalid",
        severity="error",
        title="Cloud Run does not take this service document",
        when="The document is no Cloud Run service that can be read; traffic percents do not add up to 100; a traffic tag stands twice; "
        "more than one container has ports; or a document of the v2 API has labels or annotations below `run.googleapis.com`, "
        "`cloud.googleapis.com`, `serving.knative.dev` or `autoscaling.knative.dev`. Likewise whatever else Cloud Run refuses at once: "
        "names, the order of containers, volumes, too many variables or arguments, a probe without an action or with two.",
        not_when="The same annotations in a v1 (Knative) document, which is where they belong; traffic that is left out.",
        why="Cloud Run refuses it: `should be 100`, `may not contain a duplicate tag`, `exactly one container with an exposed port`, "
        "`system annotations are not supported`.",
        fix="In a v2 document use the field that means the same; let the percents add up to 100.",
        example="traffic:   # of a v2 document; in v1 it is revisionName\n"
        "- type: TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION\n"
        "  revision: ranker-00041-abc\n"
        "  percent: 90\n"
        "- type: TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION\n"
        "  revision: ranker-00042-def\n"
        "  percent: 10",
        authority=sources(REFUSALS, ADMIN_API),
    ),
    Code(
        name="revision-name-fixed",
        severity="warning",
        title="The document names its revision",
        when="A service document carries a revision name: `spec.template.metadata.name` in v1, `template.revision` in v2.",
        not_when="Revision names under `traffic`, and the service's own name.",
        why="The first apply works. Every later one with any change in the template is refused with 409: `Revision named "
        "'ranker-00042-def' with different configuration already exists.`",
        fix="Delete the name; Cloud Run makes one for each revision. Documents exported with `gcloud run services describe` carry it.",
        example="template:\n  revision: ''   # v2; in v1 delete spec.template.metadata.name",
        authority=thread("googleapis/google-cloud-python", 14259),
    ),
    Code(
        name="port-not-listening",
        severity="error",
        title="Nothing listens on the port that Cloud Run uses",
        when="The container port, or a probe's port, is none that the server opens. The image's entry point opens 8500 (gRPC) and 8501 "
        "(REST), the flags `--port` and `--rest_api_port` others. Without a port of its own a service has 8080.",
        not_when="Images and commands of which it is not known what they listen on.",
        why="The instance never becomes ready: `The user-provided container failed to start and listen on the port defined provided by "
        "the PORT=8080 environment variable`. The server does not read PORT.",
        fix="Name the server's port to Cloud Run: 8500 with HTTP/2 for gRPC, or 8501 for REST. A service exposes one of the two.",
        example="gcloud run services update ranker --port=8500 --use-http2\ngcloud run services update ranker --port=8501 --no-use-http2",
        authority=sources(CONTRACT_PAGE, pull_request("tensorflow/serving", 1540), serving_source("tools/docker/Dockerfile.gpu")),
    ),
    Code(
        name="h2c-mismatch",
        severity="error",
        title="HTTP/2 is off for gRPC, or on for REST",
        when="The container port is the server's gRPC port and HTTP/2 is off (neither `--use-http2` nor the port name `h2c`), or it is "
        "the REST port and HTTP/2 is on.",
        not_when="REST with the port name `http1` or none; HTTP/2 between client and Cloud Run, which needs no setting.",
        why="The instance starts and every request fails: gRPC needs HTTP/2 up to the container, and the server's REST port speaks "
        "HTTP/1 only. Clients see `upstream connect error` or `Trying to connect an http1.x server`.",
        fix="Switch HTTP/2 on with the gRPC port, off with the REST port.",
        example="gcloud run services update ranker --port=8500 --use-http2",
        authority=sources(ADMIN_API, thread("GoogleCloudPlatform/cloud-run-samples", 223)),
    ),
    Code(
        name="env-reserved",
        severity="error",
        title="Cloud Run sets this environment variable itself",
        when="The container's environment sets PORT, K_SERVICE, K_REVISION or K_CONFIGURATION.",
        not_when="Names that only contain these words, such as MODEL_PORT.",
        why="Cloud Run refuses the call: `reserved env names were provided: PORT`.",
        fix="Take the variable out. The port is set with `--port` (`containerPort` in a document).",
        example="gcloud run services update ranker --remove-env-vars=PORT --port=8501",
        authority=REFUSALS,
    ),
    Code(
        name="timeout-order",
        severity="warning",
        title="Cloud Run gives up before the server's REST timeout",
        when="The server is reached over REST, and Cloud Run's request timeout (300 s if not set) is not longer than "
        "`--rest_api_timeout_in_ms` (30000 if not set).",
        not_when="gRPC services: there the caller's own deadline holds and the flag has no effect.",
        why="Cloud Run answers 504 while the server still computes: the work is lost, the GPU stays busy with it, and the server's own "
        "message never reaches the client.",
        fix="Keep the server's timeout below the request timeout.",
        example="gcloud run services update ranker --timeout=60\n--rest_api_timeout_in_ms=50000   # a flag of the server",
        authority=sources(serving_source("server.h"), google_docs("Cloud Run request timeout", "configuring/request-timeout")),
    ),
)
