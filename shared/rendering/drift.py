"""What differs between the service as it was left and as it is now, and who made it so."""

from collections.abc import Collection
from dataclasses import dataclass

from shared.cloudrun.drift import Writer, writer_of
from shared.rendering.differences import Difference, differences
from shared.rendering.messages import Json


@dataclass(frozen=True, slots=True)
class Drift:
    """The differences in meaning, and the writer as far as the service itself tells (see `cloudrun.drift`)."""

    writer: Writer
    principal: str
    changes: tuple[Difference, ...]


def drift(left: Json, seen: Json, *, ours: Collection[str]) -> Drift | None:
    """How the service moved away from `left`, the document as it was when it was last in order; None where it means the same.

    Both are v2 JSON documents of one service. A new etag, a new writer or a value in other words is no drift. `ours` are the
    principals Trimtab runs as.
    """
    changes = differences(left, seen)
    if not changes:
        return None
    principal = str(seen.get("lastModifier", ""))
    writer = writer_of(
        last_modifier=principal,
        ours=ours,
        generation_changed=seen.get("generation") != left.get("generation"),
        client=str(seen.get("client", "")),
        labels=seen.get("labels", {}),
    )
    return Drift(writer=writer, principal=principal, changes=changes)
