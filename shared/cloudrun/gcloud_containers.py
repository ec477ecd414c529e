"""The flags of `gcloud run deploy` that come from the containers and volumes of a service.

A container with a name gets a group of flags behind `--container`; the only container of a service may do without a name, and its flags
then stand among the service's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shared.cloudrun.fields import Fields, shown
from shared.cloudrun.gcloud_text import dictionary, listed, on_or_off
from shared.cloudrun.knative_containers import CLOUD_SQL_MOUNT

DEFAULT_PORT = 8080
HTTP2 = "h2c"
_LIMITS = {"cpu": "--cpu", "memory": "--memory", "nvidia.com/gpu": "--gpu"}
_PROBE_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold")


@dataclass(slots=True)
class ContainerFlags:
    """Flags of the service that containers and volumes ask for, of the one nameless container, and of each named one."""

    common: list[str] = field(default_factory=list)
    front: list[str] = field(default_factory=list)
    named: list[tuple[str, list[str]]] = field(default_factory=list)
    beta: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Volumes:
    """Volumes that gcloud makes by itself from other flags: of secrets, their files with gcloud's word for each; of Cloud SQL."""

    secrets: Mapping[str, Mapping[str, str]]
    sql: frozenset[str]


def container_flags(template: Fields) -> ContainerFlags:
    """Take the containers and volumes of a v2 template."""
    found = ContainerFlags()
    secrets: dict[str, Mapping[str, str]] = {}
    sql: set[str] = set()
    for volume in template.objects("volumes"):
        _volume(volume, found, secrets, sql)
    sources = template.objects("containers")
    resources = [source.object("resources") if "resources" in source else None for source in sources]
    _cpu([each for each in resources if each is not None], found)
    for source, limits in zip(sources, resources, strict=True):
        name = source.text("name")
        if not name and len(sources) > 1:
            found.missing.append(f"{source.path}/name: gcloud needs a name for each of several containers; this one is left out")
            _drop_all(source)
            continue
        given = _container(source, limits if limits is not None else Fields({}), found, _Volumes(secrets, frozenset(sql)))
        if name:
            found.named.append((name, given))
        else:
            found.front += given
    ingress = [each for each, flags in found.named if any(flag.startswith(("--port", "--use-http2")) for flag in flags)]
    if len(found.named) > 1 and len(ingress) != 1:
        found.missing.append(f"/template/containers: gcloud wants a port on exactly one of several containers, here on {len(ingress)}")
    return found


def _container(source: Fields, resources: Fields, found: ContainerFlags, volumes: _Volumes) -> list[str]:
    given: list[str] = []
    image = source.text("image")
    if image:
        given.append(f"--image={image}")
    for name in ("command", "args"):
        _distinct_list(source, name, f"--{name}", given, found)
    _port(source, given)
    limits = resources.object("limits")
    for name, flag in _LIMITS.items():
        amount = limits.text(name)
        if amount:
            given.append(f"{flag}={amount}")
    literals, secret_values = _environment(source, found)
    if literals:
        given.append(f"--set-env-vars={dictionary(literals)}")
    mounts = _mounts(source, found, volumes, secret_values)
    if secret_values:
        given.append(f"--set-secrets={dictionary(secret_values)}")
    given += mounts
    for name, flag in (("startupProbe", "--startup-probe"), ("livenessProbe", "--liveness-probe")):
        if name in source:
            _probe(source.object(name), flag, given, found)
    source.drop("buildInfo")
    _distinct_list(source, "dependsOn", "--depends-on", given, found)
    return given


def _distinct_list(source: Fields, name: str, flag: str, given: list[str], found: ContainerFlags) -> None:
    """A flag of a list, which gcloud refuses if a value is twice."""
    values = source.texts(name)
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        found.missing.append(f"{source.at(name)}: {shown(twice[0])} is twice in it, which {flag} refuses")
    elif values:
        given.append(f"{flag}={listed(values)}")


def _port(source: Fields, given: list[str]) -> None:
    for port in source.objects("ports")[:1]:
        number = port.whole("containerPort")
        if number:
            given.append(f"--port={number}")
        protocol = port.peek("name")
        if protocol == HTTP2:
            given.append("--use-http2")
        if protocol == HTTP2 or (protocol == "http1" and number):
            port.drop("name")


def _environment(source: Fields, found: ContainerFlags) -> tuple[dict[str, str], dict[str, str]]:
    literals: dict[str, str] = {}
    secret_values: dict[str, str] = {}
    for variable in source.objects("env"):
        name = variable.text("name") or ""
        value = variable.text("value")
        if not name or "=" in name or name.startswith("X_GOOGLE_") or name in literals or name in secret_values:
            found.missing.append(f"{variable.path}: {shown(name)} is twice, or no name that gcloud takes; it is left out")
            variable.drop("valueSource")
        elif "valueSource" in variable:
            reference = variable.object("valueSource").object("secretKeyRef")
            secret_values[name] = _secret_word(reference.text("secret"), reference.text("version"))
        else:
            literals[name] = value or ""
    return literals, secret_values


def _secret_word(secret: str | None, version: str | None) -> str:
    return f"{secret or ''}:{version or 'latest'}"


def _mounts(source: Fields, found: ContainerFlags, volumes: _Volumes, secret_values: dict[str, str]) -> list[str]:
    given = []
    for mount in source.objects("volumeMounts"):
        name, path = mount.text("name") or "", mount.text("mountPath") or ""
        if name in volumes.secrets:
            for file, word in volumes.secrets[name].items():
                secret_values[f"{path.rstrip('/')}/{file}"] = word
        elif name in volumes.sql:
            if path != CLOUD_SQL_MOUNT:
                found.missing.append(f"{mount.path}/mountPath: gcloud mounts Cloud SQL instances at {CLOUD_SQL_MOUNT} only")
        else:
            given.append(f"--add-volume-mount={dictionary({'volume': name, 'mount-path': path})}")
    return given


def _volume(volume: Fields, found: ContainerFlags, secrets: dict[str, Mapping[str, str]], sql: set[str]) -> None:
    name = volume.text("name") or ""
    said: dict[str, str] = {"name": name}
    if "secret" in volume:
        secrets[name] = _secret_volume(volume.object("secret"))
        return
    if "cloudSqlInstance" in volume:
        sql.add(name)
        _distinct_list(volume.object("cloudSqlInstance"), "instances", "--set-cloudsql-instances", found.common, found)
        return
    if "emptyDir" in volume:
        said |= _in_memory(volume.object("emptyDir"))
    elif "nfs" in volume:
        nfs = volume.object("nfs")
        said |= {"type": "nfs", "location": f"{nfs.text('server') or ''}:{nfs.text('path') or '/'}", **_read_only(nfs)}
    elif "gcs" in volume:
        said |= _bucket(volume.object("gcs"), found)
    if "type" in said:
        found.common.append(f"--add-volume={dictionary(said)}")
    else:
        found.missing.append(f"{volume.path}: no kind of volume that gcloud adds")
        _drop_all(volume)


def _drop_all(source: Fields) -> None:
    """What is reported whole is not reported part by part."""
    for name in source.names():
        source.drop(name)


def _in_memory(source: Fields) -> dict[str, str]:
    if source.word("medium") in {"MEMORY", "MEDIUM_UNSPECIFIED"}:
        source.drop("medium")
    limit = source.text("sizeLimit")
    return {"type": "in-memory", **({"size-limit": limit} if limit else {})}


def _bucket(source: Fields, found: ContainerFlags) -> dict[str, str]:
    said = {"type": "cloud-storage", "bucket": source.text("bucket") or "", **_read_only(source)}
    options = source.texts("mountOptions")
    if any("," in option or ";" in option for option in options):
        found.missing.append(f"{source.at('mountOptions')}: gcloud takes no option with a comma or a semicolon")
    elif options:
        said["mount-options"] = ";".join(options)
        found.beta.append("mount-options of --add-volume")
    return said


def _read_only(source: Fields) -> dict[str, str]:
    return {"readonly": "true"} if source.flag("readOnly") else {}


def _secret_volume(source: Fields) -> dict[str, str]:
    """Files by their path; without items Cloud Run mounts the latest version under the secret's name."""
    secret = source.text("secret") or ""
    files = {}
    for item in source.objects("items"):
        files[item.text("path") or ""] = _secret_word(secret, item.text("version"))
    return files or {secret.rsplit("/", 1)[-1]: _secret_word(secret, None)}


def _probe(source: Fields, flag: str, given: list[str], found: ContainerFlags) -> None:
    if flag == "--liveness-probe" and "tcpSocket" in source:
        found.missing.append(f"{source.path}: {flag} takes no tcpSocket, and Cloud Run no such probe; it is left out")
        _drop_all(source)
        return
    said: dict[str, str] = {}
    for name in _PROBE_NUMBERS:
        number = source.whole(name)
        if number:
            said[name] = str(number)
    if "httpGet" in source:
        action = source.object("httpGet")
        port = action.whole("port")
        said |= {"httpGet.path": action.text("path") or "/", **({"httpGet.port": str(port)} if port else {})}
    elif "grpc" in source:
        action = source.object("grpc")
        port, service = action.whole("port"), action.text("service")
        said |= {"grpc.port": str(port or ""), **({"grpc.service": service} if service else {})}
    elif "tcpSocket" in source:
        said |= {"tcpSocket.port": str(source.object("tcpSocket").whole("port") or "")}
    if _moved(said, given):
        found.missing.append(f"{source.path}/tcpSocket/port: gcloud changes it from {DEFAULT_PORT} to the container's --port")
    if said:
        given.append(f"{flag}={dictionary(said)}")
    else:
        found.missing.append(f"{source.path}: an empty probe cannot be given; gcloud removes the probe instead")


def _moved(said: Mapping[str, str], given: Sequence[str]) -> bool:
    """Whether gcloud changes the probe: a TCP start-up probe of the port the container had (a new one 8080) moves to the one it gets."""
    port = next((flag.partition("=")[2] for flag in given if flag.startswith("--port=")), str(DEFAULT_PORT))
    return said.get("tcpSocket.port") == str(DEFAULT_PORT) != port


def _cpu(sized: Sequence[Fields], found: ContainerFlags) -> None:
    """CPU billing and start-up boost are flags of the service; the boost is always said, as gcloud turns it on for new services."""
    idle = [bool(each.flag("cpuIdle")) for each in sized]
    boosted = [bool(each.flag("startupCpuBoost")) for each in sized]
    if idle:
        found.common.append(on_or_off("cpu-throttling", on=all(idle)))
    if any(idle) and not all(idle):
        found.missing.append("/template/containers: cpuIdle differs between containers; gcloud has one --cpu-throttling for all")
    found.common.append(on_or_off("cpu-boost", on=any(boosted)))
    if any(boosted) and not all(boosted):
        found.missing.append("/template/containers: startupCpuBoost differs between containers; gcloud has one --cpu-boost for all")
