"""The parts of a question put together into one deployment. Pure."""

from collections.abc import Mapping, Sequence

from shared.cloudrun.described import Described
from shared.cloudrun.fields import Json
from shared.cloudrun.gcloud_containers import DEFAULT_PORT
from shared.lint.deployment import ConfigFile, Deployment
from shared.lint.given import Given, Text
from shared.lint.images import read_image
from shared.lint.server_command import Argument, server_command
from shared.lint.v2_values import list_of, part, texts_of, whole_of
from shared.tfserving import command
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.flags import parse_flags
from shared.tfserving.model_config import ModelServerConfig
from shared.tfserving.monitoring import MonitoringConfig
from shared.tfserving.reading import Reading


def resolve(
    given: Given,
    described: Described | None,
    *,
    batching: Reading[BatchingParameters] | None,
    models: Reading[ModelServerConfig] | None,
    monitoring: Reading[MonitoringConfig] | None,
) -> Deployment:
    """Put the parts together. The readings are those of `texts(...)`: the files given, or those that the container carries."""
    container, pointer = _serving_container(described)
    env = {**_environment(container), **given.env}
    args = texts_of(container.get("args"))
    overriding = texts_of(container.get("command"))
    listed = given.flags.values if given.flags is not None else ()
    started = _started(
        described,
        container,
        overriding,
        [*args, *listed],
        {**_port_variable(described, container), **env},
        has_listed=given.flags is not None,
    )
    files = texts(given, described)
    block = models.misplaced[0] if models is not None and models.misplaced and "batching" not in files else None
    batching_file = None
    if batching is not None:
        models_text = files.get("models")
        if block is not None and models_text is not None:
            text = Text(block.text, models_text.file, models_text.first_line + block.line - 1, models_text.exact)
            batching_file = ConfigFile("models", text, batching)
        elif "batching" in files:
            batching_file = ConfigFile("batching", files["batching"], batching)
    return Deployment(
        given=given,
        described=described,
        container=container,
        container_pointer=pointer,
        flags=None if started is None else parse_flags([argument.text for argument in started[0]]),
        arguments=() if started is None else started[0],
        entrypoint=started is not None and started[1],
        command_overridden=bool(overriding),
        env=env,
        batching=batching_file,
        misplaced_batching=block is not None,
        models=ConfigFile("models", files["models"], models) if models is not None and "models" in files else None,
        monitoring=ConfigFile("monitoring", files["monitoring"], monitoring) if monitoring is not None and "monitoring" in files else None,
        own_arguments=len(args),
    )


_CARRIED = {"batching": command.BATCHING, "models": command.MODEL_CONFIG, "monitoring": command.MONITORING_CONFIG}


def texts(given: Given, described: Described | None) -> dict[str, Text]:
    """TF Serving's files in the question by part: as given, else as Trimtab's own revisions carry them in their environment."""
    found = {name: text for name in _CARRIED if (text := getattr(given, name)) is not None}
    container, pointer = _serving_container(described)
    source = given.deploy or given.spec or given.plan
    if described is None or source is None:
        return found
    for at, each in enumerate(list_of(container.get("env"))):
        variable, value = (each.get("name"), each.get("value")) if isinstance(each, dict) else (None, None)
        carried = next((name for name, known in _CARRIED.items() if known == variable), None)
        if carried is not None and carried not in found and isinstance(value, str):
            line = described.place(f"{pointer}/env/{at}")[1]
            found[carried] = Text(value, source.file, source.where("deploy", line).line or 1, exact=False)
    return found


def _started(
    described: Described | None,
    container: Json,
    overriding: Sequence[str],
    args: Sequence[str],
    env: Mapping[str, str],
    *,
    has_listed: bool,
) -> tuple[tuple[Argument, ...], bool] | None:
    """The server's arguments and whether the entry point gives the first; None where its flags are not known."""
    if described is None:
        return (tuple(Argument(text, index) for index, text in enumerate(args)), False) if has_listed else None
    image = container.get("image")
    known_image = isinstance(image, str) and read_image(image).is_tf_serving
    if not args and not known_image and not overriding:
        return None
    started = server_command(overriding, args, env)
    if started is not None:
        return started.arguments, started.entrypoint
    return (tuple(Argument(text, index) for index, text in enumerate(args)), False) if has_listed else None


def _serving_container(described: Described | None) -> tuple[Json, str]:
    """The container that gets the requests, and its pointer: the one with ports, else the first."""
    template = part(described.service if described is not None else {}, "template")
    containers = [each if isinstance(each, dict) else {} for each in list_of(template.get("containers"))]
    at = next((index for index, each in enumerate(containers) if each.get("ports")), 0)
    return (containers[at] if containers else {}), f"/template/containers/{at}"


def _port_variable(described: Described | None, container: Json) -> dict[str, str]:
    """PORT, as Cloud Run sets it for a service; nothing where an update does not say it."""
    if described is None or not described.is_service:
        return {}
    ports = list_of(container.get("ports"))
    stated = whole_of(ports[0].get("containerPort")) if ports and isinstance(ports[0], dict) else None
    port = stated or (DEFAULT_PORT if described.complete else None)
    return {} if port is None else {"PORT": str(port)}


def _environment(container: Json) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in list_of(container.get("env")):
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            value = each.get("value", "")
            found[each["name"]] = value if isinstance(value, str) else ""
    return found
