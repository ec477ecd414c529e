"""A Cloud Run service as the commands take it: read now by its id, or from a document of it."""

from pathlib import Path
from typing import NamedTuple

from cli.shown import EXIT_UNANSWERED, stop
from cli.spec_input import settings_for, text_of
from shared.errors import Answer, Refused, Retry, ServiceMissing
from shared.ports import TemplatePlatform
from shared.records.subject import ServiceId


class FoundService(NamedTuple):
    """A service, its v2 JSON document and where that came from."""

    service: ServiceId
    document: dict[str, object]
    etag: str
    """Empty where it was read from a file."""
    source: str


def cloud_run(service: ServiceId) -> TemplatePlatform:
    """Cloud Run with the environment's credentials, or the simulated one that the settings name."""
    from shared import wiring

    try:
        return wiring.cloud_run(settings_for(service))
    except ValueError as error:
        stop(str(error))


def read_now(platform: TemplatePlatform, service: ServiceId) -> FoundService | None:
    """The service as Cloud Run has it; None if there is none. Ends the command where Cloud Run does not answer."""
    try:
        found = platform.read_service(service)
    except ServiceMissing:
        return None
    except (Retry, Answer) as error:
        stop(why_not(service, error), EXIT_UNANSWERED)
    except ValueError as error:
        stop(f"{service}: {error}", EXIT_UNANSWERED)
    return FoundService(service, found.document, found.observed.etag, "Cloud Run")


def why_not(service: ServiceId, error: Retry | Answer) -> str:
    """What Cloud Run answered, and what may help."""
    hint = ""
    if isinstance(error, Retry):
        hint = "; try again, and look whether gcloud auth application-default login is needed"
    elif isinstance(error, Refused):
        hint = "; reading takes the permission run.services.get, writing run.services.update"
    return f"{service}: Cloud Run: {error}{hint}"


def from_file(path: Path, *, project: str | None = None, region: str | None = None) -> FoundService:
    """The service in a document (v1 or v2, YAML or JSON); ends the command where it is none, or project or region are missing."""
    from shared.cloudrun.documents import read_service_document
    from shared.cloudrun.fields import ServiceDocumentError

    try:
        found = read_service_document(text_of(path))
    except ServiceDocumentError as error:
        stop(f"{path}: {error}")
    number = found.project if found.project is not None and found.project.isdecimal() else None
    told = _agreed(path, "project", None if number else found.project, project, f" by its number only ({number})" if number else "")
    place = _agreed(path, "region", found.region, region, "")
    try:
        service = ServiceId(project=told, region=place, name=found.name)
    except ValueError:
        stop(f"{path}: project {told!r}, region {place!r} and name {found.name!r} are not those of a Cloud Run service")
    return FoundService(service, found.service, "", str(path))


def _agreed(path: Path, what: str, document: str | None, option: str | None, how: str) -> str:
    if document and option and document != option:
        stop(f"{path}: its {what} is {document!r}, asked for is {option!r}: is it the right file?")
    known = document or option
    if not known:
        stop(f"{path}: the document names the {what}{how or ' nowhere'}: give it with --{what}")
    return known
