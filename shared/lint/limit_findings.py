"""A broken limit of Cloud Run as a finding: at the user's own field and line, with Cloud Run's own words. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from shared.cloudrun.described import Form
from shared.cloudrun.document_checking import dotted
from shared.cloudrun.fields import pointer
from shared.cloudrun.limits import Found, LimitFault
from shared.lint.deployment import Deployment
from shared.lint.finding import Finding

_TOKEN = re.compile(r"\[(?P<key>[^\]]*)\]|(?P<name>[^.\[\]]+)")
_SNAKE = re.compile(r"_([a-z0-9])")


def limit_findings(deployment: Deployment, code: str, faults: Iterable[LimitFault], *, fix: str | None = None) -> Iterator[Finding]:
    """What Cloud Run refuses at once of these faults; what it accepts, or notices later, is for rules of its own."""
    for fault in faults:
        if fault.found is Found.REQUEST:
            yield limit_finding(deployment, code, fault, fix=fix)


def limit_finding(deployment: Deployment, code: str, fault: LimitFault, *, fix: str | None = None) -> Finding:
    """One fault under that code; `fix` is text to paste, where there is a better one than the fault's own words."""
    where = deployment.where(pointer_of(fault.field, deployment.service))
    if where.field.startswith("/"):
        where = replace(where, field=dotted(where.field))
    answer = f'. Cloud Run answers "{fault.text}"' if fault.text is not None else ""
    value = "empty" if fault.value in {"", None} else f"{fault.value:g}" if isinstance(fault.value, float) else fault.value
    unit = " s" if fault.field.endswith("_seconds") else ""
    in_snake = deployment.described is not None and deployment.described.form is Form.TERRAFORM
    said = (fault.limit, fault.why, fault.fix)
    limit, why, words = said if in_snake else map(_camel_words, said)
    message = f"{_named(where.field, fault.field)} is {value}{unit}; allowed is {limit}: {why}{answer}."
    return Finding(code, message, where, fix or words)


def _named(said: str, field: str) -> str:
    """What the user calls the field: of a probe, which a flag sets as a whole, its setting too."""
    last = field.rpartition(".")[2]
    if "probe" not in field or "[" in last or last.endswith("_probe") or not said or said.endswith((last, _camel(last))):
        return said or field
    return f"{said} {_camel(last)}" if said.startswith("--") else f"{said}.{_camel(last)}"


def pointer_of(field: str, service: object) -> str:
    """The JSON pointer of a path such as `template.containers[tfs].volume_mounts[0]` or `labels[team]`."""
    way, here = "", service
    for token in _TOKEN.finditer(field):
        name = token["name"]
        step: str | int = token["key"] if name is None else _camel(name)
        if isinstance(here, list):
            step = _number(step, here)
        way = pointer(way, step)
        here = here[step] if isinstance(here, list) and isinstance(step, int) and step < len(here) else _under(here, step)
    return way


def _under(here: object, step: str | int) -> object:
    return here.get(step) if isinstance(here, dict) else None


def _number(step: str | int, items: list[object]) -> str | int:
    """The number of an item that is given by its number or its name."""
    if isinstance(step, str) and step.isascii() and step.isdecimal():
        return int(step)
    return next((at for at, each in enumerate(items) if isinstance(each, dict) and each.get("name") == step), step)


def _camel(name: str) -> str:
    return _SNAKE.sub(lambda found: found[1].upper(), name)


def _camel_words(text: str) -> str:
    """Field names in the spelling of documents."""
    return re.sub(r"\b[a-z]+(?:_[a-z]+)+\b", lambda found: _camel(found[0]), text)
