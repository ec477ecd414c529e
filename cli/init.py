"""`trimtab init`: the variables of a deployment, asked for one by one or given as options, as a file that Terraform reads."""

import math
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from cli.shown import one_line, stop
from shared.doctor import hcl

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
    "model": "SERVICE=BUCKET=ACCOUNT=P99_MS, the last three if you like: the Cloud Run service, the bucket of its model, whom it runs as, "
    "and the milliseconds in which 99 % of its answers are to come",
    "service": "2 to 49 lower case letters, digits and hyphens, a letter first, no hyphen last",
    "service_account_email": "the address of a service account, such as ranker@acme-ml.iam.gserviceaccount.com",
    "bucket": "a bucket's name without gs://",
    "channel": "a channel such as projects/acme-ml/notificationChannels/123",
    "caller": "a member such as user:ada@example.com; allUsers is refused",
    "p99_ms": "milliseconds above 0, such as 800",
    "ratio": "a share of requests from 0 to 1, such as 0.05 for one in twenty",
}
OWN_ACCOUNT_LIMIT = 14
"""Characters of a service's name whose account Terraform makes: an account's name has 30, and begins with trimtab-serving-."""
COMMANDS = ("apply", "patch", "hold", "release", "rollback", "reconcile", "redrive", "discard")
"""What a caller that is named here may give: everything but delete."""
DEFAULT_OUTPUT = Path("terraform/terraform.tfvars")
FIRST_APIS = ("serviceusage.googleapis.com", "cloudresourcemanager.googleapis.com")
"""Those that Terraform itself asks: it switches on the others, and cannot switch on what switches on."""
CALLERS_LIMIT = 150
"""Each has a grant, and all grants together 30,000 characters: a Cloud Run service takes no more as variables."""
_IDENTITY = re.compile(r"(?:user|serviceAccount):([^@:\s]{1,128}@[^@:\s]{1,190})")
"""A member that a grant can name: one address, which is what Cloud Run verifies of a caller."""
_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True)
class Model:
    """A served model, by its Cloud Run service."""

    service: str
    bucket: str | None
    account: str | None
    p99_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything that is written."""

    project_id: str
    region: str
    models: tuple[Model, ...]
    channels: tuple[str, ...]
    callers: tuple[str, ...]
    cloud_profiler: bool = False
    trace_ratio: float = 0.0


def init(
    project: Annotated[str | None, typer.Option(help="The project that Trimtab runs in.")] = None,
    region: Annotated[str | None, typer.Option(help="The region of the functions.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SERVICE[=BUCKET[=ACCOUNT[=P99_MS]]]",
            help="A served model; may be given often. ACCOUNT: whom the service runs as. P99_MS: in how many ms it is to answer.",
        ),
    ] = None,
    channel: Annotated[
        list[str] | None, typer.Option(metavar="CHANNEL", help="A notification channel that hears of trouble of Trimtab itself.")
    ] = None,
    caller: Annotated[
        list[str] | None, typer.Option(metavar="MEMBER", help="Who may send commands over HTTPS, such as user:ada@example.com.")
    ] = None,
    *,
    cloud_profiler: Annotated[bool, typer.Option("--cloud-profiler", help="Have Cloud Profiler sample where processor time goes.")] = False,
    trace_ratio: Annotated[
        str, typer.Option(metavar="SHARE", help="Send the spans of this share of requests to Cloud Trace: 0.05 for one in twenty.")
    ] = "0",
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = DEFAULT_OUTPUT,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: what is not given is left out.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write the variables of a deployment for Terraform, asking for what was not given.

    Exit code 0: written. 2: an answer is not of its form, something that must be given is missing, or the file is there.
    """
    _writable(output, force=force)
    ratio = _given("--trace-ratio", trace_ratio, _ratio)
    asked = not yes
    try:
        answers = replace(_answers(project, region, model, channel, caller, asked=asked), cloud_profiler=cloud_profiler, trace_ratio=ratio)
    except typer.Abort:
        typer.echo(err=True)  # what was asked last stands on the line still
        stop("init: the input ended before everything was answered, and nothing is written: answer all, or give options and --yes")
    _write(output, tfvars(answers), force=force)
    for warning in _warnings(answers):
        typer.echo(f"warning: {warning}", err=True)
    typer.echo(f"{output}: written. Next:", err=True)
    for command in _next(answers, output):
        typer.echo(f"  {command}", err=True)


def _answers(
    project: str | None,
    region: str | None,
    model: Sequence[str] | None,
    channel: Sequence[str] | None,
    caller: Sequence[str] | None,
    *,
    asked: bool,
) -> Answers:
    project_id = _must("--project", project, "The project's id", "project_id", asked=asked)
    region = _must("--region", region, "The region of the functions (europe-west1, ...)", "region", asked=asked)
    given = _many("--model", model, "A served model, as SERVICE=BUCKET (empty: no more)", read_model, asked=asked, once=_service)
    twice = {each.service for each in given if sum(other.service == each.service for other in given) > 1}
    if twice:
        stop(f"--model: {', '.join(sorted(twice))}: given twice: a service serves one model")
    of_channels = "A notification channel, as projects/PROJECT/notificationChannels/NUMBER (empty: no more)"
    answers = Answers(
        project_id=project_id,
        region=region,
        models=tuple(_whole(each, project_id, region, asked=asked) for each in given),
        channels=_many("--channel", channel, of_channels, _matching("channel"), asked=asked),
        callers=_many("--caller", caller, "Who may send commands, as user:ADDRESS (empty: no more)", read_caller, asked=asked),
    )
    if len(answers.callers) > CALLERS_LIMIT:
        many = len(answers.callers)
        stop(f"--caller: {many} are given, and grants for at most {CALLERS_LIMIT} fit into a function's environment: name groups")
    return answers


def _service(model: Model) -> str:
    return model.service


def _whole(model: Model, project: str, region: str, *, asked: bool) -> Model:
    """The model with what a dialogue asks besides: whom its service runs as, and how fast it is to answer."""
    whole = _with_account(model, project, region, asked=asked)
    if not asked or whole.p99_ms is not None:
        return whole
    question = f"In how many milliseconds {model.service} is to give 99 % of its answers (empty: no alert on slow ones)"
    return replace(whole, p99_ms=_asked(question, _p99))


def _with_account(model: Model, project: str, region: str, *, asked: bool) -> Model:
    """The model with whom its service runs as: asked for where it was not said, for a service that is there has one already."""

    def named(text: str) -> Model:
        found = replace(model, account=_account(text) if text else None)
        _named(found)
        return found

    if asked and model.account is None:
        typer.echo(f"Whom {model.service} runs as says: {_describe(model.service, project, region)}", err=True)
        return _asked(f"The account of {model.service} (empty: one is made, and you put it into the service)", named)
    try:
        _named(model)
    except ValueError as error:
        stop(f"--model: {error}")
    return model


def _warnings(answers: Answers) -> Iterator[str]:
    """What a deployment of these answers will lack."""
    if not answers.models:
        yield "no model was given: nothing is steered, and nothing has an alert, until models names one"
    for model in answers.models:
        if model.bucket is None:
            yield f"{model.service}: no bucket was given: Trimtab hears of no new version of its model, and may read none"
        if model.account is None:
            yield (
                f"{model.service}: no account was given: Trimtab may act as trimtab-serving-{model.service}, which Terraform makes, only. "
                "While the service runs as another, the first repair or rollout of it is refused. Whom it runs as says: "
                f"{_describe(model.service, answers.project_id, answers.region)} "
                f"(then give {model.service}={model.bucket or 'BUCKET'}=ACCOUNT; nothing printed: Compute Engine's own, give it another)"
            )
        if model.p99_ms is None:
            yield f"{model.service}: no p99 was given: it has no alert on slow answers until its objective says p99_ms"
    if not answers.channels:
        yield "no channel was given: alerts on Trimtab itself reach nobody, and are seen in the console only"
    if not answers.callers:
        yield "no caller was given: nobody may give a command, such as a first spec, until command_callers and command_grants do"
    for member in answers.callers:
        if not _IDENTITY.fullmatch(member):
            yield f"{member}: {_UNGRANTED}"


_UNGRANTED = "may reach the command function and give no command: grants name addresses. Name its members in command_grants"


def _describe(service: str, project: str, region: str) -> str:
    """The command that prints whom a service runs as."""
    words = ["gcloud", "run", "services", "describe", service, f"--project={project}", f"--region={region}"]
    return f"{shlex.join(words)} --format='value(spec.template.spec.serviceAccountName)'"


def _next(answers: Answers, output: Path) -> Iterator[str]:
    """What deploys with the file: Terraform reads some by itself, the others must be named to it."""
    yield shlex.join(["gcloud", "services", "enable", *FIRST_APIS, f"--project={answers.project_id}"])
    words = ["make", "deploy", f"PROJECT={answers.project_id}", f"REGION={answers.region}"]
    by_itself = output.name == DEFAULT_OUTPUT.name or output.name.endswith(".auto.tfvars")
    if by_itself and output.resolve().parent == DEFAULT_OUTPUT.parent.resolve():
        yield shlex.join(words)
        return
    yield shlex.join([*words, f"VARS={output}"])
    file = shlex.quote(f"-var-file={output.resolve()}")
    yield f"(by hand: make package && terraform -chdir=terraform init && terraform -chdir=terraform apply {file})"


def _writable(output: Path, *, force: bool) -> None:
    """Said before anything is asked."""
    if str(output) == "-":
        stop("-: the variables are written to a file, which Terraform reads: name one with --output")
    try:
        there = output.exists()
    except OSError as error:
        stop(f"{one_line(str(output), 80)}: {error.strerror}: give another name with --output")
    if there and not force:
        stop(f"{output}: is there already: give another name with --output, or --force to write over it")
    if not output.parent.is_dir():
        advice = "name a file with --output"
        if output == DEFAULT_OUTPUT:
            advice = f"run it in a checkout of Trimtab, where that folder is, or {advice} and pass it to Terraform with -var-file"
        stop(f"{output}: there is no folder {output.parent} here: {advice}")


def tfvars(answers: Answers) -> str:
    """The file's text, formatted as Terraform formats it."""
    blocks = ["# Written by `trimtab init`; terraform/README.md says what else can be said.", _pairs(_names(answers), indent="")]
    buckets = sorted({each.bucket for each in answers.models if each.bucket})
    if buckets:
        blocks.append("model_buckets = {\n" + _pairs([(hcl.quoted(each), "{}") for each in buckets], indent="  ") + "\n}")
    if answers.models:
        blocks.append("models = {\n" + _pairs([(hcl.quoted(each.service), _model(each)) for each in answers.models], indent="  ") + "\n}")
    if answers.channels:
        blocks.append(f"notification_channels = {hcl.listed(answers.channels)}")
    if answers.callers:
        notes = "".join(f"# {one_line(each)} {_UNGRANTED}.\n" for each in answers.callers if not _IDENTITY.fullmatch(each))
        blocks.append(f"{notes}command_callers = {hcl.listed(answers.callers)}")
        grants = "".join(_grant(found[1]) for each in answers.callers if (found := _IDENTITY.fullmatch(each)))
        blocks += [f"command_grants = [\n{grants}]"] if grants else []
    switches = [("cloud_profiler", "true")] if answers.cloud_profiler else []
    switches += [("trace_ratio", _plain(answers.trace_ratio))] if answers.trace_ratio > 0 else []
    blocks += [_pairs(switches, indent="")] if switches else []
    return "\n\n".join(blocks) + "\n"


def read_model(text: str) -> Model:
    """`SERVICE`, `SERVICE=BUCKET`, `SERVICE=BUCKET=ACCOUNT` or `SERVICE=BUCKET=ACCOUNT=P99_MS`; what is empty is not given.

    Raises:
        ValueError: it is none; the message says what is wrong with which part.
    """
    service, *more = text.split("=")
    if len(more) > 3:  # noqa: PLR2004 (bucket, account and p99)
        raise ValueError(f"{one_line(text, 80)}: want {WANTED['model']}")
    bucket, account, p99 = [*(each or None for each in more), None, None, None][:3]
    for name, value in (("service", service), ("bucket", bucket)):
        if value is not None and not re.fullmatch(PATTERNS[name], value):
            raise ValueError(f"{name} '{one_line(value, 80)}': want {WANTED[name]}")
    return Model(service, bucket, None if account is None else _account(account), _p99(p99 or ""))


def _p99(text: str) -> float | None:
    return None if not text else _number("p99_ms", text, lambda found: found > 0)


def _ratio(text: str) -> float:
    return _number("ratio", text, lambda found: 0 <= found <= 1)


def _number(name: str, text: str, fits: Callable[[float], bool]) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found) or not fits(found):
        raise ValueError(f"'{one_line(text, 80)}': want {WANTED[name]}")
    return found


def _account(text: str) -> str:
    name = "service_account_email"
    if not re.fullmatch(PATTERNS[name], text):
        raise ValueError(f"{name} '{one_line(text, 80)}': want {WANTED[name]}")
    if text.endswith("-compute@developer.gserviceaccount.com"):
        raise ValueError(f"{name} {text}: Compute Engine's own account may do too much: give the service one of its own")
    return text


def _named(model: Model) -> None:
    """Whether an account can be made for it, where it has none.

    Raises:
        ValueError: its name is too long for that.
    """
    if model.account is None and len(model.service) > OWN_ACCOUNT_LIMIT:
        limit = f"an account that is made for it takes names of at most {OWN_ACCOUNT_LIMIT} characters"
        raise ValueError(f"service {model.service}: {limit}: give {model.service}={model.bucket or 'BUCKET'}=ACCOUNT")


def read_caller(text: str) -> str:
    """A member that may call the command function.

    Raises:
        ValueError: it is none, or a person or account without an address.
    """
    member = _matching("caller")(text)
    if member.partition(":")[0] in {"user", "serviceAccount"} and not _IDENTITY.fullmatch(member):
        raise ValueError(f"'{one_line(text, 80)}': want {WANTED['caller']}")
    return member


def _matching(name: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not re.fullmatch(PATTERNS[name], text) or not text.isprintable():
            raise ValueError(f"'{one_line(text, 80)}': want {WANTED[name]}")
        return text

    return read


def _must(option: str, given: str | None, question: str, name: str, *, asked: bool) -> str:
    if given is not None:
        return _given(option, given, _matching(name))
    if not asked:
        stop(f"{option}: is not given: want {WANTED[name]}")
    return _asked(question, _matching(name), empty=False)


def _many(
    option: str,
    given: Sequence[str] | None,
    question: str,
    read: Callable[[str], _Part],
    *,
    asked: bool,
    once: Callable[[_Part], object] = lambda part: part,
) -> tuple[_Part, ...]:
    """What was given, or is answered until an answer is empty; `once` says of two answers whether they are of the same thing."""
    if given or not asked:
        return tuple(dict.fromkeys(_given(option, text, read) for text in given or ()))
    found: dict[object, _Part] = {}

    def another(text: str) -> _Part | None:
        part = read(text) if text else None
        if part is not None and once(part) in found:
            raise ValueError(f"{once(part)}: is given already")
        return part

    while (part := _asked(question, another)) is not None:
        found[once(part)] = part
    return tuple(found.values())


def _given(option: str, text: str, read: Callable[[str], _Part]) -> _Part:
    try:
        return read(text)
    except ValueError as error:
        stop(f"{option}: {error}")


def _asked(question: str, read: Callable[[str], _Part], *, empty: bool = True) -> _Part:
    """The first answer that can be read; what is wrong with one is said, and it is asked for again."""
    while True:
        text = typer.prompt(question, default="" if empty else None, show_default=False, err=True).strip()
        try:
            return read(text)
        except ValueError as error:
            typer.echo(str(error), err=True)


def _names(answers: Answers) -> list[tuple[str, str]]:
    return [("project_id", hcl.quoted(answers.project_id)), ("region", hcl.quoted(answers.region))]


def _model(model: Model) -> str:
    said = [("bucket", model.bucket), ("service_account_email", model.account)]
    written = [f"{name} = {hcl.quoted(value)}" for name, value in said if value is not None]
    written += [f"objective = {{ p99_ms = {_plain(model.p99_ms)} }}"] if model.p99_ms is not None else []
    parts = ", ".join(written)
    return f"{{ {parts} }}" if parts else "{}"


def _plain(number: float) -> str:
    return repr(number).removesuffix(".0")


def _grant(identity: str) -> str:
    rows = [("identity", hcl.quoted(identity)), ("commands", hcl.listed(COMMANDS)), ("services", hcl.listed(["*"]))]
    return "  {\n" + _pairs(rows, indent="    ") + "\n  },\n"


def _pairs(rows: Sequence[tuple[str, str]], *, indent: str) -> str:
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{indent}{name.ljust(width)} = {value}" for name, value in rows)


def _write(output: Path, text: str, *, force: bool) -> None:
    try:
        with output.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        stop(f"{output}: cannot be written: {error.strerror or type(error).__name__}")
