"""From a service that is there to the spec that keeps it exactly as it is, and its traffic by revisions' names. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from shared.records.batching_start import is_whole
from shared.records.observed import Observed, ScalingMode
from shared.records.service import MAX_INSTANCES_LIMIT, Autonomy, ServiceSpec
from shared.records.serving import OFF, DesiredServing, TrafficTarget
from shared.records.subject import ServiceId
from shared.rendering.document import read_document, read_document_as_own
from shared.rendering.messages import Json, service_from_json
from shared.rendering.observed import observed_from_service
from shared.rendering.reading import UnreadableServiceError

WHOLE_PERCENT = 100
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""A document does not say when it was read."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """The spec of a service as it is, and what its owner should know."""

    spec: ServiceSpec
    pinned: tuple[TrafficTarget, ...]
    """The traffic that the service has now, by revisions' names; empty where the document does not say which revision is the latest."""
    follows_latest: bool
    """Whether some of the traffic, or a tag, goes to whatever revision is the latest ready one."""
    notes: tuple[str, ...]
    """Sentences on where the scale comes from and what Trimtab leaves alone."""


def adopted(document: Json, service: ServiceId) -> Adoption:
    """The spec that changes nothing of the service in the document (v2 JSON), with `autonomy: observe`.

    A service that Trimtab rendered comes back as its settings; of any other the command is kept (`own_entry`).

    Raises:
        UnreadableServiceError: it is no document of a service, or holds a value that a spec cannot say; the message names the field and
            the value.
    """
    try:
        message = service_from_json(document)
    except ValueError as error:
        raise UnreadableServiceError(f"{service}: not a service that can be read: {error}") from None
    seen = observed_from_service(message, read_at=_NO_TIME)
    serving = read_document(document)
    unsaid = None if serving.own_entry is not None else _not_said(seen, serving)
    if unsaid is not None:
        serving = read_document_as_own(document)
    low, high, why = _scale(seen, serving)
    why = why if unsaid is None else (unsaid, *why)
    if high > MAX_INSTANCES_LIMIT:
        raise UnreadableServiceError(f"{service}: {high} instances are allowed: a spec's scale goes up to {MAX_INSTANCES_LIMIT}")
    try:
        spec = ServiceSpec.model_validate(
            {
                "scale": {"min_instance_count": low, "max_instance_count": high},
                "autonomy": Autonomy.OBSERVE,
                "serving": _serving(serving),
            }
        )
        pinned, follows = pinned_traffic(document)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, each['loc']))}={str(each['input'])[:80]!r}: {each['msg']}" for each in error.errors()[:5])
        raise UnreadableServiceError(f"{service}: no spec can say this service: {problems}") from None
    return Adoption(spec, pinned, follows, (*why, *_left_alone(document, serving)))


def pinned_traffic(document: Mapping[str, Any]) -> tuple[tuple[TrafficTarget, ...], bool]:
    """The traffic by revisions' names, and whether some of it follows the latest ready revision now.

    No targets where the document does not say which revision is the latest ready one although something follows it.
    """
    targets = [target for target in document.get("traffic") or [] if target.get("percent") or target.get("tag")]
    if not any(target.get("percent") for target in targets):
        targets.append({"percent": WHOLE_PERCENT})
    latest = str(document.get("latestReadyRevision", "")).rpartition("/")[2]
    follows = any(not target.get("revision") for target in targets)
    if follows and not latest:
        return (), True
    shares: dict[tuple[str, str | None], int] = {}
    for target in targets:
        place = (str(target.get("revision") or latest).rpartition("/")[2], target.get("tag") or None)
        shares[place] = shares.get(place, 0) + int(target.get("percent") or 0)
    return tuple(TrafficTarget(revision=revision, percent=percent, tag=tag) for (revision, tag), percent in shares.items()), follows


def pin_command(service: ServiceId, pinned: Sequence[TrafficTarget]) -> str:
    """The gcloud command that splits the traffic so, tags included."""
    shares: dict[str, int] = {}
    for target in pinned:
        if target.percent:
            shares[target.revision] = shares.get(target.revision, 0) + target.percent
    tags = [f"{target.tag}={target.revision}" for target in pinned if target.tag is not None]
    parts = [
        f"gcloud run services update-traffic {service.name} --project={service.project} --region={service.region}",
        f"--to-revisions={','.join(f'{revision}={percent}' for revision, percent in shares.items())}",
        *([f"--update-tags={','.join(tags)}"] if tags else []),
    ]
    return " ".join(parts)


def _not_said(seen: Observed, serving: DesiredServing) -> str | None:
    """Why a spec does not render again what Trimtab rendered here, where somebody changed it since; None where it does."""
    highest, lowest = serving.max_instance_count, seen.bounds.min_instance_count
    if highest is None:
        return f"{_KEPT}: its revision has no maxInstanceCount, which every spec renders"
    if serving.batching is not None and not is_whole(serving.batching):
        return f"{_KEPT}: a number of its batching is left to TF Serving's default, which no spec can say"
    if seen.scaling_mode is ScalingMode.AUTOMATIC and lowest > highest:
        return (
            f"{_KEPT}: its minInstanceCount {lowest} is above its revision's maxInstanceCount {highest}, which no spec renders; no more "
            f"than {highest} are allowed. Lower the first, and adopt it again"
        )
    return None


_KEPT = "Trimtab rendered this service, and its command is kept as it is (own_entry)"


def _scale(seen: Observed, serving: DesiredServing) -> tuple[int, int, tuple[str, ...]]:
    """The fewest and the most instances that are allowed now, and where they come from."""
    low, high = min(seen.bounds.min_instance_count, seen.max_in_force), max(seen.max_in_force, seen.bounds.min_instance_count)
    if seen.scaling_mode is ScalingMode.MANUAL:
        low = seen.manual_instance_count or 0
        high = max(low, 1)
        why = f"scaling is manual, {low} instances: Trimtab leaves the mode as it is, and its bounds are not in force until it is automatic"
    elif low < seen.bounds.min_instance_count:
        why = (
            f"the service's minInstanceCount {seen.bounds.min_instance_count} is above the {low} instances that its revision allows: both "
            f"stay as they are while scale is {low} to {high}"
        )
    elif seen.bounds.max_instance_count:
        why = f"scale comes from the service's own bounds and its revision's: {low} to {high} instances"
    elif seen.revision_max_instance_count:
        why = f"scale.max_instance_count {high} is the revision's own maximum: the service has none"
    else:
        why = f"scale.max_instance_count {high} is Cloud Run's default, as nothing is set: lower it to what you would pay for"
    notes = [why]
    if serving.own_entry is None and serving.max_instance_count is not None:
        # The spec's maximum is rendered as the revision's.
        high = serving.max_instance_count
        low = min(low, high)
        if seen.scaling_mode is ScalingMode.AUTOMATIC and high != seen.max_in_force:
            notes = [f"scale.max_instance_count {high} is the revision's own maximum; {seen.max_in_force} are allowed now"]
    if seen.revision_min_instance_count:
        notes.append(f"the revision's own minInstanceCount {seen.revision_min_instance_count} stays: Trimtab moves the service's")
    return low, high, tuple(notes)


def _serving(desired: DesiredServing) -> Json:
    """The fields of `spec.serving` that decide to exactly this."""
    kept = desired.model_dump(exclude={"max_instance_count", "model", "batching", "own_entry"})
    if desired.own_entry is not None:
        return {**kept, "batching": None, "start_up_seconds": None, "metrics_sidecar": False, "own_entry": desired.own_entry.model_dump()}
    model = None if desired.model is None else desired.model.model_dump()
    return {**kept, "model": model, "batching": OFF if desired.batching is None else desired.batching}


def _left_alone(document: Json, serving: DesiredServing) -> Iterator[str]:
    """What Trimtab does not touch of the service, by name."""
    if serving.own_entry is None:
        yield "Trimtab rendered this service: its settings are read back, nothing is left to own_entry"
        return
    yield "own_entry: the command and its arguments stay as they are, whatever the image serves; the spec only repeats them"
    template: Json = document.get("template", {})
    containers: list[Json] = template.get("containers", [])
    container = next((each for each in containers if each.get("ports")), containers[0])
    kept = {
        "environment": [each.get("name", "") for each in container.get("env", [])],
        "probes": [name for name in ("startupProbe", "livenessProbe", "readinessProbe") if name in container],
        "sidecars": [each.get("name", "") for each in containers if each is not container],
        "volumes": [each.get("name", "") for each in template.get("volumes", [])],
    }
    for what, names in kept.items():
        if names:
            yield f"left alone: {what} {', '.join(names)}"
