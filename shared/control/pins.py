"""Holds of the kind pin: what they keep is put back when somebody else changes it. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from shared.control.remedies import MAX, MIN, Scene, Wish
from shared.records.service import Hold, HoldKind, OwnedField, Pin, ServiceDocument
from shared.records.snapshot import ManagedService


class Kept(NamedTuple):
    """A value that a pin keeps, and the pin."""

    value: int
    hold: Hold


def value_of(holds: Iterable[Hold], field: OwnedField, now: datetime) -> Kept | None:
    """What a pin in force keeps of a bound; None if there is no such pin. Of several the oldest counts."""
    for hold in holds:
        if hold.kind is HoldKind.PIN and hold.pinned is not None and hold.stops(field, now):
            value = {MIN: hold.pinned.min_instance_count, MAX: hold.pinned.max_instance_count}.get(field)
            if value is not None:
                return Kept(value, hold)
    return None


def for_pins(scene: Scene) -> Iterator[Wish]:
    """The bounds that are not as a pin keeps them."""
    observed = scene.observed
    in_force = {MIN: observed.bounds.min_instance_count, MAX: observed.max_in_force}
    for field, before in ((MIN, observed.bounds.min_instance_count), (MAX, observed.bounds.max_instance_count)):
        kept = value_of(scene.service.document.holds, field, scene.now)
        if kept is not None and kept.value != before:
            yield Wish(
                field=field,
                before=before,
                in_force=in_force[field],
                target=kept.value,
                wanted=kept.value,
                reason=f"pinned to {kept.value} by {kept.hold.author}: {kept.hold.reason}"[:500],
                predicted="what others changed is put back",
                pinned=True,
            )


def template_pin(document: ServiceDocument, now: datetime) -> Pin | None:
    """The revision on which a person keeps the traffic: by a hold of the kind pin, else by a rollback."""
    for hold in document.holds:
        if keeps_a_revision(hold) and hold.stops(OwnedField.TEMPLATE, now) and hold.pinned is not None and hold.pinned.revision is not None:
            return Pin(revision=hold.pinned.revision, reason=hold.reason, author=hold.author, created_at=hold.created_at)
    return document.pin


def keeps_a_revision(hold: Hold) -> bool:
    """Whether it is a pin that says on which revision the traffic stays."""
    return hold.kind is HoldKind.PIN and hold.pinned is not None and hold.pinned.revision is not None


def template_pin_ends_at(service: ManagedService, now: datetime) -> datetime | None:
    """When the hold ends that pins the revision; None where none does, or it does not end by itself."""
    found = next((hold for hold in service.document.holds if keeps_a_revision(hold) and hold.stops(OwnedField.TEMPLATE, now)), None)
    return None if found is None else found.expires_at
