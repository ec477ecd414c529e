"""A service as a v2 JSON document with what is desired written over it: what plans compare and REST writes send."""

from pydantic import ValidationError

from shared.records.observed import Bounds
from shared.records.serving import DesiredServing, SetPoints
from shared.rendering.messages import Json, carried, service_from_json, service_to_json, set_points_of, with_set_points
from shared.rendering.reading import UnreadableServiceError, read_as_own, read_serving
from shared.rendering.serving import overlay


def rendered_document(base: Json, desired: DesiredServing, *, bounds: Bounds | None = None) -> Json:
    """The document with what is desired in it; keys that the client library does not know stay where they are.

    Raises:
        ValueError: `base` is no document of a service.
    """
    message = service_from_json(base)
    document = carried(base, service_to_json(message), service_to_json(overlay(message, desired, bounds=bounds)))
    return document if desired.set_points is None else with_set_points(document, desired.set_points)


def read_document(document: Json) -> DesiredServing:
    """What a service's document says, in the words of a spec; see `reading.read_serving`.

    Raises:
        ValueError: it is no document of a service.
        UnreadableServiceError: no spec can say it.
    """
    return read_serving(service_from_json(document), set_points=_set_points(document))


def read_document_as_own(document: Json) -> DesiredServing:
    """The same with the command kept as the owner's, even where Trimtab rendered it.

    Raises:
        ValueError, UnreadableServiceError: as `read_document`.
    """
    return read_as_own(service_from_json(document), set_points=_set_points(document))


def _set_points(document: Json) -> SetPoints | None:
    try:
        return set_points_of(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(("template.scaling", *map(str, first["loc"])))
        value = f"={first['input']!r}" if first["loc"] else ""
        raise UnreadableServiceError(f"no spec can say this service: {where}{value}: {first['msg']}") from None
