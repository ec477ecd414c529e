"""A wake on the wire: the record as JSON; its attributes are for people and filters, nothing reads them."""

from pydantic import ValidationError

from shared.errors import Park
from shared.events.lenient import load_json, mapping, shown
from shared.records.parked import ParkCode
from shared.records.subject import ServiceId, Wake

SCHEMA_VERSION = 1


def encode_wake(wake: Wake) -> tuple[bytes, dict[str, str]]:
    """The data and the attributes of the message that carries this wake."""
    attributes = {"kind": "wake", "subject_kind": wake.subject_kind, "subject_id": wake.subject_id}
    return wake.model_dump_json().encode(), attributes


def parse_wake(payload: bytes) -> tuple[ServiceId, Wake]:
    """The service to look at, and the wake as it was sent.

    Raises:
        Park: unparsable, unsupported (written by newer code), or unroutable (its subject is no service id).
    """
    content = load_json(payload, "wake")
    if not isinstance(content, dict):
        raise Park(ParkCode.UNPARSABLE, f"wake: want a JSON object, got {shown(content)}")
    version = content.get("schema_version", SCHEMA_VERSION)
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise Park(ParkCode.UNSUPPORTED, f"wake: schema_version {shown(version)}; this code reads {SCHEMA_VERSION}")
    try:
        wake = Wake.from_stored(content)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise Park(ParkCode.UNPARSABLE, f"wake: {shown('.'.join(map(str, fault['loc'])))}: {fault['msg'][:200]}") from None
    try:
        return ServiceId.parse(wake.subject_id), wake
    except ValueError:
        raise Park(ParkCode.UNROUTABLE, f"wake: subject {shown(mapping(content).get('subject_id'))}: want project:region:name") from None
