"""A service's document inside a shell script: `cat > service.yaml <<EOF ... EOF`, then `gcloud run services replace service.yaml`. Pure."""

import re
from dataclasses import dataclass

from shared.cloudrun.gcloud_command_names import SERVICES, read_command_name
from shared.cloudrun.shell import shell_commands
from shared.cloudrun.shell_variables import UNKNOWN, Variables, assignment

_OPENER = re.compile(r"(?<!<)<<(?P<dash>-?)[ \t]*(?P<quote>['\"\\]?)(?P<word>\w{1,60})['\"]?[^\n]*\n")
_DOCUMENT = re.compile(r"^[ \t]*[\"']?(?:apiVersion|template|containers)[\"']?[ \t]*:|^[ \t]*\{", re.MULTILINE)
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>[A-Za-z_][^{}\n]{0,200})\}|(?P<plain>[A-Za-z_][A-Za-z0-9_]*))")
_QUOTES = "'\""
MAX_OPENERS = 50
"""Here-documents of one script that are looked at."""
REPLACE = (*SERVICES, "replace")


@dataclass(frozen=True, slots=True)
class ScriptDocument:
    """`text` is the document with an empty line for each line of the script in front of it, so that its lines are the script's."""

    text: str
    region: str | None
    """Where the script's `gcloud run services replace` puts it, if it says."""
    project: str | None


def document_in_script(text: str) -> ScriptDocument | None:
    """The first here-document that holds a document, its variables replaced as far as the script sets them; None where there is none."""
    for opener in list(_OPENER.finditer(text))[:MAX_OPENERS]:
        end = re.compile(rf"^[ \t]*{opener['word']}[ \t]*$", re.MULTILINE).search(text, opener.end())
        body = text[opener.end() : end.start() if end is not None else len(text)]
        front = text[: opener.end()]
        if _DOCUMENT.search(front[: opener.start()]):
            return None  # the script stands in the document
        if not _DOCUMENT.search(body):
            continue
        if opener["dash"]:
            body = re.sub(r"^\t+", "", body, flags=re.MULTILINE)
        if not opener["quote"]:
            body = _replaced(body, front)
        region, project = _place(text)
        return ScriptDocument("\n" * front.count("\n") + body, region, project)
    return None


def _replaced(body: str, front: str) -> str:
    """As the shell writes an unquoted here-document; a variable that the script does not set stays as it is."""
    variables = Variables(len(front) + len(body))
    for line in front.splitlines():
        pair = assignment(line.strip().removeprefix("export ").strip())
        if pair is not None and not any(char in pair[1] for char in " \t$`"):
            variables.set(pair[0], (pair[1].strip(_QUOTES),))

    def value(found: re.Match[str]) -> str:
        known = variables.braced(found["braced"]) if found["braced"] is not None else variables.get(found["plain"])
        return " ".join(known) if known is not None else found[0]

    return _VARIABLE.sub(value, body)


def _place(text: str) -> tuple[str | None, str | None]:
    """Region and project of the command that replaces the service."""
    for command in shell_commands(text):
        if command.words[0] != "gcloud":
            continue
        name = read_command_name(command.words, command.lines)
        if name.path != REPLACE:
            continue
        given = dict(name.own)
        for at, word in enumerate(name.words):
            flag, equals, value = word.partition("=")
            if flag in {"--region", "--project"}:
                given[flag[2:]] = value if equals else "".join(name.words[at + 1 : at + 2])
        known = {flag: value for flag, value in given.items() if value and UNKNOWN not in value}
        return known.get("region"), known.get("project")
    return None, None
