"""`trimtab adopt`: the spec that keeps a service exactly as it is. At most its traffic is written, and only when asked."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.shown import EXIT_UNANSWERED, comments, one_line, spec_yaml, stop

if TYPE_CHECKING:
    from cli.service_input import FoundService
    from shared.ports import TemplatePlatform
    from shared.rendering.adoption import Adoption


def adopt(
    service: Annotated[
        str,
        typer.Argument(
            metavar="SERVICE",
            help="project:region:name (or projects/P/locations/R/services/S), read from Cloud Run; or a document of it (v1 or v2).",
        ),
    ],
    *,
    project: Annotated[str | None, typer.Option(help="The project, where the document does not say it, or only as a number.")] = None,
    region: Annotated[str | None, typer.Option(help="The region, where the document does not say it.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the spec to this file instead of printing it.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    pin_traffic: Annotated[
        bool, typer.Option("--pin-traffic", help="Write the service's traffic by revisions' names, the shares as they are now.")
    ] = False,
) -> None:
    """Print the spec that keeps a service as it is: every setting, autonomy observe. trimtab plan of it is empty.

    Cloud Run is only read. The one exception is --pin-traffic: it writes the traffic that is there by the names of revisions, so that
    a deployment of somebody else no longer takes all of it at once.

    Exit code 0: the spec was printed or written. 2: the service cannot be read or said, or the file is there. 3: Cloud Run did not
    answer, or refused.
    """
    from cli.service_input import cloud_run, from_file, read_now
    from shared.errors import TrimtabError
    from shared.records.spec_file import read_service_id
    from shared.rendering.adoption import adopted

    if output is not None and output.exists() and not force:
        stop(f"{output}: is there already: give another name, or --force to write over it")
    platform: TemplatePlatform | None = None
    if Path(service).is_file():
        if pin_traffic:
            stop("--pin-traffic: a file's traffic cannot be written: give the service as project:region:name")
        found = from_file(Path(service), project=project, region=region)
    else:
        try:
            wanted = read_service_id(service)
        except ValueError as error:
            stop(f"{one_line(service)}: neither a file nor project:region:name: {one_line(str(error))}")
        if project is not None or region is not None:
            stop("--project, --region: the service's id says them: leave them out")
        platform = cloud_run(wanted)
        there = read_now(platform, wanted)
        if there is None:
            stop(f"{wanted}: Cloud Run has no such service in that project and region")
        found = there
    try:
        adoption = adopted(found.document, found.service)
    except (TrimtabError, ValueError) as error:
        stop(f"{found.source}: {one_line(str(error), 2_000)}")
    text = _spec_text(found, adoption)
    if output is None:
        typer.echo(text, nl=False)
    else:
        _write(output, text, force=force)
        typer.echo(f"{output}: the spec of {found.service}; trimtab plan {output} must be empty", err=True)
    if pin_traffic and platform is not None:
        _pin(platform, found, adoption)


def _spec_text(found: "FoundService", adoption: "Adoption") -> str:
    from shared.records.spec_file import SpecFile, to_file_data

    data = to_file_data(SpecFile(service=found.service, spec=adoption.spec))
    # Said although they may be the defaults: who wants to change them must find them.
    said = {"scale": adoption.spec.scale.model_dump(), "autonomy": adoption.spec.autonomy.value}
    spec = {**said, **{name: value for name, value in data["spec"].items() if name not in said}}
    return comments(list(_comments(found, adoption))) + spec_yaml({**data, "spec": spec})


def _comments(found: "FoundService", adoption: "Adoption") -> Iterator[str]:
    from shared.rendering.adoption import pin_command

    yield f"{found.service} as it is, read from {found.source}. Trimtab observes and writes nothing until autonomy says act."
    yield from adoption.notes
    if not adoption.pinned:
        yield "traffic follows the latest revision, and the document does not say which that is: read the service by its id to pin it"
    elif adoption.follows_latest:
        yield "traffic follows the latest revision: whatever is deployed gets it at once. Pinned, as --pin-traffic writes it, it is"
        yield f"  {pin_command(found.service, adoption.pinned)}"
    else:
        shares = ", ".join(f"{each.percent}% {each.revision}{f' (tag {each.tag})' if each.tag else ''}" for each in adoption.pinned)
        yield f"traffic is pinned to revisions by name already: {shares}"
    yield from _judged(found, adoption)


def _judged(found: "FoundService", adoption: "Adoption") -> Iterator[str]:
    """What admission says of the spec: the owner must hear it before applying it."""
    from cli.spec_input import allow_lists, notes_of
    from shared.records.admission import admit
    from shared.records.spec_file import SpecFile

    yield from notes_of(SpecFile(service=found.service, spec=adoption.spec))
    for refusal in admit(found.service, adoption.spec, allow_lists(found.service)):
        yield f"REFUSED as it stands: {refusal}"


def _write(output: Path, text: str, *, force: bool) -> None:
    try:
        with output.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        stop(f"{output}: is there already: give another name, or --force to write over it")
    except OSError as error:
        stop(f"{output}: cannot be written: {error.strerror or type(error).__name__}")


def _pin(platform: "TemplatePlatform", found: "FoundService", adoption: "Adoption") -> None:
    """Write the traffic by revisions' names, if it is not so already; says on standard error what was done."""
    from cli.service_input import why_not
    from shared.errors import Answer, Retry, StaleEtag
    from shared.rendering.adoption import pin_command

    if not adoption.pinned:
        stop(f"{found.service}: no revision is ready yet, so there is nothing to pin the traffic to: nothing was written", EXIT_UNANSWERED)
    if not adoption.follows_latest:
        typer.echo(f"{found.service}: traffic is pinned already: nothing was written", err=True)
        return
    try:
        operation = platform.update_service(found.service, etag=found.etag, traffic=adoption.pinned)
    except StaleEtag:
        stop(f"{found.service}: somebody changed the service since it was read: nothing was written; run this again", EXIT_UNANSWERED)
    except Retry as error:
        said = f"{why_not(found.service, error)}. Whether it was written is not known: run this again, or"
        stop(f"{said}\n  {pin_command(found.service, adoption.pinned)}", EXIT_UNANSWERED)
    except Answer as error:
        stop(f"{why_not(found.service, error)}: nothing was written", EXIT_UNANSWERED)
    shares = ", ".join(f"{each.percent}% {each.revision}" for each in adoption.pinned)
    typer.echo(f"{found.service}: traffic pinned to {shares}; operation {operation}", err=True)
