"""From Cloud Run's service back to what is desired: Trimtab's own rendering is recognised, anything else is kept as it is."""

from google.cloud import run_v2
from pydantic import ValidationError

from shared.cloudrun.quantities import quantity
from shared.errors import TrimtabError
from shared.records.serving import DesiredServing, OwnEntry, Protocol, SetPoints
from shared.rendering.canonical import canonical_service
from shared.rendering.collector import is_our_collector
from shared.rendering.entry import MODEL_VOLUME, read_batching, read_extra_flags, read_model
from shared.rendering.messages import clone, service_to_json
from shared.rendering.serving import EGRESS_OF, GPU, INGRESS_OF, interfaces_of, overlay, serving_container
from shared.tfserving.command import COMMAND, ENVIRONMENT_NAMES

_PORT_NAMES = frozenset({"", "http1", "h2c"})


class UnreadableServiceError(TrimtabError):
    """A service that no spec can say, with the field and what is wrong with it."""


def read_serving(service: run_v2.Service, *, set_points: SetPoints | None = None) -> DesiredServing:
    """What the service is, in the words of a spec.

    A service that Trimtab rendered gives back what it was rendered from. Of any other the command, the arguments, the environment
    and the probes stay the owner's (`own_entry`), and whatever Cloud Run's own settings say is read. Writing the result over the
    service changes nothing, whichever it is.

    Raises:
        UnreadableServiceError: the service holds a value that a spec cannot say.
    """
    rendered = _rendered(service, set_points)
    return read_as_own(service, set_points=set_points) if rendered is None else rendered


def read_as_own(service: run_v2.Service, *, set_points: SetPoints | None = None) -> DesiredServing:
    """The same with the command kept as the owner's, even where Trimtab rendered it.

    Raises:
        UnreadableServiceError: the service holds a value that a spec cannot say.
    """
    template = service.template
    container = serving_container(clone(template))
    port = container.ports[0].container_port if container.ports else 0
    entry = OwnEntry.model_construct(command=tuple(container.command), args=tuple(container.args), port=port or None)
    try:
        return DesiredServing.model_validate({**_common(service, set_points), "own_entry": entry.model_dump()})
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, each['loc']))}={str(each['input'])[:80]!r}: {each['msg']}" for each in error.errors()[:5])
        raise UnreadableServiceError(f"{service.name.rsplit('/', 1)[-1] or 'unnamed'}: no spec can say this service: {problems}") from None


def _common(service: run_v2.Service, set_points: SetPoints | None) -> dict[str, object]:
    """What is read in the same way from every service."""
    template = service.template
    container = serving_container(clone(template))
    raw = run_v2.RevisionTemplate.pb(template)
    accelerator = template.node_selector.accelerator or None
    if accelerator is None and any(GPU in each.resources.limits for each in template.containers):
        raise UnreadableServiceError(f"{GPU} is set and template.node_selector.accelerator is not: name the accelerator")
    gpus = [each.resources.limits[GPU] for each in template.containers if GPU in each.resources.limits]
    if any(quantity(each) != 1 for each in gpus) or len(gpus) > 1:
        raise UnreadableServiceError(f"{GPU} is {', '.join(gpus)}: a spec says one GPU for each instance")
    if container.ports and container.ports[0].name not in _PORT_NAMES:
        name = str(container.ports[0].name)[:80]
        raise UnreadableServiceError(f"no spec can say this service: ports.0.name={name!r}: Cloud Run has http1 and h2c")
    protocol = Protocol.GRPC if container.ports and container.ports[0].name == "h2c" else Protocol.REST
    # A timeout that is no whole number of seconds is left as it is: a spec cannot say it.
    seconds = raw.timeout.seconds if raw.HasField("timeout") and not raw.timeout.nanos else 0
    return {
        "image": container.image,
        "protocol": protocol,
        "accelerator": accelerator,
        "gpu_zonal_redundancy": None if accelerator is None else not template.gpu_zonal_redundancy_disabled,
        "cpu": container.resources.limits.get("cpu"),
        "memory": container.resources.limits.get("memory"),
        "service_account": template.service_account or None,
        "ingress": INGRESS_OF.get(run_v2.Service.pb(service).ingress),
        "vpc_access": _vpc(template),
        "max_instance_request_concurrency": template.max_instance_request_concurrency or None,
        "timeout_seconds": seconds or None,
        "set_points": set_points,
        "max_instance_count": template.scaling.max_instance_count or None,
    }


def _vpc(template: run_v2.RevisionTemplate) -> dict[str, object] | None:
    if not run_v2.RevisionTemplate.pb(template).HasField("vpc_access"):
        return None
    egress = EGRESS_OF.get(run_v2.VpcAccess.pb(template.vpc_access).egress)
    interfaces = interfaces_of(template)
    if not interfaces and not template.vpc_access.connector:
        return None
    return {
        "connector": template.vpc_access.connector,
        "egress": egress,
        "network_interfaces": [each.model_dump() for each in interfaces],
    }


def _rendered(service: run_v2.Service, set_points: SetPoints | None) -> DesiredServing | None:
    """What Trimtab rendered this service from; None if it did not, or somebody changed what it rendered since."""
    template = service.template
    container = serving_container(clone(template))
    if tuple(container.command) != COMMAND:
        return None
    values = {each.name: each.value for each in container.env}
    names = [name for name in values.get(ENVIRONMENT_NAMES, "").split(",") if name]
    bucket = next((each.gcs.bucket for each in template.volumes if each.name == MODEL_VOLUME), None)
    try:
        found = DesiredServing.model_validate(
            {
                **_common(service, set_points),
                "model": read_model(values, bucket=bucket),
                "batching": read_batching(values),
                "extra_flags": read_extra_flags(container.args),
                "environment": {name: values[name] for name in names if name in values},
                "start_up_seconds": container.startup_probe.failure_threshold or None,
                "metrics_sidecar": any(is_our_collector(each) for each in template.containers),
            }
        )
        again = overlay(service, found)
    except (TrimtabError, ValueError):
        return None  # not what Trimtab renders: the caller keeps it as it is
    return found if canonical_service(service_to_json(again)) == canonical_service(service_to_json(service)) else None
