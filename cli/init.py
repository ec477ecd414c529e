"""`trimtab init`: the variables of a deployment, asked for one by one or given as options, as a file that Terraform reads."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.shown import one_line, stop

PATTERNS = {
    "project_id": r"^[a-z][a-z0-9-]{4,28}[a-z0-9]$",
    "region": r"^[a-z]+-[a-z]+[0-9]+$",
    "service": r"^[a-z][a-z0-9-]{0,47}[a-z0-9]$",
    "service_account_email": r"^[a-z0-9-]+@[a-z0-9.-]+\.gserviceaccount\.com$",
    "bucket": r"^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$",
    "channel": r"^projects/[^/]+/notificationChannels/[^/]+$",
    "caller": r"^(user|group|serviceAccount|domain|principal|principalSet):\S+$",
}
"""Those of Terraform's variables, which a test holds equal."""
WANTED = {
    "project_id": "the project's id (6 to 30 lower case letters, digits and hyphens, a letter first), not its number or its name",
    "region": "a region such as europe-west1, not a zone or a multi-region",
    "model": "SERVICE, or SERVICE=BUCKET, or SERVICE=BUCKET=ACCOUNT: the Cloud Run service, the bucket of its model, whom it runs as",
    "service": "2 to 49 lower case letters, digits and hyphens, a letter first, no hyphen last",
    "service_account_email": "the address of a service account, such as ranker@acme-ml.iam.gserviceaccount.com",
    "bucket": "a bucket's name without gs://",
    "channel": "a channel such as projects/acme-ml/notificationChannels/123",
    "caller": "a member such as user:ada@example.com; allUsers is refused",
}
OWN_ACCOUNT_LIMIT = 14
"""Characters of a service's name whose account Terraform makes: an account's name has 30, and begins with trimtab-serving-."""
COMMANDS = ("apply", "patch", "hold", "release", "rollback", "reconcile", "redrive", "discard")
"""What a caller that is named here may give: everything but delete."""
_IDENTITY = re.compile(r"^(?:user|serviceAccount):(\S+@\S+)$")


@dataclass(frozen=True, slots=True)
class Model:
    """A served model, by its Cloud Run service."""

    service: str
    bucket: str | None
    account: str | None


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything that is written."""

    project_id: str
    region: str
    models: tuple[Model, ...]
    channels: tuple[str, ...]
    callers: tuple[str, ...]


def init(
    project: Annotated[str | None, typer.Option(help="The project that Trimtab runs in.")] = None,
    region: Annotated[str | None, typer.Option(help="The region of the functions.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="SERVICE[=BUCKET[=ACCOUNT]]", help="A served model; may be given often. ACCOUNT: whom the service runs as."),
    ] = None,
    channel: Annotated[
        list[str] | None, typer.Option(metavar="CHANNEL", help="A notification channel that hears of trouble of Trimtab itself.")
    ] = None,
    caller: Annotated[
        list[str] | None, typer.Option(metavar="MEMBER", help="Who may send commands over HTTPS, such as user:ada@example.com.")
    ] = None,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path("terraform/terraform.tfvars"),
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: what is not given is left out.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write the variables of a deployment for Terraform, asking for what was not given.

    Exit code 0: written. 2: an answer is not of its form, something that must be given is missing, or the file is there.
    """
    if output.exists() and not force:
        stop(f"{output}: is there already: give another name with --output, or --force to write over it")
    asked = not yes
    answers = Answers(
        project_id=_must("--project", project, "The project's id", "project_id", asked=asked),
        region=_must("--region", region, "The region of the functions (europe-west1, ...)", "region", asked=asked),
        models=_many("--model", model, "A served model, as SERVICE=BUCKET (empty: no more)", read_model, asked=asked),
        channels=_many("--channel", channel, "A notification channel (empty: no more)", _matching("channel"), asked=asked),
        callers=_many("--caller", caller, "Who may send commands, as user:ADDRESS (empty: no more)", _matching("caller"), asked=asked),
    )
    twice = {each.service for each in answers.models if sum(other.service == each.service for other in answers.models) > 1}
    if twice:
        stop(f"--model: {', '.join(sorted(twice))}: given twice: a service serves one model")
    _write(output, tfvars(answers), force=force)
    typer.echo(f"{output}: written. Next: make deploy PROJECT={answers.project_id} REGION={answers.region}", err=True)


def tfvars(answers: Answers) -> str:
    """The file's text, formatted as Terraform formats it."""
    blocks = ["# Written by `trimtab init`; terraform/README.md says what else can be said.", _pairs(_names(answers), indent="")]
    buckets = sorted({each.bucket for each in answers.models if each.bucket})
    if buckets:
        blocks.append("model_buckets = {\n" + _pairs([(_text(each), "{}") for each in buckets], indent="  ") + "\n}")
    if answers.models:
        blocks.append("models = {\n" + _pairs([(_text(each.service), _model(each)) for each in answers.models], indent="  ") + "\n}")
    if answers.channels:
        blocks.append(f"notification_channels = {_list(answers.channels)}")
    if answers.callers:
        blocks.append(f"command_callers = {_list(answers.callers)}")
        grants = "".join(_grant(found[1]) for each in answers.callers if (found := _IDENTITY.match(each)))
        blocks += [f"command_grants = [\n{grants}]"] if grants else []
    return "\n\n".join(blocks) + "\n"


def read_model(text: str) -> Model:
    """`SERVICE`, `SERVICE=BUCKET` or `SERVICE=BUCKET=ACCOUNT`.

    Raises:
        ValueError: it is none; the message says what is wrong with which part.
    """
    service, *more = text.split("=")
    bucket, account = [*(each or None for each in more), None, None][:2]
    if len(more) > 2:  # noqa: PLR2004 (bucket and account)
        raise ValueError(f"{one_line(text, 80)}: want {WANTED['model']}")
    for name, value in (("service", service), ("bucket", bucket), ("service_account_email", account)):
        if value is not None and not re.match(PATTERNS[name], value):
            raise ValueError(f"{name} {one_line(value, 80)!r}: want {WANTED[name]}")
    if account is None and len(service) > OWN_ACCOUNT_LIMIT:
        limit = f"an account that is made for it takes names of at most {OWN_ACCOUNT_LIMIT} characters"
        raise ValueError(f"service {service}: {limit}: give {service}={bucket or 'BUCKET'}=ACCOUNT")
    if account is not None and account.endswith("-compute@developer.gserviceaccount.com"):
        raise ValueError(f"service_account_email {account}: Compute Engine's own account may do too much: give the service one of its own")
    return Model(service, bucket, account)


def _matching(name: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not re.match(PATTERNS[name], text) or not text.isprintable():
            raise ValueError(f"{one_line(text, 80)!r}: want {WANTED[name]}")
        return text

    return read


def _must(option: str, given: str | None, question: str, name: str, *, asked: bool) -> str:
    read = _matching(name)
    if given is None and not asked:
        stop(f"{option}: is not given: want {WANTED[name]}")
    while True:
        text = typer.prompt(question, err=True).strip() if given is None else given
        try:
            return read(text)
        except ValueError as error:
            _again(option, error, given=given is not None)


def _many(option: str, given: Sequence[str] | None, question: str, read: Callable[[str], Any], *, asked: bool) -> tuple[Any, ...]:
    try:
        if given or not asked:
            return tuple(read(text) for text in given or ())
    except ValueError as error:
        stop(f"{option}: {error}")
    return tuple(_answered(option, question, read))


def _answered(option: str, question: str, read: Callable[[str], Any]) -> Iterator[Any]:
    while text := typer.prompt(question, default="", show_default=False, err=True).strip():
        try:
            yield read(text)
        except ValueError as error:
            _again(option, error, given=False)


def _again(option: str, error: ValueError, *, given: bool) -> None:
    if given:
        stop(f"{option}: {error}")
    typer.echo(str(error), err=True)


def _names(answers: Answers) -> list[tuple[str, str]]:
    return [("project_id", _text(answers.project_id)), ("region", _text(answers.region))]


def _model(model: Model) -> str:
    said = [("bucket", model.bucket), ("service_account_email", model.account)]
    parts = ", ".join(f"{name} = {_text(value)}" for name, value in said if value is not None)
    return f"{{ {parts} }}" if parts else "{}"


def _grant(identity: str) -> str:
    rows = [("identity", _text(identity)), ("commands", _list(COMMANDS)), ("services", _list(["*"]))]
    return "  {\n" + _pairs(rows, indent="    ") + "\n  },\n"


def _pairs(rows: Sequence[tuple[str, str]], *, indent: str) -> str:
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{indent}{name.ljust(width)} = {value}" for name, value in rows)


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _text(value: str) -> str:
    """A text of HCL: quotes, backslashes and what would begin a template are escaped."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("${", "$${").replace("%{", "%%{")
    return f'"{escaped}"'


def _write(output: Path, text: str, *, force: bool) -> None:
    try:
        with output.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        stop(f"{output}: is there already: give another name with --output, or --force to write over it")
    except OSError as error:
        stop(f"{output}: cannot be written: {error.strerror or type(error).__name__}")
