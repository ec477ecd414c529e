"""The `trimtab` command in this process, and a simulated Cloud Run for it that it reaches as it would reach Google."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner, Result

from cli.main import app
from shared.local.cloud_run_door import CloudRunDoor
from shared.local.cloud_run_rest import CloudRunRest
from shared.simulation.cloud_run import SimulatedCloudRun

SERVICES = Path(__file__).parents[1] / "fixtures" / "services"
"""Documents of varied services, v1 and v2."""
PROJECT, REGION = "acme-ml", "europe-west4"
"""Of all of them."""
NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
RANKER: dict[str, Any] = {
    "service": "acme-ml:europe-west1:ranker",
    "spec": {
        "scale": {"min_instance_count": 1, "max_instance_count": 6},
        "serving": {
            "image": "tensorflow/serving:2.20.0-gpu",
            "model": {"name": "ranker", "uri": "gs://acme-models/ranker", "version": 42},
            "accelerator": "nvidia-l4",
            "gpu_zonal_redundancy": False,
            "cpu": 4,
            "memory": "16Gi",
            "timeout_seconds": 30,
        },
    },
}
"""A spec's file as data."""


def trimtab(*arguments: object, environment: Mapping[str, str | None] | None = None) -> Result:
    """Run the command; settings of whoever runs the tests do not count."""
    cleared = {"TRIMTAB_PROJECT": None, "GOOGLE_CLOUD_PROJECT": None}
    return CliRunner().invoke(app, [str(each) for each in arguments], env={**cleared, **(environment or {})})


def spec_file(folder: Path, name: str = "spec.yaml", /, **serving: Any) -> Path:
    """The typical spec in a file, with fields of `spec.serving` changed."""
    data = {**RANKER, "spec": {**RANKER["spec"], "serving": {**RANKER["spec"]["serving"], **serving}}}
    path = folder / name
    path.write_text(yaml.safe_dump(data))
    return path


def plan_of(
    spec: Path, document: Path | None = None, *options: object, environment: Mapping[str, str | None] | None = None
) -> dict[str, Any]:
    """The plan as data."""
    against = () if document is None else ("--against", document)
    done = trimtab("plan", spec, *against, "--format", "json", *options, environment=environment)
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@contextmanager
def simulated(cloud_run: SimulatedCloudRun) -> Iterator[dict[str, str | None]]:
    """The environment in which the command talks to this simulated Cloud Run."""
    with CloudRunDoor(cloud_run) as door, CloudRunRest(cloud_run) as rest:
        yield {
            "TRIMTAB_CLOUD_RUN_ENDPOINT": door.endpoint,
            "TRIMTAB_CLOUD_RUN_REST_ENDPOINT": rest.base_url.removeprefix("http://"),
        }
