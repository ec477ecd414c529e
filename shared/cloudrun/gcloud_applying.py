"""One gcloud command's changes to a service, in the order in which gcloud makes them. Pure.

Source: gcloud 528's `flags`, which puts the changes in order.
"""

from collections.abc import Callable, Iterable, Mapping

from shared.cloudrun.command_draft import Change, ContainerDraft, Said
from shared.cloudrun.gcloud_arguments import GivenFlag
from shared.cloudrun.gcloud_container_changes import CONTAINER_FLAGS
from shared.cloudrun.gcloud_flags import Repeat
from shared.cloudrun.gcloud_service_changes import SERVICE_FLAGS
from shared.cloudrun.gcloud_values import ValueRefused

Refused = Callable[[GivenFlag, ValueRefused], None]

_FIRST = ("clear-volumes", "clear-volume-mounts", "remove-volume", "remove-volume-mount", "remove-secrets", "clear-secrets")
_LAST = (
    "gpu-type",
    "port",
    "use-http2",
    "service-min-instances",
    "service-max-instances",
    "scaling",
    "clear-vpc-connector",
    "clear-network",
)
"""gcloud makes these changes behind the others."""


def apply_flags(change: Change, service: Iterable[GivenFlag], containers: Mapping[str, Iterable[GivenFlag]], refused: Refused) -> None:
    """Make the changes of a command's flags, those of the service and those behind each --container.

    `refused` is called with what gcloud refuses while it makes them: the flag, and why.
    """
    given = _effective(service)
    for each in given:
        _attempt(change, each, None, refused)
    for name, flags in containers.items():
        container = change.draft.container(name)
        container.name_said = container.name_said or Said(name, "--container", None)
        for each in _effective(flags):
            _attempt(change, each, container, refused)
    manual = next((each for each in given if each.flag.name == "scaling" and isinstance(each.value, int)), None)
    maximum = next((each for each in given if each.flag.name in {"max", "service-max-instances"}), None)
    if manual is not None and maximum is not None:
        refused(maximum, ValueRefused("there is no maximum with manual scaling", f"leave {maximum.written} or {manual.written} out"))


def _attempt(change: Change, each: GivenFlag, container: ContainerDraft | None, refused: Refused) -> None:
    name = each.flag.name
    try:
        if name in CONTAINER_FLAGS:
            CONTAINER_FLAGS[name](change, each, container if container is not None else change.draft.container())
        elif name in SERVICE_FLAGS:
            SERVICE_FLAGS[name](change, each)
    except ValueRefused as reason:
        refused(each, reason)


def _order(each: GivenFlag) -> int:
    name = each.flag.name
    return -1 if name in _FIRST else _LAST.index(name) + 1 if name in _LAST else 0


def _effective(given: Iterable[GivenFlag]) -> list[GivenFlag]:
    """In the order of gcloud's changes; of a flag that is given twice the last one, unless gcloud puts them together."""
    flags = list(given)
    last = {each.flag.name: each for each in flags}
    return sorted((each for each in flags if each.flag.repeat in {Repeat.MERGE, Repeat.EACH} or last[each.flag.name] is each), key=_order)
