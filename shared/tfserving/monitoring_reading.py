"""A monitoring config as people have it. Pure."""

from shared.tfserving.monitoring import MonitoringConfig
from shared.tfserving.reading import Reading


def read_monitoring_file(text: str) -> Reading[MonitoringConfig]:
    """The file's values, and what is wrong with its form; never raises for any text."""
    raise NotImplementedError(text)
