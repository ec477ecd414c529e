"""A service in one normal form, so that two that mean the same are equal: no phantom differences.

Works on v2 JSON documents. What Cloud Run fills in by itself counts as what it fills in, zero and absent are the same where Cloud
Run takes them for the same, quantities are numbers, and the order of what has no order does not matter. Fields only Cloud Run
writes are left out, and so are those that say who wrote (`client`, `clientVersion`).
"""

from collections.abc import Callable, Mapping
from typing import Any

from shared.cloudrun.output_fields import OUTPUT_FIELDS
from shared.cloudrun.quantities import canonical_cpu, canonical_memory, quantity

Json = dict[str, Any]

OUTPUT_ONLY = frozenset({*OUTPUT_FIELDS, "name"})
"""Fields of a service that only Cloud Run writes, and its name, by which two are not told apart."""
WRITER = frozenset({"client", "clientVersion"})

DEFAULT_TIMEOUT_SECONDS = 300.0
DEFAULT_CONCURRENCY = 80
DEFAULT_CONCURRENCY_BELOW_ONE_CPU = 1
DEFAULT_CPU = "1"
DEFAULT_MEMORY = "512Mi"
DEFAULT_PORT = 8080
GPU = "nvidia.com/gpu"
SERVING = "(serving)"
"""The container that takes the requests, whatever its name."""
_PROBE_DEFAULTS: Mapping[str, int] = {"timeoutSeconds": 1, "periodSeconds": 10, "failureThreshold": 3, "initialDelaySeconds": 0}
_DEFAULT_START_UP_PROBE = {"timeoutSeconds": 240, "periodSeconds": 240, "failureThreshold": 1, "initialDelaySeconds": 0}
_EMPTY: tuple[Any, ...] = ({}, [], "", None, False, 0)
_PLAIN_ENUMS = {
    "ingress": "INGRESS_TRAFFIC_ALL",
    "launchStage": "GA",
}


def canonical_service(document: Mapping[str, Any]) -> Json:
    """The writable part of a service in its normal form."""
    result: Json = {key: value for key, value in document.items() if key not in OUTPUT_ONLY | WRITER}
    for name, default in _PLAIN_ENUMS.items():
        value = result.get(name)
        if value is None or str(value).endswith("_UNSPECIFIED"):
            result[name] = default
    result["scaling"] = _scaling(result.get("scaling", {}))
    result["template"] = canonical_template(result.get("template", {}))
    result["traffic"] = canonical_traffic(result.get("traffic", []))
    pruned: Json = _pruned(result)
    return pruned


def canonical_template(template: Mapping[str, Any]) -> Json:
    """A revision's template in its normal form, without the revision's name."""
    result: Json = {key: value for key, value in template.items() if key != "revision"}
    containers = [_container(each) for each in result.get("containers", [])]
    gpu = bool(result.get("nodeSelector", {}).get("accelerator")) or any(each["resources"].get(GPU) for each in containers)
    serving = next((each for each in containers if each.get("ports")), containers[0] if containers else {})
    _say_for_all(containers, serving, gpu=gpu)
    for each in containers:
        if each is serving:
            each["ports"] = [_port(port) for port in each.get("ports", []) or [{}]]
            each["startupProbe"] = _start_up_probe(each.get("startupProbe"), each["ports"][0]["containerPort"])
        elif "startupProbe" in each:
            each["startupProbe"] = _probe(each["startupProbe"])
    result["containers"] = _keyed([each for each in containers if each is not serving], "name")
    if containers:
        if len(containers) == 1:
            # Where there is one container its name tells nothing; Cloud Run gives it one.
            serving.pop("name", None)
        result["containers"] = {SERVING: serving, **result["containers"]}
    result["volumes"] = _keyed([_volume(each) for each in result.get("volumes", [])], "name")
    result["timeout"] = _seconds(result.get("timeout")) or DEFAULT_TIMEOUT_SECONDS
    # The rules for less than one CPU are of the instance: they count all containers together.
    cpus = [quantity(str(each["resources"]["cpu"])) for each in containers]
    below_one = bool(cpus) and sum(1 if cpu is None else cpu for cpu in cpus) < 1
    default = DEFAULT_CONCURRENCY_BELOW_ONE_CPU if below_one else DEFAULT_CONCURRENCY
    result["maxInstanceRequestConcurrency"] = result.get("maxInstanceRequestConcurrency") or default
    if gpu:
        result["gpuZonalRedundancyDisabled"] = bool(result.get("gpuZonalRedundancyDisabled", False))
        result["executionEnvironment"] = "EXECUTION_ENVIRONMENT_GEN2"
    elif str(result.get("executionEnvironment", "")).endswith("_UNSPECIFIED"):
        result.pop("executionEnvironment")
    pruned: Json = _pruned(result)
    if gpu:
        pruned["gpuZonalRedundancyDisabled"] = result["gpuZonalRedundancyDisabled"]
    return pruned


def _say_for_all(containers: list[Json], serving: Json, *, gpu: bool) -> None:
    """What one container says for the whole instance."""
    # The boost is one word of the revision in v1 and in gcloud: one container that has it is enough.
    boosted = any(each["resources"]["startupCpuBoost"] for each in containers)
    for each in containers:
        each["resources"]["startupCpuBoost"] = boosted
    if gpu and serving:
        # An instance has one GPU, and is billed for as long as it is up: Cloud Run takes nothing else.
        holder = next((each for each in containers if each["resources"].get(GPU)), serving)
        holder["resources"] |= {GPU: holder["resources"].get(GPU) or "1", "cpuIdle": False}


def canonical_traffic(targets: list[Mapping[str, Any]]) -> Json:
    """Traffic by revision and tag; no target at all is everything to the latest ready revision."""
    result: Json = {}
    for target in targets:
        to = target.get("revision") or "LATEST"
        tag, percent = target.get("tag", ""), int(target.get("percent", 0))
        if percent:
            shares = result.setdefault("percent", {})
            shares[to] = shares.get(to, 0) + percent
        if tag:
            result.setdefault("tags", {})[tag] = to
    if "percent" not in result:
        result["percent"] = {"LATEST": 100}
    return result


def _scaling(scaling: Mapping[str, Any]) -> Json:
    result = dict(scaling)
    manual = result.get("scalingMode") == "MANUAL"
    result["scalingMode"] = "MANUAL" if manual else "AUTOMATIC"
    if not manual:
        result.pop("manualInstanceCount", None)
    return result


def _container(container: Mapping[str, Any]) -> Json:
    result: Json = {key: value for key, value in container.items() if key != "buildInfo"}
    resources = result.get("resources", {})
    limits = {name: _amount(name, value) for name, value in resources.get("limits", {}).items()}
    # With `resources` set and `cpuIdle` not, a container is billed by the instance; without `resources`, by the request.
    idle = bool(resources.get("cpuIdle", "resources" not in container))
    result["resources"] = {
        "cpu": limits.pop("cpu", DEFAULT_CPU),
        "memory": limits.pop("memory", DEFAULT_MEMORY),
        **limits,
        "cpuIdle": idle,
        "startupCpuBoost": bool(resources.get("startupCpuBoost", False)),
        **{name: value for name, value in resources.items() if name not in {"limits", "cpuIdle", "startupCpuBoost"}},
    }
    result["env"] = _keyed([_variable(each) for each in result.get("env", [])], "name")
    result["volumeMounts"] = _keyed([dict(each) for each in result.get("volumeMounts", [])], "mountPath")
    result["dependsOn"] = sorted(result.get("dependsOn", []))
    for probe in ("livenessProbe", "readinessProbe"):
        if probe in result:
            result[probe] = _probe(result[probe])
    return result


def _variable(variable: Mapping[str, Any]) -> Json:
    return {**variable, "value": variable.get("value", "")} if "valueSource" not in variable else dict(variable)


def _volume(volume: Mapping[str, Any]) -> Json:
    result = dict(volume)
    if "emptyDir" in result:
        empty = dict(result["emptyDir"])
        if str(empty.get("medium", "")).endswith("_UNSPECIFIED"):
            empty.pop("medium")
        if "sizeLimit" in empty:
            empty["sizeLimit"] = _amount("memory", empty["sizeLimit"])
        result["emptyDir"] = {**empty, "medium": empty.get("medium", "MEMORY")}
    return result


def _port(port: Mapping[str, Any]) -> Json:
    return {**port, "name": port.get("name") or "http1", "containerPort": port.get("containerPort") or DEFAULT_PORT}


def _start_up_probe(probe: Mapping[str, Any] | None, port: int) -> Json:
    """A serving container without one gets Cloud Run's: one TCP connection that may take 240 seconds."""
    if not probe:
        return {**_DEFAULT_START_UP_PROBE, "tcpSocket": {"port": port}}
    return _probe(probe, port)


def _probe(probe: Mapping[str, Any], port: int | None = None) -> Json:
    result: Json = {**_PROBE_DEFAULTS, **{name: value for name, value in probe.items() if value not in (0, None)}}
    for action in ("tcpSocket", "httpGet", "grpc"):
        if action in result:
            said = dict(result[action])
            if port is not None and not said.get("port"):
                said["port"] = port
            if action == "httpGet":
                said["path"] = said.get("path") or "/"
                said["httpHeaders"] = [{**header, "value": header.get("value", "")} for header in said.get("httpHeaders", [])]
            result[action] = said
    return result


def _amount(name: str, text: Any) -> str:
    """A quantity in its one form; what is none stays as it is."""
    try:
        return canonical_memory(str(text)) if name == "memory" else canonical_cpu(str(text))
    except ValueError:
        return str(text)


def _seconds(text: Any) -> float | None:
    if not isinstance(text, str) or not text.endswith("s"):
        return None
    try:
        return float(text[:-1])
    except ValueError:
        return None


def _keyed(elements: list[Json], key: str) -> Json:
    """A list as a mapping, in no order; elements with the same key are told apart by their place."""
    result: Json = {}
    for place, element in enumerate(elements):
        name = str(element.get(key, ""))
        result[name if name not in result else f"{name}#{place}"] = {field: value for field, value in element.items() if field != key}
    return result


_KEEP_EMPTY: Callable[[str], bool] = frozenset({"value", "manualInstanceCount", "cpuUtilization", "concurrencyUtilization"}).__contains__
"""Where zero or nothing says something else than absence: a set-point of 0 takes a driver of the autoscaler out."""


def _pruned(value: Any, name: str = "") -> Any:
    """Without what is empty, zero or false: Cloud Run's JSON leaves those out, documents by people may say them."""
    if isinstance(value, dict):
        pruned = {key: _pruned(each, key) for key, each in value.items()}
        if name in {"env", "volumes", "containers", "volumeMounts", "labels", "annotations"}:
            return {key: each for key, each in pruned.items() if each is not None}
        return {key: each for key, each in pruned.items() if _KEEP_EMPTY(key) or each not in _EMPTY}
    if isinstance(value, list):
        return [_pruned(each) for each in value]
    return value
