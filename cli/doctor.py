"""`trimtab doctor`: what a deployment lacks, or what a plan would lack, and the command that mends it. Nothing is written."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.shown import EXIT_WRONG, one_line, stop

if TYPE_CHECKING:
    from shared.doctor.finding import Finding
    from shared.doctor.picture import Picture
    from shared.records.spec_file import SpecFile

EXIT_FINDINGS = 1
HASH_DIGITS = 16
"""Of the archive's SHA-256, in its name."""
PLAN_LIMIT_BYTES = 128 * 2**20
COMMANDS = ("gcloud ", "make ", "sudo ")
"""What a mend begins with that is a command, and nothing else."""
_NAMED_BY_CONTENT = re.compile(rf".*-[0-9a-f]{{{HASH_DIGITS}}}")
_WORD = re.compile(r"""\s*(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+""")
FORMS = "a project's id: 6 to 30 lower case letters, digits and hyphens, a letter first"


def doctor(
    project: Annotated[str | None, typer.Option(help="Look at this project, with the environment's credentials.")] = None,
    plan: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Look at a Terraform plan, offline: `terraform show -json PLAN > FILE`.")
    ] = None,
    spec: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A spec whose service Trimtab owns, for --plan alone; may be given often."),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            help="For --project: the Firestore database. Not given: the one that its functions are told of.",
            show_default=False,
        ),
    ] = None,
    archive: Annotated[
        str | None, typer.Option(help="The archive that should run: the file, or its name as `make package` said it.")
    ] = None,
    *,
    inherited: Annotated[
        bool,
        typer.Option(
            help="For --project: whether roles count that folders and the organization above it grant. Seeing them takes a role there."
        ),
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Say what a deployment lacks, why it matters, and the command that mends it. Reads only.

    With --project and --plan together the plan says which services Terraform writes, and everything else comes from the project.

    Exit code 0: nothing found, or notes alone. 1: something is wrong. 2: wrong usage, or something could not be looked at and nothing
    else is wrong.
    """
    from cli.findings import terminal_width
    from shared.doctor.examining import examine
    from shared.doctor.picture import NOT_ASKED

    if project is None and plan is None:
        stop("--project or --plan: give one: a project to look at, or a plan")
    if project is not None and spec:
        stop("--spec: with --project the specs are those in its database: leave it out")
    if project is None:
        _only_of_a_plan(database, inherited=inherited)
    document = None if plan is None else _document(plan)
    specs = tuple(_spec(path) for path in spec or ())
    name = None if archive is None else _archive(Path(archive))
    if project is None:
        picture = replace(_planned(plan, document, specs), given_archive=name)
    else:
        picture = _looked_at(project, database or "", name, plan, document)
    findings = examine(picture if inherited else replace(picture, policies=replace(picture.policies, above=NOT_ASKED)))
    if as_json:
        typer.echo(json.dumps(_object(picture, findings), indent=2))
    else:
        for line in _text(picture, findings, terminal_width()):
            typer.echo(line)
    raise typer.Exit(_code(findings))


def _only_of_a_plan(database: str | None, *, inherited: bool) -> None:
    """Options that a plan alone has no answer to are refused: nobody may think that they were heeded."""
    if database is not None:
        stop("--database: a plan says itself which database its functions have: leave it out, or give --project")
    if not inherited:
        stop("--no-inherited: a plan holds no roles of folders and the organization anyway: leave it out, or give --project")


def _document(plan: Path) -> dict[str, Any]:
    try:
        with plan.open("rb") as file:
            raw = file.read(PLAN_LIMIT_BYTES + 1)
        if len(raw) > PLAN_LIMIT_BYTES:
            stop(f"{plan}: more than {PLAN_LIMIT_BYTES:,} bytes: no plan is that large")
        found = json.loads(raw)
    except OSError as error:
        stop(f"{plan}: cannot be read: {error.strerror or type(error).__name__}")
    except (ValueError, RecursionError):
        stop(f"{plan}: no JSON: want the output of `terraform show -json PLAN`")
    if not isinstance(found, dict):
        stop(f"{plan}: no JSON object: want the output of `terraform show -json PLAN`")
    return found


def _archive(path: Path) -> str:
    """The archive's name with its content in it; `build/trimtab.zip` is called so whatever it holds."""
    if _NAMED_BY_CONTENT.fullmatch(path.stem):
        return path.name
    try:
        return f"{path.stem}-{sha256(path.read_bytes()).hexdigest()[:HASH_DIGITS]}.zip"
    except OSError as error:
        stop(f"{path}: cannot be read, and its name does not say what it holds: {error.strerror or type(error).__name__}")


def _spec(path: Path) -> "SpecFile":
    from cli.spec_input import spec_of

    return spec_of(path)


def _planned(plan: Path | None, document: dict[str, Any] | None, specs: "Sequence[SpecFile]") -> "Picture":
    from shared.doctor.plan import read_picture
    from shared.doctor.plan_whole import NoPlanError

    named = {each.service: each.spec.serving.model for each in specs if each.spec.serving is not None}
    models = {service: model.uri for service, model in named.items() if model is not None and model.uri.startswith("gs://")}
    try:
        return read_picture(document or {}, owned=tuple(each.service for each in specs), models=models)
    except NoPlanError as error:
        stop(f"{plan}: {error}")


def _looked_at(project: str, database: str, archive: str | None, plan: Path | None, document: dict[str, Any] | None) -> "Picture":
    """The project; of a plan, which of its services Terraform writes."""
    from shared import wiring
    from shared.doctor.picture import Served
    from shared.doctor.plan_whole import beside
    from shared.gcp.project_calls import NoCredentialsError

    if not re.fullmatch(r"[a-z][a-z0-9-]{4,28}[a-z0-9]", project):
        stop(f"--project {one_line(project, 80)}: want {FORMS}")
    # Before anything is asked: a plan that cannot be read is said at once.
    planned = None if document is None else _planned(plan, document, ())
    try:
        picture = wiring.project_picture(project, database=database, archive=archive)
    except NoCredentialsError as error:
        stop(f"{one_line(str(error))}\n{error.mend}", EXIT_WRONG)
    if document is None or planned is None:
        return picture
    services = dict(picture.services)
    for service, written in planned.services.items():
        there = services.get(service)
        if isinstance(written, Served) and isinstance(there, Served):
            services[service] = replace(there, terraform=written.terraform, v1=written.v1, changed=written.changed)
    return replace(picture, services=services, said=tuple(beside(document, planned, picture)))


def _code(findings: "Sequence[Finding]") -> int:
    from shared.doctor.finding import Level

    levels = {finding.level for finding in findings}
    if levels & {Level.PROBLEM, Level.WARNING}:
        return EXIT_FINDINGS
    return EXIT_WRONG if Level.UNKNOWN in levels else 0


def _object(picture: "Picture", findings: "tuple[Finding, ...]") -> dict[str, Any]:
    from shared.doctor.examining import verdicts

    return {
        "project": picture.project or None,
        "source": picture.source.value,
        "findings": [
            {"check": each.check, "level": each.level.value, "what": each.what, "why": each.why, "mend": each.mend} for each in findings
        ],
        "checks": {check: verdict.value for check, verdict in verdicts(picture, findings).items()},
    }


def _mend(text: str, width: int | None) -> Iterator[str]:
    """A text to paste as it is; a command folded as a shell folds it; a sentence wrapped."""
    from cli.findings import wrapped

    if "\n" in text:
        yield from ("    mend:", *(f"      {line}".rstrip() for line in text.split("\n")))
    elif text.startswith(COMMANDS):
        yield from _folded(f"    mend: {text}", width)
    elif text:
        yield from wrapped(f"mend: {text}", "    ", width, hang="  ")


def _folded(command: str, width: int | None) -> Iterator[str]:
    """The command on lines that a shell reads as one: broken between words, never within quotes."""
    if width is None:
        yield command
        return
    line = ""
    for word in _WORD.findall(command):
        longer = line + word
        if line.strip() and len(longer.rstrip()) > width - len(" \\"):
            yield line.rstrip() + " \\"
            line = f"        {word.lstrip()}"
        else:
            line = longer
    yield line


def _text(picture: "Picture", findings: "Sequence[Finding]", width: int | None) -> Iterator[str]:
    from cli.findings import coloured, plain, wrapped
    from shared.doctor.finding import Level

    colours = {Level.PROBLEM: "red", Level.WARNING: "yellow", Level.UNKNOWN: "cyan", Level.NOTE: "blue"}
    for finding in findings:
        first, *more = wrapped(f"{finding.level.value} {finding.check}: {plain(finding.what)}", "", width, hang="    ")
        yield coloured(finding.level.value, colours[finding.level], bold=True) + first.removeprefix(finding.level.value)
        yield from more
        yield from wrapped(plain(finding.why), "    ", width)
        yield from _mend(plain(finding.mend), width)
        yield ""
    counts = [(level, sum(each.level is level for each in findings)) for level in Level]
    words = {
        Level.PROBLEM: ("problem", "problems"),
        Level.WARNING: ("warning", "warnings"),
        Level.UNKNOWN: ("thing unknown", "things unknown"),
        Level.NOTE: ("note", "notes"),
    }
    said = ", ".join(f"{count} {words[level][count != 1]}" for level, count in counts if count)
    where = " for ".join(["the plan", *filter(None, [picture.project])]) if picture.source.value == "plan" else picture.project
    yield f"{plain(where)}: {said or coloured('nothing found', 'green')}"
