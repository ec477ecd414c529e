"""What differs between two services, field by field, and whether it takes a new revision."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shared.rendering.canonical import canonical_service


@dataclass(frozen=True, slots=True)
class Difference:
    """One field. None is a field that is not there."""

    path: str
    """Cloud Run's own names, elements of lists by their name: `template.containers[serving].env[MODEL_NAME].value`."""
    before: Any
    after: Any

    @property
    def new_revision(self) -> bool:
        """Whether Cloud Run makes a new revision for it: whatever is in the template does, nothing else."""
        return self.path.split(".", 1)[0] == "template"


_LISTS = frozenset({"containers", "env", "volumes", "volumeMounts"})


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Everything that differs in meaning between two v2 JSON documents of a service, in the order of the paths."""
    return tuple(sorted(_walk("", canonical_service(before), canonical_service(after)), key=lambda found: found.path))


def contents(document: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Everything that a document says, as differences to a service that is not there."""
    return tuple(sorted(_walk("", {}, canonical_service(document)), key=lambda found: found.path))


def _walk(path: str, before: Any, after: Any) -> Iterator[Difference]:
    if before == after:
        return
    if not isinstance(before, dict) and not isinstance(after, dict):
        yield Difference(path, before, after)
        return
    # What is there on one side only is told field by field as well: a new container is its image, its limits, ...
    left, right = (side if isinstance(side, dict) else {} for side in (before, after))
    if not left and not right:
        yield Difference(path, before, after)
        return
    listed = path.rpartition(".")[2] in _LISTS
    for name in {**left, **right}:
        below = f"{path}[{name}]" if listed else f"{path}.{name}" if path else name
        yield from _walk(below, left.get(name), right.get(name))
