"""How commands print: values of others without control characters, changed lines instead of long texts, YAML that reads back.

Colour only where the output is a terminal; everywhere else the same text without it, never wrapped.
"""

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import typer
import yaml

from shared.cloudrun.yaml_values import escaped, plain_value

EXIT_WRONG = 2
"""Something that was given cannot be read, or is refused."""
EXIT_UNANSWERED = 3
"""Cloud Run could not be asked, or said no."""
MAX_VERSION = 2**63 - 1
"""Of a model, as a spec has it: said here because the records are not loaded for --help."""
LINE_LIMIT = 240
"""Characters of a line of somebody's text."""
CONTEXT = 40
"""Characters of a long line that are shown before those that changed."""
EXACT_LINES = 2_000
LINES_LIMIT = 120
"""Changed lines of one text; JSON output has them all."""


def stop(message: str, code: int = EXIT_WRONG) -> NoReturn:
    """Say on standard error why the command ends, and end it."""
    typer.echo(message, err=True)
    raise typer.Exit(code)


def printed(lines: Iterator[str] | Sequence[str]) -> None:
    """Print lines; on a terminal what goes is red and what comes is green."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    for line in lines:
        mark = line.lstrip()[:2]
        console.print(Text(line, style={"- ": "red", "+ ": "green"}.get(mark, "")))


def one_line(text: str, limit: int = LINE_LIMIT) -> str:
    """Somebody's text on one line: control characters escaped, cut where it is long."""
    cut = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)


def comments(sentences: Sequence[str]) -> str:
    """Each sentence as a comment of YAML, of a shell or of TF Serving's text files."""
    return "".join(f"# {one_line(each, 4_000)}\n" for each in sentences)


def value(given: Any) -> str:
    """A value of a field on one line."""
    if given is None:
        return "not set"
    if isinstance(given, str):
        return one_line(given) if given and given == given.strip() else json.dumps(given)
    return one_line(json.dumps(given, ensure_ascii=False))


def change(name: str, before: Any, after: Any) -> Iterator[str]:
    """A change as `name: before -> after`, or with its changed lines below where a side has several."""
    if _is_long(before) or _is_long(after):
        yield f"  {name}:"
        yield from _changed_lines(_lines(before), _lines(after))
    else:
        if isinstance(before, str) and isinstance(after, str):
            before, after = around_the_change(before, after)
        yield f"  {name}: {value(before)} -> {value(after)}"


def around_the_change(before: str, after: str) -> tuple[str, str]:
    """Two long texts from shortly before where they begin to differ, so that what is cut off is not what changed."""
    if len(before) <= LINE_LIMIT and len(after) <= LINE_LIMIT:
        return before, after
    pairs = enumerate(zip(before, after, strict=False))
    start = max(0, next((place for place, (old, new) in pairs if old != new), min(len(before), len(after))) - CONTEXT)
    return (f"…{before[start:]}", f"…{after[start:]}") if start else (before, after)


def _is_long(given: Any) -> bool:
    if isinstance(given, list):
        return any(isinstance(each, str | list | dict) for each in given)
    return isinstance(given, dict) or (isinstance(given, str) and "\n" in given)


def _lines(given: Any) -> list[str]:
    if given is None:
        return []
    if isinstance(given, str):
        return given.splitlines()
    if isinstance(given, list):
        return [line for each in given for line in _lines(each)] if all(isinstance(each, str) for each in given) else _json_lines(given)
    return _json_lines(given) if isinstance(given, dict) else [str(given)]


def _json_lines(given: Any) -> list[str]:
    return json.dumps(given, indent=2, ensure_ascii=False, sort_keys=True).splitlines()


def _changed_lines(before: list[str], after: list[str]) -> Iterator[str]:
    changed: list[str] = []
    # On texts of very many lines the exact comparison would take minutes; the quick one is as right, only less short.
    quick = len(before) + len(after) > EXACT_LINES
    for tag, old_from, old_to, new_from, new_to in difflib.SequenceMatcher(None, before, after, autojunk=quick).get_opcodes():
        if tag == "equal":
            continue
        gone, come = before[old_from:old_to], after[new_from:new_to]
        if len(gone) == len(come):
            pairs = [around_the_change(old, new) for old, new in zip(gone, come, strict=True)]
            gone, come = [old for old, _ in pairs], [new for _, new in pairs]
        changed += [f"    - {one_line(line)}" for line in gone]
        changed += [f"    + {one_line(line)}" for line in come]
    yield from changed[:LINES_LIMIT] or ["    only line ends or spaces differ"]
    if len(changed) > LINES_LIMIT:
        yield f"    and {len(changed) - LINES_LIMIT} lines more: --format json has them"


def spec_yaml(data: Any) -> str:
    """The data as YAML; texts of several lines are blocks where that keeps them exactly."""
    return escaped(yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000))


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        """Elements of a list stand below their name, not beside it."""
        super().increase_indent(flow, False)


_BLOCK = re.compile(r"[!-~](?:[ -~]*[!-~])?(?:\n(?:[ -~]*[!-~])?)+")
"""Printable lines, the first of them not indented, none with spaces at its end."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    plainly = text.isprintable() and plain_value(text) == text
    style = "|" if _BLOCK.fullmatch(text) else None if plainly else "'" if text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
