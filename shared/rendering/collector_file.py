"""The metrics sidecar's own file: where TF Serving's metrics are, and which of them are kept.

Metric names are kept as TF Serving exports them, the leading colon included: the collector looks a metric's type up by its
exported name, so a renamed histogram would arrive without its type. Only what Trimtab and dashboards read is kept: Managed
Prometheus bills by the sample.
"""

from shared.tfserving.command import REST_PORT
from shared.tfserving.monitoring import PROMETHEUS_PATH

NAME = "collector"
IMAGE_NAME = "cloud-run-gmp-sidecar"
IMAGE = f"us-docker.pkg.dev/cloud-ops-agents-artifacts/cloud-run-gmp-sidecar/{IMAGE_NAME}:1.2.0"
CONFIG_FOLDER = "/etc/rungmp"
VOLUME = "trimtab-collector"
VOLUME_SIZE = "1Mi"
INTERVAL_SECONDS = 30
CPU = "1"
MEMORY = "512Mi"
"""Its own share, billed beside the serving container's: the least Cloud Run's second generation takes."""
LIVENESS_PORT = 13_133
LIVENESS_PATH = "/liveness"
LIVENESS_SECONDS = 30
"""Of its period, and of its timeout: the answer is held back for five seconds on purpose, so that a throttled collector gets to send."""

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
