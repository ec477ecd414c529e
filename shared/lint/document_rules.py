"""Rules about the text of a deployment, and about what the Admin API refuses of a service that no rule of its own is for. Pure."""

import re
from collections.abc import Callable, Iterator

from shared.cloudrun.containers import args_faults, container_count_faults, dependency_faults, env_faults, port_faults
from shared.cloudrun.described import Form, ReadingProblem
from shared.cloudrun.fields import Json, pointer
from shared.cloudrun.limits import (
    LimitFault,
    TrafficShare,
    annotation_faults,
    description_faults,
    label_faults,
    launch_stage_faults,
    manual_scaling_faults,
    revision_name_faults,
    service_name_faults,
    traffic_faults,
)
from shared.cloudrun.server_texts import ServerText
from shared.cloudrun.template_limits import (
    container_name_faults,
    image_faults,
    limit_name_faults,
    set_point_faults,
    tag_faults,
    vpc_access_faults,
)
from shared.cloudrun.volumes import mount_faults, volume_faults
from shared.lint.deployment import Deployment
from shared.lint.finding import Finding
from shared.lint.limit_findings import limit_findings
from shared.lint.pasting import paste
from shared.lint.service_parts import is_document, is_stand_in, parts, short_name, texts, whole
from shared.lint.v2_values import part

INVALID = ReadingProblem.DOCUMENT_INVALID.value
TCP_LIVENESS = "probe-liveness-tcp"
_LATER_PROBES = frozenset({"--liveness-probe", "--readiness-probe"})
_LATEST = "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST"
_REVISION = "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION"
_VALUE_IN_V2 = {"gen1": "EXECUTION_ENVIRONMENT_GEN1", "gen2": "EXECUTION_ENVIRONMENT_GEN2"}
_SAME_VALUE = (
    "Scale",
    "cpu-throttling",
    "startup-cpu-boost",
    "execution-environment",
    "redundancy-disabled",
    "launch-stage",
    "description",
)
_IN_V2 = {
    "autoscaling.knative.dev/minScale": "scaling.minInstanceCount",
    "autoscaling.knative.dev/maxScale": "scaling.maxInstanceCount",
    "run.googleapis.com/minScale": "scaling.minInstanceCount",
    "run.googleapis.com/maxScale": "scaling.maxInstanceCount",
    "run.googleapis.com/cpu-throttling": "resources.cpuIdle",
    "run.googleapis.com/startup-cpu-boost": "resources.startupCpuBoost",
    "run.googleapis.com/execution-environment": "template.executionEnvironment",
    "run.googleapis.com/gpu-zonal-redundancy-disabled": "template.gpuZonalRedundancyDisabled",
    "run.googleapis.com/launch-stage": "launchStage",
    "run.googleapis.com/ingress": "ingress",
    "run.googleapis.com/sessionAffinity": "template.sessionAffinity",
    "run.googleapis.com/vpc-access-connector": "template.vpcAccess.connector",
    "run.googleapis.com/vpc-access-egress": "template.vpcAccess.egress",
    "run.googleapis.com/network-interfaces": "template.vpcAccess.networkInterfaces",
    "run.googleapis.com/cloudsql-instances": "a volume with cloudSqlInstance",
    "run.googleapis.com/container-dependencies": "dependsOn",
    "run.googleapis.com/description": "description",
    "run.googleapis.com/invoker-iam-disabled": "invokerIamDisabled",
}
"""What a v1 annotation is in v2, where it is often written by habit."""
_AMOUNT = re.compile(r"\s*(?P<number>[0-9]{1,6}(?:\.[0-9]{1,3})?)\s*(?P<unit>[kmgt]?)", re.IGNORECASE)


def reading_problems(deployment: Deployment) -> Iterator[Finding]:
    """What gcloud's parser or the Admin API refuses of the text as it stands.

    gcloud's refusal of a TCP liveness probe has a code of its own, the same as that of a document with one.
    """
    described = deployment.described
    if described is None:
        return
    source = deployment.given.deploy or deployment.given.spec or deployment.given.plan
    for problem in described.problems:
        where = deployment.where("") if source is None else source.where("deploy", problem.line, problem.field)
        is_tcp = problem.field in _LATER_PROBES and ("makes it a TCP probe" in problem.message or "'tcpSocket" in problem.message)
        code = TCP_LIVENESS if is_tcp and problem.kind is ReadingProblem.VALUE_INVALID else problem.kind.value
        yield Finding(code, _sentence(problem.message), where, problem.fix or "see the message")


def traffic_and_scaling(deployment: Deployment) -> Iterator[Finding]:
    """Shares that do not add up, tags, manual scaling and the autoscaler's targets. A command names shares without the others."""
    service = deployment.service
    if not is_document(deployment):
        return
    shares = [_share(target) for target in parts(service, "traffic")]
    yield from limit_findings(deployment, INVALID, traffic_faults(shares))
    yield from limit_findings(deployment, INVALID, tag_faults([share.tag for share in shares], service=short_name(deployment)))
    scaling = part(service, "scaling")
    if deployment.complete and isinstance(scaling.get("manualInstanceCount"), int):
        manual = scaling.get("scalingMode") == "MANUAL"
        faults = manual_scaling_faults(manual_instance_count=scaling["manualInstanceCount"], manual_mode=manual)
        yield from limit_findings(deployment, INVALID, faults)
    yield from limit_findings(deployment, INVALID, set_point_faults(part(deployment.template, "scaling")))


def _share(target: Json) -> TrafficShare:
    return TrafficShare(
        percent=whole(target, "percent"),
        revision=str(target.get("revision") or ""),
        latest=target.get("type", _LATEST if not target.get("revision") else "") != _REVISION,
        tag=str(target.get("tag") or ""),
    )


def names_and_labels(deployment: Deployment) -> Iterator[Finding]:
    """Names of the service and of its revision, description, launch stage, labels and annotations."""
    service, template, name = deployment.service, deployment.template, short_name(deployment)
    if not deployment.is_service:
        return
    if name and not is_stand_in(name):
        yield from limit_findings(deployment, INVALID, service_name_faults(name))
    yield from limit_findings(deployment, INVALID, description_faults(str(service.get("description") or "")))
    yield from limit_findings(deployment, INVALID, launch_stage_faults(str(service.get("launchStage") or "")))
    revision = template.get("revision")
    if is_document(deployment) and name and isinstance(revision, str):
        yield from limit_findings(deployment, INVALID, revision_name_faults(revision, service=name))
    if deployment.described is None or deployment.described.form is Form.V1:
        return
    for field, holder in (("labels", service), ("template.labels", template)):
        labels = {key: str(value) for key, value in part(holder, "labels").items() if not is_stand_in(f"{key}={value}")}
        yield from _keys(deployment, field, holder, label_faults(labels, field=field))
    for field, holder in (("annotations", service), ("template.annotations", template)):
        yield from _keys(deployment, field, holder, annotation_faults(list(part(holder, "annotations")), field=field))


def _keys(deployment: Deployment, field: str, holder: Json, faults: Iterator[LimitFault]) -> Iterator[Finding]:
    for fault in faults:
        if fault.text is not ServerText.SYSTEM_METADATA:
            yield from limit_findings(deployment, INVALID, [fault])
            continue
        key = str(fault.value)
        right = _IN_V2.get(key)
        said = str(part(holder, "labels" if field.endswith("labels") else "annotations").get(key, ""))
        value = f": {_VALUE_IN_V2.get(said, said)}" if key.endswith(_SAME_VALUE) else ""
        where = deployment.where(pointer("/" + field.replace(".", "/"), key))
        message = (
            f'{field} has the key "{key}": the Admin API v2 refuses it ("{fault.text}"), and its value is not in force'
            + (f"; in v2 it is the field {right}" if right else "")
            + "."
        )
        yield Finding(
            INVALID, message, where, f"take it out and write {right}{value}" if right else "take it out; v2 has fields for such settings"
        )


def containers_and_ports(deployment: Deployment) -> Iterator[Finding]:
    """How many containers, their names and images, which one has the port, and the order of their starts."""
    if not deployment.is_service:
        return
    containers = parts(deployment.template, "containers")
    complete = deployment.complete
    if complete or deployment.template.get("containers") == []:
        yield from limit_findings(deployment, INVALID, container_count_faults(len(containers)))
    names = [str(each.get("name") or "") for each in containers]
    yield from limit_findings(deployment, INVALID, container_name_faults(names))
    for at, container in enumerate(containers):
        image = str(container.get("image") or "")
        if (image or (complete and is_document(deployment))) and not is_stand_in(image):
            yield from limit_findings(deployment, INVALID, image_faults(container, at=at))
        limits = part(part(container, "resources"), "limits")
        for fault in limit_name_faults(limits, at=at):
            yield from limit_findings(deployment, INVALID, [fault], fix=_amount_fix(deployment, fault))
    ports = [[(str(port.get("name") or ""), whole(port, "containerPort")) for port in parts(each, "ports")] for each in containers]
    some_are_unknown = not complete and not any(ports)
    yield from limit_findings(deployment, INVALID, () if some_are_unknown else port_faults(ports))
    yield from limit_findings(deployment, INVALID, _ports_without_number(containers))
    if len(names) == len(set(names)):
        needs = dict(zip(names, (texts(each, "dependsOn") for each in containers), strict=True))
        yield from limit_findings(deployment, INVALID, dependency_faults(needs) if complete else ())


def _amount_fix(deployment: Deployment, fault: LimitFault) -> str | None:
    """The amount that was meant, as Cloud Run takes it; None where the text says none."""
    name = "cpu" if fault.field.endswith("[cpu]") else "memory" if fault.field.endswith("[memory]") else ""
    found = _AMOUNT.match(str(fault.value))
    if not name or found is None:
        return None
    unit = found["unit"].upper() or "G"
    right = found["number"] if name == "cpu" else f"{found['number']}{unit}i"
    return paste(deployment, flags=f"--{name}={right}", v2={"resources": {"limits": {name: right}}})


def _ports_without_number(containers: list[Json]) -> Iterator[LimitFault]:
    for at, container in enumerate(containers):
        for port in parts(container, "ports"):
            if not whole(port, "containerPort"):
                yield LimitFault(
                    field=f"template.containers[{at}].ports[0].container_port",
                    value="not set",
                    limit="1 to 65535",
                    why="a port that is listed has a number; only a container without ports gets 8080",
                    fix="write container_port: 8500 for gRPC, 8501 for REST",
                    text=ServerText.PORT_RANGE,
                )


def environment_and_arguments(deployment: Deployment) -> Iterator[Finding]:
    """Too many variables or arguments, or a value that is too long. Reserved names have a rule of their own."""
    if not deployment.is_service:
        return
    containers = parts(deployment.template, "containers")
    env = [[(str(each.get("name")), str(each["value"]) if "value" in each else None) for each in parts(one, "env")] for one in containers]
    faults = (fault for fault in env_faults(env) if fault.text is not ServerText.ENV_RESERVED)
    yield from limit_findings(deployment, INVALID, faults)
    yield from limit_findings(deployment, INVALID, args_faults([texts(one, "args") for one in containers]))


def volumes_and_network(deployment: Deployment) -> Iterator[Finding]:
    """Volumes, where they are mounted, and the way into a network."""
    if not deployment.is_service:
        return
    template = deployment.template
    volumes = parts(template, "volumes")
    yield from limit_findings(deployment, INVALID, volume_faults(volumes))
    for at, container in enumerate(parts(template, "containers")):
        if deployment.complete or volumes:
            yield from limit_findings(deployment, INVALID, mount_faults(container, volumes, at=at))
    yield from limit_findings(deployment, INVALID, vpc_access_faults(part(template, "vpcAccess")))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."


RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = (
    reading_problems,
    traffic_and_scaling,
    names_and_labels,
    containers_and_ports,
    environment_and_arguments,
    volumes_and_network,
)
