"""The `Prober` port on the simulated Cloud Run, in process: what its tagged addresses answer, without a network in between."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from shared.records.rollout import Probe
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.tfserving.predict import is_prediction, predict_path

IN_PROCESS = "http://simulated"
"""A base URL for addresses that nobody listens at: they are only answered here."""


class SimulatedProber:
    """Asks the simulated Cloud Run at its addresses (`<base>/urls/PROJECT/REGION/SERVICE[/TAG]`)."""

    def __init__(self, cloud_run: SimulatedCloudRun) -> None:
        self._cloud_run = cloud_run

    def predict(self, uri: str, *, model: str, body: Mapping[str, Any]) -> Probe:
        """POST the body to the model."""
        parts = urlsplit(uri).path.strip("/").split("/")
        if len(parts) not in {4, 5} or parts[0] != "urls":
            return Probe(ok=False, detail=f"{uri[:200]!r} is no address of the simulated Cloud Run")
        name = f"projects/{parts[1]}/locations/{parts[2]}/services/{parts[3]}"
        tag = parts[4] if len(parts) == 5 else ""  # noqa: PLR2004 (the tag is the fifth)
        reply = self._cloud_run.request(name, tag=tag, method="POST", path=predict_path(model), body=json.dumps(dict(body)))
        ok, detail = is_prediction(reply.status, reply.body)
        return Probe(ok=ok, detail=detail)
