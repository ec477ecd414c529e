"""A monitoring config as people have it. Pure."""

from shared.tfserving.form_names import Vocabulary
from shared.tfserving.form_reading import read_form
from shared.tfserving.monitoring import MonitoringConfig, parse_monitoring
from shared.tfserving.reading import Reading

_VOCABULARY = Vocabulary(
    {
        "MonitoringConfig": {
            "enable": ("prometheus_config", "enable"),
            "path": ("prometheus_config", "path"),
            "prometheus": ("prometheus_config",),
        },
        "PrometheusConfig": {"enabled": ("enable",)},
    }
)


def read_monitoring_file(text: str) -> Reading[MonitoringConfig]:
    """The file's values, and what is wrong with its form; never raises for any text."""
    return read_form(text, root="MonitoringConfig", parse=parse_monitoring, vocabulary=_VOCABULARY).reading
