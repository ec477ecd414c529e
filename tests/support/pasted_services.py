"""Deployments as people paste them, and what lint says of one code about them."""

from collections.abc import Sequence
from typing import Any

from shared.lint.checking import check
from shared.lint.finding import Finding
from shared.lint.given import Arguments, Given, Text, Workload

GPU_COMMAND = (
    "gcloud run deploy vision --region=us-east4 --image=docker.io/tensorflow/serving:2.20.0-gpu --gpu=1 --gpu-type=nvidia-l4 "
    "--no-gpu-zonal-redundancy --cpu=8 --memory=32Gi --concurrency=24 --max-instances=3 --port=8500 --use-http2 "
    "--set-env-vars=MODEL_NAME=vision"
)
"""Nothing of it is wrong."""
V1 = """\
apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: vision
  labels: {cloud.googleapis.com/location: us-east4}
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/maxScale: '3'
        run.googleapis.com/gpu-zonal-redundancy-disabled: 'true'
    spec:
      containerConcurrency: 24
      nodeSelector: {run.googleapis.com/accelerator: nvidia-l4}
      containers:
      - image: docker.io/tensorflow/serving:2.20.0-gpu
        env: [{name: MODEL_NAME, value: vision}]
        ports: [{name: h2c, containerPort: 8500}]
        resources: {limits: {cpu: '8', memory: 32Gi, nvidia.com/gpu: '1'}}
"""
V2 = """\
name: projects/acme-ml/locations/us-east4/services/vision
scaling: {maxInstanceCount: 3}
template:
  maxInstanceRequestConcurrency: 24
  nodeSelector: {accelerator: nvidia-l4}
  gpuZonalRedundancyDisabled: true
  containers:
  - image: docker.io/tensorflow/serving:2.20.0-gpu
    env: [{name: MODEL_NAME, value: vision}]
    ports: [{name: h2c, containerPort: 8500}]
    resources: {limits: {cpu: '8', memory: 32Gi, nvidia.com/gpu: '1'}}
"""


def findings(
    text: str | None,
    code: str,
    *,
    flags: Sequence[str] | None = None,
    env: dict[str, str] | None = None,
    batching: str | None = None,
    **workload: Any,
) -> list[Finding]:
    """What lint says under that code of a deployment's text."""
    listed = Arguments(tuple(flags), "flags.txt", tuple(range(1, len(flags) + 1))) if flags is not None else None
    given = Given(
        "question",
        deploy=Text(text, "deploy") if text is not None else None,
        batching=Text(batching, "batching.txt") if batching is not None else None,
        flags=listed,
        env=env or {},
        workload=Workload(**workload),
    )
    return [each for each in check(given).findings if each.code == code]


def one(text: str | None, code: str, **given: Any) -> Finding:
    """The only finding under that code."""
    found = findings(text, code, **given)
    assert len(found) == 1, [f"{each.where}: {each.message}" for each in found]
    return found[0]


def silent(text: str | None, code: str, **given: Any) -> bool:
    """Whether lint says nothing under that code."""
    return not findings(text, code, **given)


def changed(text: str, *pairs: tuple[str, str]) -> str:
    """The text with each first part replaced by the second; each is there."""
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text
