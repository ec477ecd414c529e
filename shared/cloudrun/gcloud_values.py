"""The values of gcloud's flags, read as its parser reads them, and refused where it refuses them. Pure.

Sources: gcloud 528's `arg_parsers` (lists, dictionaries, durations), its types of `gcloud run` (counts, ports, probes, volumes) and
`secrets_mapping`. What gcloud accepts and only Cloud Run refuses is a value here.
"""

import re
from collections.abc import Callable, Mapping

from shared.cloudrun.gcloud_flags import GcloudFlag, Kind
from shared.cloudrun.shell_variables import UNKNOWN, shown

Value = str | int | list[str] | dict[str, str] | None
"""None: the value is not known, or it is the word that takes a setting away; see `read_value`."""

MAX_PORT = 65_535
MAX_SHOWN = 60
MAX_NAMES = 9
"""Containers in --depends-on and --remove-containers."""

_PROBE_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold")
_ACTIONS = ("httpGet.port", "httpGet.path", "grpc.port", "grpc.service")
PROBE_KEYS: Mapping[Kind, tuple[str, ...]] = {
    Kind.STARTUP_PROBE: (*_PROBE_NUMBERS, *_ACTIONS, "tcpSocket.port"),
    Kind.LIVENESS_PROBE: (*_PROBE_NUMBERS, *_ACTIONS),
    Kind.READINESS_PROBE: ("timeoutSeconds", "periodSeconds", "failureThreshold", "successThreshold", *_ACTIONS),
}
TCP_PORT = "tcpSocket.port"
_TCP = re.compile(r"tcpsocket.*|tcp(?:\.port)?")
_PROBE_TEXTS = frozenset({"httpGet.path", "grpc.service"})
_CONTAINER_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-.]{0,61}[a-z0-9])?\n?")
_BUILD_ACCOUNT = re.compile(r"projects/[^/]+/serviceAccounts/[^/]+")
_PROJECT = re.compile(r"(?:(?:[-a-z0-9]{1,63}\.)*(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?):)?[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_SECRET_ELSEWHERE = re.compile(
    r"projects/(?P<project>[0-9]{1,19})/secrets/(?P<name>[a-zA-Z0-9-_]{1,255})(?::(?P<short>.+)|/versions/(?P<long>.+))?"
)
_SECRET_NAME = re.compile(r"[a-zA-Z0-9-_]{1,255}")
_DURATION_PART = re.compile(r"(?P<number>[0-9.,]*)(?P<unit>[^0-9.,])")
_UNITS = {"S": 1, "M": 60, "H": 3_600, "D": 86_400, "W": 604_800}
_PARTS_OF_SECONDS = {"MS": 1_000, "US": 1_000_000, "NS": 1_000_000_000}
_MAX_DIGITS = 300


class ValueRefused(Exception):
    """gcloud's parser refuses the value: why, and what to write instead (empty: nothing certain)."""

    def __init__(self, why: str, fix: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.fix = fix


def cut(text: str) -> str:
    """A value as a message repeats it."""
    plain = shown(text)
    return repr(plain if len(plain) <= MAX_SHOWN else f"{plain[:MAX_SHOWN]}…")


def read_value(flag: GcloudFlag, text: str) -> Value:
    """The value that gcloud's parser makes of the text; a single value of which a part is not known is None.

    Raises:
        ValueRefused: gcloud's parser refuses it.
    """
    if flag.kind in _LISTS:
        return _LISTS[flag.kind](flag, text)
    if UNKNOWN in text:
        return None
    if flag.kind is Kind.CHOICE and text not in flag.choices:
        raise ValueRefused(
            f"{cut(text)} is none of the values that gcloud knows: {', '.join(flag.choices)}", f"--{flag.name}={flag.choices[-1]}"
        )
    reader = _SINGLES.get(flag.kind)
    return text if reader is None else reader(text)


def split(text: str) -> tuple[list[str], str]:
    """A list as gcloud splits it, and its delimiter: a comma, or the text between two carets in front.

    Raises:
        ValueRefused: there is nothing between the carets.
    """
    delimiter = ","
    if text.startswith("^") and "^" in text[1:]:
        delimiter, text = text[1:].split("^", 1)
        if not delimiter:
            raise ValueRefused("there is no delimiter between the two carets in front of the list", "^;^ in front, in quotes")
    if not text:
        return [], delimiter
    return (text if text.endswith(delimiter) else text + delimiter).split(delimiter)[:-1], delimiter


def _list(flag: GcloudFlag, text: str) -> list[str]:
    items = split(text)[0]
    if flag.kind is Kind.CONTAINER_NAMES:
        if len(items) > MAX_NAMES:
            raise ValueRefused(f"gcloud takes at most {MAX_NAMES} names here")
        for item in items:
            if UNKNOWN not in item and not _CONTAINER_NAME.fullmatch(item):
                raise ValueRefused(f"{cut(item)} is no container name: lowercase letters, digits, hyphens and periods, at most 63")
    if flag.kind is Kind.ENV_NAMES:
        for item in items:
            _env_name(item)
    return items


def _env_name(name: str) -> None:
    if not name:
        raise ValueRefused("the name of an environment variable is empty", "NAME=value,OTHER=value")
    if name.startswith("X_GOOGLE_"):
        raise ValueRefused(f"{cut(name)}: names that begin with X_GOOGLE_ are reserved and gcloud refuses them", "another name")
    if "=" in name:
        raise ValueRefused(f"{cut(name)}: a name cannot hold a =", "the name alone")


def _dict(flag: GcloudFlag, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    items, delimiter = split(text)
    for item in items:
        key, equals, value = item.partition("=")
        if not equals and UNKNOWN in item:
            continue
        if not key or not equals:
            raise ValueRefused(_not_a_pair(flag, item, text, delimiter), _as_pairs(flag, items, delimiter))
        if UNKNOWN in key:
            continue
        if flag.kind is Kind.ENV:
            _env_name(key)
        found[key] = value
    return found


def _not_a_pair(flag: GcloudFlag, item: str, text: str, delimiter: str) -> str:
    why = "is not KEY=VALUE" if item else "an item is empty and not KEY=VALUE"
    start = f"{cut(item)} {why}" if item else why
    return f"{start}; gcloud splits the value of --{flag.name} at {delimiter!r}" if item != text else start


def _as_pairs(flag: GcloudFlag, items: list[str], delimiter: str) -> str:
    """The list with a delimiter that leaves the commas inside the values alone, if that makes every item a pair."""
    meant: list[str] = []
    for item in items:
        if meant and "=" not in item:
            meant[-1] += delimiter + item
        else:
            meant.append(item)
    if delimiter != "," or not meant or any(not each.partition("=")[0] or "=" not in each for each in meant):
        return f"--{flag.name}=KEY=VALUE,OTHER=VALUE"
    mark = next((each for each in ";@|#" if each not in "".join(meant)), "@@")
    joined = shown(mark.join(meant))
    return f"--{flag.name}='^{mark}^{joined}'" if len(joined) <= 4 * MAX_SHOWN else f"--{flag.name}='^{mark}^...'"


def _probe(flag: GcloudFlag, text: str) -> dict[str, str]:
    """The settings of a probe. A TCP probe that is no start-up probe is kept although gcloud refuses it: a rule of its own is about it."""
    found = _dict(flag, text)
    known = PROBE_KEYS[flag.kind]
    tcp = next((key for key in found if _TCP.fullmatch(key.lower())), None)
    if tcp is not None and TCP_PORT not in known and (tcp != TCP_PORT or set(found) - {*known, TCP_PORT} or not found[tcp].isdecimal()):
        name = flag.name.removesuffix("-probe")
        fix = f"--{flag.name}=httpGet.path=/v1/models/MODEL_NAME,httpGet.port=8501"
        raise ValueRefused(f"{cut(tcp)} makes it a TCP probe, and a {name} probe cannot be one", fix)
    for key, value in found.items():
        if key not in known and key != TCP_PORT:
            name = flag.name.removesuffix("-probe")
            raise ValueRefused(f"a {name} probe has no key {cut(key)}; gcloud knows {', '.join(known)}", _nearest_probe_key(key, value))
        if key not in _PROBE_TEXTS and value and UNKNOWN not in value:
            _whole(value, f"{key} is {cut(value)}; gcloud wants a whole number", f"{key}=10")
    return found


def _nearest_probe_key(key: str, value: str) -> str:
    """What people write for the keys of gcloud, which are those of v1."""
    plain = key.lower().replace("-", "").replace("_", "")
    meant = {"path": "httpGet.path", "port": "httpGet.port", "http": "httpGet.path", "tcp": TCP_PORT, "grpc": "grpc.port"}.get(plain)
    if meant is None:
        meant = next((each for each in _PROBE_NUMBERS if each.lower().startswith(plain)), None)
    return "" if meant is None else f"{meant}={shown(value)[:MAX_SHOWN]}"


def _volume(flag: GcloudFlag, text: str) -> dict[str, str]:
    found = _dict(flag, text)
    if UNKNOWN not in text:
        for key in ("name", "type"):
            if key not in found:
                raise ValueRefused(f"the key {key} is missing", "name=NAME,type=cloud-storage,bucket=BUCKET")
    return found


def _mount(flag: GcloudFlag, text: str) -> dict[str, str]:
    found = _dict(flag, text)
    example = "volume=NAME,mount-path=/PATH"
    for key in found:
        if key not in {"volume", "mount-path"}:
            raise ValueRefused(f"a mount has no key {cut(key)}, only volume and mount-path", example)
    for key in ("volume", "mount-path"):
        if key not in found and UNKNOWN not in text:
            raise ValueRefused(f"the key {key} is missing", example)
    return found


def _whole(text: str, why: str, fix: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueRefused(why, fix) from None


def _instances(text: str) -> int | None:
    if text == "default":
        return None
    count = _whole(text, f"{cut(text)} is neither a whole number nor the word default", "a number of instances")
    if count < 0:
        raise ValueRefused(f"{count} instances are fewer than none", "0 or more")
    return count


def _scaling(text: str) -> str | int:
    if text == "auto":
        return text
    count = _whole(text, f"{cut(text)} is neither a whole number nor the word auto", "auto, or a number of instances")
    if count < 0:
        raise ValueRefused(f"{count} instances are fewer than none", "auto, or 0 or more")
    return count


def _percent(text: str) -> int | None:
    if text == "default":
        return None
    share = _whole(text, f"{cut(text)} is neither a whole number nor the word default", "0 to 100")
    if not 0 <= share <= 100:  # noqa: PLR2004 (percent)
        raise ValueRefused(f"{share} is not between 0 and 100", "0 to 100")
    return share


def _concurrency(text: str) -> int | None:
    if text == "default":
        return None
    why = f"{cut(text)} is neither a whole number above 0 nor the word default"
    count = _whole(text, why, "a number of requests, 1 to 1000")
    if count <= 0:
        raise ValueRefused(why, "a number of requests, 1 to 1000")
    return count


def _port(text: str) -> int | None:
    if text == "default":
        return None
    why = f"{cut(text)} is no port: a whole number from 1 to {MAX_PORT}, or the word default"
    port = _whole(text, why, "8500 for gRPC, 8501 for REST")
    if not 1 <= port <= MAX_PORT:
        raise ValueRefused(why, "8500 for gRPC, 8501 for REST")
    return port


def _duration(text: str) -> int:
    """Whole seconds of a time such as 300, 90m, 1m30s."""
    why = f"{cut(text)} is no time that gcloud reads; it takes seconds, or numbers with s, m, h or d: 300, 90s, 5m"
    seconds = _seconds(text)
    if seconds is None:
        raise ValueRefused(why, "300s")
    if seconds < 1:
        raise ValueRefused(f"{cut(text)} is below the least that gcloud takes, 1s", "300s")
    if round(seconds, 4) != int(seconds):
        raise ValueRefused(
            f"{cut(text)} is not a whole number of seconds, and Cloud Run counts no parts of them", f"{max(1, round(seconds))}s"
        )
    return int(seconds)


def _seconds(text: str) -> float | None:
    try:
        return int(text)
    except ValueError:
        pass
    rest = text.upper()
    sign = -1 if rest.startswith("-") else 1
    rest = rest.removeprefix("-") if sign < 0 else rest.removeprefix("+")
    with_p = rest.startswith("P")
    rest = rest.removeprefix("P")
    total, place, in_time = 0.0, 0, not with_p
    seen_t = False
    while place < len(rest):
        part = _DURATION_PART.match(rest, place)
        if part is None:
            return None
        number, unit = part["number"].replace(",", "."), part["unit"]
        place = part.end()
        if unit == "T":
            if seen_t or number:
                return None
            seen_t = in_time = True
            continue
        if not number or number.count(".") > 1 or number == "." or len(number) > _MAX_DIGITS:
            return None
        scale = _scale(rest, place, unit, in_time=in_time)
        if scale is None:
            return None
        total += float(number) * scale
        in_time = in_time or unit in "HMS"
        if rest[place - 1 :] in _PARTS_OF_SECONDS:
            break
    return sign * total if place or rest == "0" else 0.0


def _scale(rest: str, place: int, unit: str, *, in_time: bool) -> float | None:
    """Seconds of one unit; None for an unknown one. Months and years have none: a request does not take that long."""
    ending = rest[place - 1 :]
    if ending in _PARTS_OF_SECONDS:
        return 1 / _PARTS_OF_SECONDS[ending]
    if unit == "M" and not in_time:
        return None
    return _UNITS.get(unit)


def _build_account(text: str) -> str:
    if text and not _BUILD_ACCOUNT.fullmatch(text):
        raise ValueRefused(f"{cut(text)} is no full name of a service account", "projects/PROJECT/serviceAccounts/EMAIL")
    return text


def _project(text: str) -> str:
    if not _PROJECT.fullmatch(text):
        raise ValueRefused(f"{cut(text)} is no project id: lowercase letters, digits and hyphens", "--project=PROJECT_ID")
    return text


def secret_version(text: str, key: str) -> tuple[str, str]:
    """Secret and version of `NAME:VERSION`, the secret's full name where it is in another project.

    Raises:
        ValueRefused: gcloud takes no such reference.
    """
    if UNKNOWN in text:
        name, _, version = text.partition(":")
        return name, version or "latest"
    elsewhere = _SECRET_ELSEWHERE.fullmatch(text)
    if elsewhere:
        return f"projects/{elsewhere['project']}/secrets/{elsewhere['name']}", elsewhere["short"] or elsewhere["long"] or "latest"
    name, colon, version = text.partition(":")
    if not colon:
        raise ValueRefused(f"{key} names the secret {cut(text)} without a version", f"{key}={shown(text)}:latest")
    if ":" in version or not _SECRET_NAME.fullmatch(name):
        raise ValueRefused(f"{key} names no secret: {cut(text)} is not SECRET:VERSION", f"{key}=SECRET:latest")
    return name, version


_LISTS: Mapping[Kind, Callable[[GcloudFlag, str], list[str] | dict[str, str]]] = {
    Kind.LIST: _list,
    Kind.ENV_NAMES: _list,
    Kind.CONTAINER_NAMES: _list,
    Kind.DICT: _dict,
    Kind.ENV: _dict,
    Kind.VOLUME: _volume,
    Kind.MOUNT: _mount,
    Kind.STARTUP_PROBE: _probe,
    Kind.LIVENESS_PROBE: _probe,
    Kind.READINESS_PROBE: _probe,
}
_SINGLES: Mapping[Kind, Callable[[str], Value]] = {
    Kind.INSTANCES: _instances,
    Kind.SCALING: _scaling,
    Kind.PERCENT: _percent,
    Kind.CONCURRENCY: _concurrency,
    Kind.PORT: _port,
    Kind.DURATION: _duration,
    Kind.BUILD_ACCOUNT: _build_account,
    Kind.PROJECT: _project,
}
