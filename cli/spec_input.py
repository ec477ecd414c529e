"""A spec's file as the commands take it: read strictly, admitted, decided.

YAML is typed as in YAML 1.2: `off` and `22:00` are texts and `007` is 7, as the eye takes them. A field that is twice in one mapping,
merge keys, tags, a second document and anything above the limits are refused.
"""

from pathlib import Path
from typing import Any

from cli.shown import one_line, stop
from shared.cloudrun.yaml_values import YamlTextError, plain_value
from shared.cloudrun.yaml_values import load_yaml as load
from shared.errors import TrimtabError
from shared.records.admission import admit, only_noted
from shared.records.allow_lists import AllowLists
from shared.records.desired import VersionUnknown, desired_serving
from shared.records.serving import LATEST, DesiredServing, ServingSpec
from shared.records.spec_file import SpecFile, SpecFileError, read_spec_file
from shared.records.subject import ServiceId
from shared.settings import Settings

FILE_LIMIT_BYTES = 1_048_576
"""Of a file; a spec with its texts needs a tenth."""


class SpecTextError(TrimtabError):
    """A text that is not the YAML of one spec; the message says where."""


def settings_for(service: ServiceId) -> Settings:
    """The environment's settings; commands do without a project of Trimtab's own. Ends the command where one is wrong."""
    import os

    try:
        return Settings.from_environment({**os.environ, "GOOGLE_CLOUD_PROJECT": os.environ.get("GOOGLE_CLOUD_PROJECT") or service.project})
    except ValueError as error:
        stop(str(error))


def allow_lists(service: ServiceId) -> AllowLists:
    """The environment's allow-lists, as the functions have them."""
    settings = settings_for(service)
    return AllowLists.of(
        images=settings.allowed_images,
        service_accounts=settings.allowed_service_accounts,
        buckets=settings.allowed_buckets,
        projects=settings.allowed_projects,
    )


def spec_of(path: Path) -> SpecFile:
    """The admitted spec in the file; ends the command with everything that is wrong with it."""
    try:
        found = read_spec_file(load_yaml(text_of(path)))
    except SpecFileError as error:
        stop(f"{path}: {error}")
    except SpecTextError as error:
        stop(f"{path}: {error}")
    refusals = admit(found.service, found.spec, allow_lists(found.service))
    if refusals:
        count = "1 reason" if len(refusals) == 1 else f"{len(refusals)} reasons"
        stop("\n".join([f"{path}: refused for {count}:", *(f"  {one_line(str(each), 2_000)}" for each in refusals)]))
    return found


def notes_of(file: SpecFile) -> tuple[str, ...]:
    """What a spec that only observes is told, and is refused for as soon as it asks for more."""
    found = only_noted(file.service, file.spec, allow_lists(file.service))
    return tuple(f"taken because autonomy is observe, refused with recommend or act: {one_line(str(each), 2_000)}" for each in found)


def serving_of(path: Path, file: SpecFile) -> ServingSpec:
    """What the spec says of an instance; ends the command where it says nothing."""
    if file.spec.serving is None:
        stop(f"{path}: spec.serving is not set: Trimtab steers the scaling bounds of this service and leaves its template to its owner")
    return file.spec.serving


def desired_of(path: Path, file: SpecFile, version: int | None) -> DesiredServing:
    """The spec with everything decided; `version` is for a model whose version is latest. Ends the command where it is missing."""
    serving = serving_of(path, file)
    if version is not None and serving.own_entry is not None:
        stop("--version: own_entry keeps the owner's command, so Trimtab names no version: leave --version out")
    if version is not None and serving.model is not None and serving.model.version != LATEST:
        stop(f"--version {version}: the spec pins version {serving.model.version}: leave --version out, or change model.version")
    try:
        return desired_serving(file.spec, version=version)
    except VersionUnknown:
        where = "" if serving.model is None else f" of {serving.model.uri}"
        stop(f"{path}: spec.serving.model.version is latest: say which it is with --version N, the number of a folder{where}")


def text_of(path: Path) -> str:
    """The file's text; ends the command where it cannot be read."""
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_LIMIT_BYTES + 1)
    except OSError as error:
        stop(f"{path}: cannot be read: {error.strerror or type(error).__name__}")
    if len(raw) > FILE_LIMIT_BYTES:
        stop(f"{path}: larger than {FILE_LIMIT_BYTES} bytes: is it the right file?")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        stop(f"{path}: byte {error.start} is not UTF-8: save it as UTF-8 text")


def load_yaml(text: str) -> Any:
    """The one document in the text; None where there is nothing in it.

    Raises:
        SpecTextError: it is not YAML, or something else than one document of plain values.
    """
    if not text.strip():
        return None
    try:
        return load(text, plain_value)[0]
    except YamlTextError as error:
        raise SpecTextError(one_line(str(error))) from None
