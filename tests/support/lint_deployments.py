"""Deployments for tests of rules, put together from the values that a rule reads."""

from collections.abc import Mapping, Sequence
from typing import Any

from shared.cloudrun.described import Described, Form
from shared.cloudrun.fields import Json
from shared.lint.deployment import Deployment
from shared.lint.finding import Finding
from shared.lint.given import Arguments, Given, Listing, StoredObject, Text, Workload
from shared.lint.resolving import resolve
from shared.tfserving.batching import parse_batching
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.model_config import ModelServerConfig, parse_model_config
from shared.tfserving.reading import Reading

GPU_IMAGE = "docker.io/tensorflow/serving:2.20.0-gpu"
PRIVATE_SHELL = "exec tensorflow_model_server --port=8500 --rest_api_port=$PORT --model_base_path=/models/m"
"""A script in place of the image's entry point."""


def service(
    *,
    image: str = GPU_IMAGE,
    args: Sequence[str] | None = None,
    command: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    gpu: bool = True,
    cpu: str | None = "8",
    concurrency: int | None = None,
    port: int | None = 8500,
) -> Json:
    """REST JSON of a Cloud Run service with one container."""
    limits: dict[str, str] = {}
    if cpu is not None:
        limits["cpu"] = cpu
    if gpu:
        limits["nvidia.com/gpu"] = "1"
    container: dict[str, Any] = {"image": image, "resources": {"limits": limits}}
    if port is not None:
        container["ports"] = [{"containerPort": port, "name": "h2c" if port == 8500 else "http1"}]
    if args is not None:
        container["args"] = list(args)
    if command is not None:
        container["command"] = list(command)
    if env is not None:
        container["env"] = [{"name": name, "value": value} for name, value in env.items()]
    template: dict[str, Any] = {"containers": [container]}
    if concurrency is not None:
        template["maxInstanceRequestConcurrency"] = concurrency
    return {"template": template}


def deployed(
    service: Json | None = None,
    *,
    batching: str | None = None,
    models: str | None = None,
    flags: Sequence[str] | None = None,
    objects: Sequence[str] | None = None,
    alert_policy: str | None = None,
    p99_ms: float | None = None,
    complete: bool = True,
    form: Form = Form.GCLOUD,
    **workload: Any,
) -> Deployment:
    """A resolved question; the files are in TF Serving's own form."""
    given = Given(
        name="question",
        deploy=Text("(a command)", "deploy.sh") if service is not None else None,
        batching=Text(batching, "batching.txt") if batching is not None else None,
        models=Text(models, "models.config") if models is not None else None,
        alert_policy=Text(alert_policy, "policy.yaml") if alert_policy is not None else None,
        flags=Arguments(tuple(flags), "flags.txt", tuple(range(1, len(flags) + 1))) if flags is not None else None,
        objects=Listing(tuple(StoredObject(path, 1000) for path in objects), "objects.txt", 1) if objects is not None else None,
        p99_ms=p99_ms,
        workload=Workload(**workload),
    )
    return resolve(
        given,
        Described(form, service, complete) if service is not None else None,
        batching=_batching(batching) if batching is not None else None,
        models=Reading(_models(models)) if models is not None else None,
        monitoring=None,
    )


def found(rule: Any, deployment: Deployment) -> list[Finding]:
    """What one rule says."""
    return list(rule(deployment))


def codes(rules: Any, deployment: Deployment) -> list[str]:
    """The codes that several rules give, each once."""
    return sorted({finding.code for rule in rules for finding in rule(deployment)})


def _batching(text: str) -> Reading[BatchingParameters]:
    lines = {line.split()[0].rstrip(":"): at for at, line in enumerate(text.splitlines(), 1) if line.strip()}
    return Reading(parse_batching(text), lines=lines)


def _models(text: str) -> ModelServerConfig:
    return parse_model_config(text)
