"""Files of every kind that are as large as wanted: for speed, memory, and limits."""

import json
from collections.abc import Callable

import yaml

from tests.support.lint_healthy import ALERT_POLICY, BATCHING_FULL, L4_GRPC, MODELS
from tests.support.lint_healthy_documents import PLAN, SPEC, V1, V2_JSON, V2_YAML

_ENTRY = '  config {\n    name: "m%d"\n    base_path: "gs://acme-models/m%d"\n    model_platform: "tensorflow"\n  }\n'


def _repeated(one: Callable[[int], str], size: int) -> str:
    """As many items as fit."""
    found: list[str] = []
    length = 0
    while length < size:
        found.append(one(len(found)))
        length += len(found[-1])
    return "".join(found)


def _environment(size: int) -> str:
    document = yaml.safe_load(V1)
    container = document["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": f"SETTING_{number}", "value": f"value {number}"} for number in range(size // 60)]
    return yaml.safe_dump(document, sort_keys=False)


def _long_text(size: int) -> str:
    """One variable that holds a file."""
    document = json.loads(V2_JSON)
    document["template"]["containers"][0]["env"].append({"name": "VOCABULARY", "value": "word\n" * ((size - 3_000) // 6)})
    return json.dumps(document)


def _spaced(size: int) -> str:
    lines = V2_JSON.splitlines()
    return ("\n" + " " * (size // len(lines) - 30)).join(lines)


def _plan(size: int) -> str:
    plan = json.loads(PLAN)
    (resource,) = plan["planned_values"]["root_module"]["resources"]
    other = {**resource, "type": "google_storage_bucket_object", "values": {"name": "x", "content": "y" * 300}}
    count = size // len(json.dumps(other)) - 4
    plan["planned_values"]["root_module"]["resources"] += [
        {**other, "address": f"google_storage_bucket_object.o{n:04}"} for n in range(count)
    ]
    return json.dumps(plan)


def _services(size: int) -> str:
    plan = json.loads(PLAN)
    (resource,) = plan["planned_values"]["root_module"]["resources"]
    plan["resource_changes"] = []
    count = size // (len(json.dumps(resource)) + 10)
    plan["planned_values"]["root_module"]["resources"] = [
        {**resource, "address": f"google_cloud_run_v2_service.s[{n}]"} for n in range(count)
    ]
    return json.dumps(plan)


LARGE: dict[str, Callable[[int], str]] = {
    "commands, comments": lambda size: _repeated(lambda number: f"# step {number}: nothing is done here\n", size - len(L4_GRPC)) + L4_GRPC,
    "commands, one with many arguments": lambda size: (
        "gcloud run deploy x --image=tensorflow/serving:2.20.0 --args="
        + _repeated(lambda number: f"--flag_{number}=1,", size - 90)
        + "--v=1\n"
    ),
    "commands, very many": lambda size: _repeated(lambda number: f"gcloud run services update s{number} --concurrency={number}\n", size),
    "commands, one long word": lambda size: L4_GRPC.replace("MODEL_NAME=shelf", "MODEL_NAME=" + "x" * (size - len(L4_GRPC))),
    "batching, comments": lambda size: (
        _repeated(lambda number: f"# {number} is no good value\n", size - len(BATCHING_FULL)) + BATCHING_FULL
    ),
    "batching, allowed sizes": lambda size: (
        "max_batch_size { value: 9 }\n" + _repeated(lambda number: f"allowed_batch_sizes: {number}\n", size - 60)
    ),
    "batching, broken lines": lambda size: _repeated(lambda number: f"max_batch_size: {number}\n", size),
    "models": lambda size: "model_config_list {\n" + _repeated(lambda number: _ENTRY % (number, number), size - 120) + "}\n",
    "models, comments": lambda size: _repeated(lambda number: f"# model {number} is retired\n", size - len(MODELS)) + MODELS,
    "v1 document, variables": _environment,
    "v1 document, comments": lambda size: V1 + _repeated(lambda number: f"# {number}: not in use\n", size - len(V1)),
    "v2 document, JSON, one long text": _long_text,
    "v2 document, YAML, labels": lambda size: V2_YAML.replace(
        "labels: {team: mail}\n", "labels:\n" + _repeated(lambda number: f"  label-{number}: value-{number}\n", size - len(V2_YAML))
    ),
    "v2 document, JSON, spaces": _spaced,
    "Terraform plan, other resources": _plan,
    "Terraform plan, services": _services,
    "spec, comments": lambda size: SPEC + _repeated(lambda number: f"# {number}: not in use\n", size - len(SPEC)),
    "alert policy": lambda size: ALERT_POLICY.replace("p99 of pending latency", "p99 " * ((size - len(ALERT_POLICY)) // 4)),
    "flags": lambda size: "--port=8500\n" + _repeated(lambda number: f"--flag_{number}=on\n", size - 20),
    "listing": lambda size: _repeated(lambda number: f"gs://acme-models/ranker/{number}/saved_model.pb 1234\n", size),
    "bundle, logs": lambda size: (
        "deploy: |\n"
        + "".join(f"  {line}\n" for line in L4_GRPC.splitlines())
        + "logs:\n"
        + _repeated(lambda number: f"- '2026-10-05T12:00:00Z request {number:06} {'x' * 160}'\n", size - 1_500)
    ),
    "bundle, long batching file": lambda size: (
        "batching: |\n" + _repeated(lambda number: f"  # {number} is no good value\n", size - 100) + "  max_batch_size { value: 9 }\n"
    ),
    "words": lambda size: _repeated(lambda number: f"word{number} ", size),
    "one line": lambda size: "a" * size,
    "blanks": lambda size: " " * (size - 1) + "x",
}
"""By what it is; each makes a file of about as many bytes as wanted."""


def sized(name: str, size: int) -> str:
    """The file of that name with about that many bytes."""
    return LARGE[name](size)
