"""The file of --monitoring_config_file, and how TF Serving names its metrics for Prometheus.

Message as in monitoring_config.proto; names as in prometheus_exporter.cc. The page is served on the REST port only, as text without
HELP lines, and is a plain 404 unless `enable` is true.
"""

import re
from typing import Any

from pydantic import BaseModel, ConfigDict

from shared.tfserving.descriptors import new_message
from shared.tfserving.faults import Fault, Found
from shared.tfserving.fields import Utf8
from shared.tfserving.text import ConfigTextError, read_text, write_fields

PROMETHEUS_PATH = "/monitoring/prometheus/metrics"
"""Where the page is when the file names no path."""

_NOT_IN_A_METRIC_NAME = re.compile(r"[^a-zA-Z0-9_]")
_NOT_IN_A_LABEL_NAME = re.compile(r"[^a-zA-Z0-9]")

_MISREAD_FIELDS = {
    "enable": "It stands inside prometheus_config: prometheus_config { enable: true }.",
    "path": f'It stands inside prometheus_config: prometheus_config {{ enable: true path: "{PROMETHEUS_PATH}" }}.',
    "enabled": "The field is enable.",
}


class MonitoringTextError(ConfigTextError):
    """The text is no MonitoringConfig file."""


class PrometheusConfig(BaseModel):
    """Whether there is a page for Prometheus, and where; an empty path is the default one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enable: bool = False
    path: Utf8 = ""

    def served_path(self) -> str | None:
        """Where the page is, None where there is none."""
        return (self.path or PROMETHEUS_PATH) if self.enable else None


class MonitoringConfig(BaseModel):
    """The whole file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prometheus_config: PrometheusConfig | None = None


def parse_monitoring(text: str) -> MonitoringConfig:
    """Read the file's text.

    Raises:
        MonitoringTextError: TF Serving would refuse the file.
    """
    message = new_message("MonitoringConfig")
    read_text(text, message, MonitoringTextError, _MISREAD_FIELDS)
    if not message.HasField("prometheus_config"):
        return MonitoringConfig()
    prometheus: Any = message.prometheus_config
    return MonitoringConfig(prometheus_config=PrometheusConfig(enable=prometheus.enable, path=prometheus.path))


def format_monitoring(config: MonitoringConfig) -> str:
    """The file's text."""
    message = new_message("MonitoringConfig")
    if config.prometheus_config is not None:
        message.prometheus_config.enable = config.prometheus_config.enable
        message.prometheus_config.path = config.prometheus_config.path
        message.prometheus_config.SetInParent()
    return write_fields(message)


def faults(config: MonitoringConfig) -> list[Fault]:
    """What the server does not check: whether there will be a page at all."""
    prometheus = config.prometheus_config
    if prometheus is None or not prometheus.enable:
        return [Fault("enable", None, "Metrics stay off: a request for the page is answered 404.", None, Found.NEVER)]
    if prometheus.path and not prometheus.path.startswith("/"):
        return [Fault("path", prometheus.path, "A request's path starts with a slash: the page is never found.", None, Found.NEVER)]
    return []


def exported_name(internal: str) -> str:
    """The name on the page: `/tensorflow/serving/request_count` is `:tensorflow:serving:request_count`."""
    name = _NOT_IN_A_METRIC_NAME.sub(":", internal)
    return f"_{name}" if name[:1].isdigit() else name


def exported_label(internal: str) -> str:
    """A label's name on the page; here the rest becomes an underscore."""
    name = _NOT_IN_A_LABEL_NAME.sub("_", internal)
    return f"_{name}" if name[:1].isdigit() else name
