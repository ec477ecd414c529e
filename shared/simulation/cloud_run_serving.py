"""What a revision of the simulated Cloud Run answers to a request: TF Serving's REST API, or Cloud Run in its place. Pure.

The answers of TF Serving are those of its http_rest_api_handler and http_server: paths, texts and HTTP codes. Predictions are
numbers made from the instances, the same for the same instance.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from google.cloud import run_v2

from shared.simulation.cloud_run_behaviour import Outcome, environment_of, port_of

MODEL_CONFIG_ENV = "TRIMTAB_MODEL_CONFIG"
"""The variable that holds the text of TF Serving's models.config, where a template has one."""
MISSING_VARIABLE = (
    "Could not find variable dense/kernel. This could mean that the variable has been deleted. In TF1, it can also mean the "
    "variable is uninitialized. Debug info: container=localhost, status error message=Resource localhost/dense/kernel/"
    "N10tensorflow3VarE does not exist."
)
"""TensorFlow's text for a SavedModel that was loaded without its variables: FAILED_PRECONDITION, 400 over REST."""

_PATH = re.compile(
    r"/v1/models/(?P<model>[^/:]+)(?:/(?:versions/(?P<version>\d+)|labels/(?P<label>[^/:]+)))?"
    r"(?::(?P<verb>classify|regress|predict)|(?P<metadata>/metadata))?",
    re.IGNORECASE,
)
_JSON = "application/json"
_HTML = "text/html"
_NOT_FOUND_PAGE = "<HTML><HEAD><TITLE>404 Not Found</TITLE></HEAD><BODY><H1>Not Found</H1></BODY></HTML>"


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer."""

    status: int
    content_type: str
    body: str


def answer(template: run_v2.RevisionTemplate, outcome: Outcome, *, method: str, path: str, body: str) -> Reply:
    """What a ready revision answers over HTTP/1.1.

    A revision whose port is named h2c takes HTTP/2 only: Cloud Run speaks HTTP/2 to it, and TF Serving's gRPC port closes the
    connection on a request that is no gRPC call. Users see Cloud Run's 503 for a broken connection then; that is what is answered.
    """
    if port_of(template).name == "h2c":
        return Reply(
            503,
            "text/plain",
            "The request failed because either the HTTP response was malformed or connection to the instance had an error.",
        )
    if not path.lower().startswith("/v1/"):
        return Reply(404, _HTML, _NOT_FOUND_PAGE)
    found = _PATH.fullmatch(path)
    verb = (found["verb"] or "").lower() if found else ""
    if found is None or method != ("POST" if verb else "GET"):
        return _error(400, f"Malformed request: {method} {path}")
    model, version = unquote(found["model"]), found["version"]
    missing = _missing(template, model, version, predicting=bool(verb))
    if missing is not None:
        return missing
    if not verb:
        return _metadata(model, version or _versions_of(template)[-1]) if found["metadata"] else _status(template, version)
    if outcome is Outcome.FAILS_TO_PREDICT:
        return _error(400, MISSING_VARIABLE)
    return _predict(body)


def no_such_tag() -> Reply:
    """An address with a tag that no traffic target has: Cloud Run's front end knows no such host."""
    return Reply(404, _HTML, "<html><head><title>404 Page not found</title></head><body><h1>Error: Page not found</h1></body></html>")


def not_ready() -> Reply:
    """No revision can take the request: Cloud Run's front end answers itself."""
    return Reply(503, "text/plain", "Service Unavailable")


def _error(status: int, text: str) -> Reply:
    return Reply(status, _JSON, json.dumps({"error": text}))


def _missing(template: run_v2.RevisionTemplate, model: str, version: str | None, *, predicting: bool) -> Reply | None:
    """Whether the server has that model and version; any name is taken where the template names none."""
    names = _models_of(template)
    if names and model not in names:
        if predicting:
            return _error(404, f"Servable not found for request: Latest({model})")
        return _error(404, f"Could not find any versions of model {model}")
    if version is not None and _states_versions(template) and version not in _versions_of(template):
        if predicting:
            return _error(404, f"Servable not found for request: Specific({model}, {version})")
        return _error(404, f"Could not find version {version} of model {model}")
    return None


def _models_of(template: run_v2.RevisionTemplate) -> list[str]:
    """The models that the template names: models.config, else the flag, else the official image's MODEL_NAME."""
    environment = environment_of(template)
    configured = re.findall(r"""\bname\s*:\s*["']([^"']+)["']""", environment.get(MODEL_CONFIG_ENV, ""))
    flags = [arg.split("=", 1)[1] for container in template.containers for arg in container.args if arg.startswith("--model_name=")]
    named = [environment["MODEL_NAME"]] if environment.get("MODEL_NAME") else []
    return configured or flags or named


def _states_versions(template: run_v2.RevisionTemplate) -> bool:
    return bool(_configured_versions(template))


def _versions_of(template: run_v2.RevisionTemplate) -> list[str]:
    return _configured_versions(template) or ["1"]


def _configured_versions(template: run_v2.RevisionTemplate) -> list[str]:
    return re.findall(r"\bversions\s*:\s*(\d+)", environment_of(template).get(MODEL_CONFIG_ENV, ""))


def _status(template: run_v2.RevisionTemplate, version: str | None) -> Reply:
    states = [
        {"version": each, "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
        for each in ([version] if version is not None else _versions_of(template))
    ]
    return Reply(200, _JSON, json.dumps({"model_version_status": states}))


def _metadata(model: str, version: str) -> Reply:
    spec = {"name": model, "signature_name": "", "version": version}
    return Reply(200, _JSON, json.dumps({"model_spec": spec, "metadata": {"signature_def": {"signature_def": {}}}}))


def _predict(body: str) -> Reply:
    try:
        given: Any = json.loads(body)
    except json.JSONDecodeError as error:
        return _error(400, f"JSON Parse error: {error.msg} at offset: {error.pos}")
    if not isinstance(given, dict):
        return _error(400, "Request body must be a JSON Object")
    if ("instances" in given) == ("inputs" in given):
        return _error(400, "Missing 'inputs' or 'instances' key")
    if "inputs" in given:
        return Reply(200, _JSON, json.dumps({"outputs": [_number(each) for each in _rows(given["inputs"])]}))
    instances = given["instances"]
    if not isinstance(instances, list) or not instances:
        return _error(400, "Tensor name: instances has no values, or is not a list")
    return Reply(200, _JSON, json.dumps({"predictions": [_number(each) for each in instances]}))


def _rows(inputs: Any) -> Sequence[Any]:
    """The rows of columns: one column is a list, several are an object of lists."""
    if isinstance(inputs, dict):
        columns = [each for each in inputs.values() if isinstance(each, list)]
        return [list(row) for row in zip(*columns, strict=False)]
    return inputs if isinstance(inputs, list) else [inputs]


def _number(instance: Any) -> float:
    digest = hashlib.sha256(json.dumps(instance, sort_keys=True).encode()).digest()
    return round(int.from_bytes(digest[:4]) / 2**32, 6)
