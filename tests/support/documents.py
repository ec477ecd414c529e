"""Documents of services as plain data."""

from pathlib import Path
from typing import Any

import yaml


def loaded(path: Path) -> Any:
    """What the YAML or JSON file holds; dates as the texts that they were."""
    return yaml.load(path.read_text(), _Plain)  # noqa: S506 (a SafeLoader without dates)


class _Plain(yaml.SafeLoader):
    pass


_Plain.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
