"""The metrics sidecar: Google's Prometheus collector for Cloud Run, told where TF Serving's metrics are.

Its configuration (kind RunMonitoring) is a file at /etc/rungmp/config.yaml. Google's guide mounts it from Secret Manager; here the
serving container writes it into a small volume in memory that both mount, before its port opens, and the collector starts after
that. So it is part of the revision and needs no secret. (Sources: Google's guide on the Prometheus sidecar; the collector's own
confgenerator, which also reads the file again every 20 seconds.)

Metric names are kept as TF Serving exports them, the leading colon included: the collector looks a metric's type up by its
exported name, so a renamed histogram would arrive without its type. Only what Trimtab and dashboards read is kept: Managed
Prometheus bills by the sample.
"""

from google.cloud import run_v2

from shared.tfserving.command import REST_PORT
from shared.tfserving.monitoring import PROMETHEUS_PATH

IMAGE_NAME = "cloud-run-gmp-sidecar"
IMAGE = f"us-docker.pkg.dev/cloud-ops-agents-artifacts/cloud-run-gmp-sidecar/{IMAGE_NAME}:1.2.0"
CONFIG_FOLDER = "/etc/rungmp"
VOLUME = "trimtab-collector"
INTERVAL_SECONDS = 30
CPU = "1"
MEMORY = "512Mi"
"""Its own share, billed beside the serving container's: the least Cloud Run's second generation takes."""
LIVENESS_PORT = 13_133

KEPT_METRICS = (
    ":tensorflow:serving:(request_count|request_latency_.+|runtime_latency_.+|batching_session:.+)"
    "|:tensorflow:cc:saved_model:load_.+"
    "|:tensorflow:core:graph_(runs|run_time_usecs)"
)


def collector_config() -> str:
    """The collector's file."""
    return f"""apiVersion: monitoring.googleapis.com/v1beta
kind: RunMonitoring
metadata:
  name: tensorflow-serving
spec:
  endpoints:
  - port: {REST_PORT}
    path: {PROMETHEUS_PATH}
    interval: {INTERVAL_SECONDS}s
    metricRelabeling:
    - action: keep
      sourceLabels: [__name__]
      regex: '{KEPT_METRICS}'
"""


def collector_container(name: str, *, serving: str) -> run_v2.Container:
    """The sidecar of that name beside the container `serving`; it starts when that one is ready."""
    return run_v2.Container(
        name=name,
        image=IMAGE,
        depends_on=[serving],
        # The boost is one word for all containers of a revision in v1 and in gcloud: said here as well, all three forms agree.
        resources=run_v2.ResourceRequirements(limits={"cpu": CPU, "memory": MEMORY}, cpu_idle=False, startup_cpu_boost=True),
        liveness_probe=run_v2.Probe(
            http_get=run_v2.HTTPGetAction(path="/liveness", port=LIVENESS_PORT),
            # The answer is held back for five seconds on purpose, so that a throttled collector gets to send.
            timeout_seconds=30,
            period_seconds=30,
        ),
        volume_mounts=[run_v2.VolumeMount(name=VOLUME, mount_path=CONFIG_FOLDER)],
    )


def collector_volume() -> run_v2.Volume:
    """The volume that carries its file."""
    return run_v2.Volume(
        name=VOLUME, empty_dir=run_v2.EmptyDirVolumeSource(medium=run_v2.EmptyDirVolumeSource.Medium.MEMORY, size_limit="1Mi")
    )


def is_collector(container: run_v2.Container) -> bool:
    """Whether the container is Google's collector, whoever added it."""
    return f"/{IMAGE_NAME}:" in container.image or f"/{IMAGE_NAME}@" in container.image


def is_our_collector(container: run_v2.Container) -> bool:
    """Whether it is the one Trimtab wrote."""
    return is_collector(container) and any(mount.name == VOLUME for mount in container.volume_mounts)
