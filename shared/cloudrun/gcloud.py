"""The `gcloud run deploy` command that makes a service, and what no flag of it can say. Pure.

Flags and their syntax are those of gcloud 528 (its own source: run's flags and configuration changes, and the lists and dictionaries
of its argument parser). The command says everything that the service says; on a service that exists gcloud keeps what a command does
not name, so it is the whole truth for a new one only.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from shared.cloudrun.fields import Fields, shown
from shared.cloudrun.gcloud_containers import ContainerFlags, container_flags
from shared.cloudrun.gcloud_text import dictionary, listed, on_or_off
from shared.cloudrun.knative import FULL_NAME
from shared.cloudrun.knative_annotations import (
    EGRESS,
    EXECUTION_ENVIRONMENTS,
    INGRESS,
    KEY_REVOCATION_ACTIONS,
    SECONDS_PER_HOUR,
    is_own,
)
from shared.cloudrun.output_fields import OUTPUT_FIELDS

Track = Literal["ga", "beta", "alpha"]

_WHOLE_SECONDS = re.compile(r"[1-9][0-9]{0,6}s")

MAX_ARGUMENT_BYTES = 131_071
"""Linux refuses to start a program with a longer single argument; all environment variables of a container are one."""

_NOT_SENT = frozenset(OUTPUT_FIELDS) - {"threatDetectionEnabled"}
"""Threat detection is named among what the command cannot set: in a v1 document it is a setting."""

NONCE_LABEL = "client.knative.dev/nonce"
USER_IMAGE_ANNOTATION = "client.knative.dev/user-image"
"""gcloud writes these to each revision it makes, in its own words."""

_TO_LATEST: tuple[dict[str, int], ...] = ({}, {"percent": 100})


@dataclass(frozen=True, slots=True)
class GcloudCommand:
    """A command and its limits.

    `argv` is the command as a program gets it, `text` the same for pasting into a POSIX shell, a flag a line. `not_expressible` are
    sentences, each naming a v2 field that the command cannot set; `notes` are effects of the command beside what the service says.
    """

    argv: tuple[str, ...]
    text: str
    not_expressible: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Flags:
    """Flags gathered so far."""

    given: list[str] = field(default_factory=list)
    beta: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def add(self, flag: str, value: object) -> None:
        """`--flag=VALUE`, unless there is no value."""
        if value is not None and value != "":
            self.given.append(f"{flag}={value}")

    def needs_beta(self, flag: str, value: object = None) -> None:
        self.given.append(flag if value is None else f"{flag}={value}")
        self.beta.append(flag)


def deploy_command(v2: Mapping[str, Any], *, project: str, region: str) -> GcloudCommand:
    """The command that deploys the service, given as v2 REST JSON, to the project and region given.

    It uses gcloud's beta track if a flag is only there or the service's launch stage asks for it.

    Raises:
        ServiceDocumentError: a field of the wrong type.
    """
    source = Fields({name: value for name, value in v2.items() if name not in _NOT_SENT})
    flags = _Flags()
    full_name = source.text("name") or ""
    found = FULL_NAME.fullmatch(full_name)
    name = found["name"] if found else full_name
    stage = source.text("launchStage")
    template = source.object("template")
    labels = source.text_map("labels", keep=is_own)

    _service_flags(source, flags, labels)
    _template_flags(template, flags, name, labels)
    given = container_flags(template)
    flags.given += given.common
    flags.beta += given.beta
    flags.missing += given.missing
    _traffic(source, flags, name)
    if not name:
        flags.missing.append("/name: the service has no name; gcloud asks for one")
    flags.missing += [f"{where}: {shown(value)} has no flag" for where, value in sorted(source.left().items())]
    track = _track(stage, flags)
    return _command(track, name, [f"--project={project}", f"--region={region}", *flags.given], given, flags)


def _command(track: Track, name: str, service: Sequence[str], containers: ContainerFlags, flags: _Flags) -> GcloudCommand:
    program = ["gcloud", *([] if track == "ga" else [track]), "run", "deploy", *([name] if name else [])]
    lines = [*service, *containers.front]
    groups = [[f"--container={each}", *group] for each, group in containers.named]
    argv = [*program, *lines, *(flag for group in groups for flag in group)]
    notes = list(_notes(track, flags, argv))
    shell_lines = [shlex.join(program), *(shlex.quote(flag) for flag in lines)]
    for group in groups:
        shell_lines += [shlex.quote(group[0]), *(f"  {shlex.quote(flag)}" for flag in group[1:])]
    text = " \\\n  ".join(shell_lines) + "\n"
    return GcloudCommand(tuple(argv), text, tuple(flags.missing), tuple(notes))


def _notes(track: Track, flags: _Flags, argv: Sequence[str]) -> Iterator[str]:
    if track != "ga":
        why = f" because of {', '.join(flags.beta)}" if flags.beta else ""
        yield f"uses gcloud {track}{why}; that track sets the service's launch stage to {track.upper()}"
    for argument in argv:
        size = len(argument.encode("utf-8", "surrogatepass"))
        if size > MAX_ARGUMENT_BYTES:
            name = argument.partition("=")[0]
            yield f"{name} has {size:,} bytes; Linux starts no program with an argument above {MAX_ARGUMENT_BYTES:,}: use services replace"


def _track(stage: str | None, flags: _Flags) -> Track:
    if stage == "ALPHA":
        return "alpha"
    if stage not in {None, "", "GA", "BETA", "LAUNCH_STAGE_UNSPECIFIED"}:
        flags.missing.append(f"/launchStage: {shown(stage)} has no gcloud track")
    return "beta" if flags.beta or stage == "BETA" else "ga"


def _word(source: Fields, name: str, words: Mapping[str, str]) -> str | None:
    """The word that gcloud has for a v2 value; a value that it has no word for stays to be reported."""
    value = source.peek(name)
    if isinstance(value, str) and value.endswith("_UNSPECIFIED"):
        source.drop(name)
        return None
    word = next((word for word, known in words.items() if known == value), None)
    if word is not None:
        source.drop(name)
    return word


def _service_flags(source: Fields, flags: _Flags, labels: Mapping[str, str]) -> None:
    flags.add("--description", source.text("description"))
    flags.add("--client-name", source.text("client"))
    flags.add("--client-version", source.text("clientVersion"))
    flags.add("--ingress", _word(source, "ingress", {word: value for word, value in INGRESS.items() if word != "none"}))
    # Sorted: protobuf's order of a map is another one in each process.
    flags.add("--labels", dictionary(dict(sorted(labels.items()))))
    flags.add("--update-annotations", dictionary(dict(sorted(source.text_map("annotations", keep=is_own).items()))))
    flags.add("--set-custom-audiences", _distinct(source, "customAudiences", flags))
    if source.flag("invokerIamDisabled"):
        flags.given.append("--no-invoker-iam-check")
    if source.flag("defaultUriDisabled"):
        flags.needs_beta("--no-default-url")
    if source.flag("iapEnabled"):
        flags.needs_beta("--iap")
    policy = source.object("binaryAuthorization")
    flags.add("--binary-authorization", "default" if policy.flag("useDefault") else policy.text("policy"))
    flags.add("--breakglass", policy.text("breakglassJustification"))
    _scaling_flags(source.object("scaling"), flags)


def _scaling_flags(scaling: Fields, flags: _Flags) -> None:
    mode = scaling.word("scalingMode")
    if mode in {"AUTOMATIC", "MANUAL"}:
        scaling.drop("scalingMode")
    if mode == "MANUAL":
        # gcloud's --scaling=N removes the service's minimum and maximum, so these are left to be reported.
        flags.needs_beta("--scaling", scaling.whole("manualInstanceCount") or 0)
        return
    if mode == "AUTOMATIC":
        flags.needs_beta("--scaling", "auto")
    flags.add("--min", scaling.whole("minInstanceCount"))
    maximum = scaling.whole("maxInstanceCount")
    if maximum:
        flags.needs_beta("--max", maximum)


def _template_flags(template: Fields, flags: _Flags, name: str, labels: Mapping[str, str]) -> None:
    revision = template.peek("revision")
    if isinstance(revision, str) and name and revision.startswith(f"{name}-"):
        flags.add("--revision-suffix", revision.removeprefix(f"{name}-"))
        template.drop("revision")
    revision_labels = template.object("labels")
    revision_labels.drop(NONCE_LABEL)
    template.object("annotations").drop(USER_IMAGE_ANNOTATION)
    if revision_labels.remaining_texts(keep=lambda key: revision_labels.peek(key) == labels.get(key)) != labels:
        flags.missing.append("/template/labels: gcloud copies all labels of the service to the revision")
    scaling = template.object("scaling")
    flags.add("--min-instances", scaling.whole("minInstanceCount"))
    flags.add("--max-instances", scaling.whole("maxInstanceCount"))
    flags.add("--concurrency", template.whole("maxInstanceRequestConcurrency") or None)
    timeout = template.peek("timeout")
    if isinstance(timeout, str) and _WHOLE_SECONDS.fullmatch(timeout):
        template.drop("timeout")
        flags.add("--timeout", timeout)
    flags.add("--service-account", template.text("serviceAccount"))
    flags.add("--execution-environment", _word(template, "executionEnvironment", EXECUTION_ENVIRONMENTS))
    flags.add("--gpu-type", template.object("nodeSelector").text("accelerator"))
    disabled = template.flag("gpuZonalRedundancyDisabled")
    if disabled is not None:
        flags.given.append(on_or_off("gpu-zonal-redundancy", on=not disabled))
    if template.flag("sessionAffinity"):
        flags.given.append("--session-affinity")
    if template.flag("healthCheckDisabled"):
        flags.needs_beta("--no-deploy-health-check")
    mesh = template.object("serviceMesh").text("mesh")
    if mesh:
        flags.needs_beta("--mesh", mesh)
    _network_flags(template.object("vpcAccess"), flags)
    flags.add("--key", template.text("encryptionKey"))
    flags.add("--post-key-revocation-action-type", _word(template, "encryptionKeyRevocationAction", KEY_REVOCATION_ACTIONS))
    seconds = (template.text("encryptionKeyShutdownDuration") or "").removesuffix("s")
    if seconds.isdecimal() and int(seconds) % SECONDS_PER_HOUR == 0:
        flags.add("--encryption-key-shutdown-hours", int(seconds) // SECONDS_PER_HOUR)
    elif seconds:
        flags.missing.append(f"/template/encryptionKeyShutdownDuration: {seconds}s is not a whole number of hours")


def _network_flags(network: Fields, flags: _Flags) -> None:
    flags.add("--vpc-connector", network.text("connector"))
    interfaces = network.objects("networkInterfaces")
    if interfaces:
        flags.add("--network", interfaces[0].text("network"))
        flags.add("--subnet", interfaces[0].text("subnetwork"))
        flags.add("--network-tags", _distinct(interfaces[0], "tags", flags))
    flags.add("--vpc-egress", _word(network, "egress", EGRESS))


def _distinct(source: Fields, name: str, flags: _Flags) -> str | None:
    """A list for a flag that refuses a value that is twice in it."""
    values = source.texts(name)
    if len(set(values)) < len(values):
        flags.missing.append(f"{source.at(name)}: gcloud refuses a value that is twice in a list")
        return None
    return listed(values)


def _traffic(source: Fields, flags: _Flags, name: str) -> None:
    targets = source.peek("traffic")
    source.drop("traffic")
    if not targets:
        return
    known = isinstance(targets, list) and len(targets) == 1 and isinstance(targets[0], dict)
    rest = {key: value for key, value in targets[0].items() if key != "type"} if known else None
    if rest not in _TO_LATEST or targets[0].get("type") != "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST":
        flags.missing.append(f"/traffic: deploy cannot split traffic; follow with gcloud run services update-traffic {name}")
