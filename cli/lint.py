"""`trimtab lint`: what is wrong with a command, a service, a batching file, before it is deployed. Nothing is executed or sent."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shared.lint.asking import Answer

EXIT_ERRORS = 1
EXIT_UNREADABLE = 2


class Format(StrEnum):
    """How the findings are written."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    SARIF = "sarif"
    GITHUB = "github"


def lint(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="What you have: gcloud or docker commands, a service document, a batching, models or monitoring file, flags, "
            "a Terraform plan as JSON, a spec, or a bundle of these. Told by content; - is standard input.",
        ),
    ],
    *,
    together: Annotated[bool, typer.Option("--together", help="The files are one deployment, not a question each.")] = False,
    output_format: Annotated[Format, typer.Option("--format", help="jsonl: an object a file; github: annotations.")] = Format.TEXT,
    fix: Annotated[
        bool, typer.Option("--fix", help="Write what is certain into the files: form of batching files, flags; shows the difference.")
    ] = False,
) -> None:
    """Say what is wrong with a deployment of TensorFlow Serving on Cloud Run, why, and what mends it.

    Exit status: 0 without errors (warnings do not count), 1 with errors, 2 if a file cannot be read.
    """
    from cli.findings import Unread, written
    from cli.input import read_text
    from shared.lint.asking import Answer, ask, ask_together
    from shared.lint.recognition import UnreadableError

    if fix and together:
        typer.echo("--fix writes into files one by one: leave --together out", err=True)
        raise typer.Exit(EXIT_UNREADABLE)
    answers: list[Answer | Unread] = []
    if together:
        try:
            answers.append(ask_together([(name, read_text(name)) for name in files]))
        except UnreadableError as error:
            answers.append(Unread(" + ".join(files), str(error)))
    else:
        for name in files:
            try:
                text = read_text(name)
                answer = ask(name, text)
                answers.append(_fixed(answer, text, aside=output_format is not Format.TEXT) if fix else answer)
            except UnreadableError as error:
                answers.append(Unread(name, str(error)))
    written(answers, output_format)
    if any(isinstance(each, Unread) for each in answers):
        raise typer.Exit(EXIT_UNREADABLE)
    if any(isinstance(each, Answer) and each.has_errors for each in answers):
        raise typer.Exit(EXIT_ERRORS)


def _fixed(answer: "Answer", text: str, *, aside: bool) -> "Answer":
    from cli.fixing import NotWrittenError, fix_file

    try:
        return fix_file(answer, text, aside=aside)
    except NotWrittenError as error:
        typer.echo(f"{answer.name}: cannot be written: {error}", err=True)
        return answer
