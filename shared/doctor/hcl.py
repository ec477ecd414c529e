"""Terraform's language, for what a person pastes: formatted as `terraform fmt` does, every name in it quoted. Pure."""

import re
from collections.abc import Iterable, Sequence

AGAIN = "then plan again"
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
Pair = tuple[str, str]
"""An attribute and its value, as it is written."""


def quoted(text: str) -> str:
    """A text: quotes, backslashes, control characters and what would begin a template are escaped."""
    marked = text.translate(_ESCAPES).replace("${", "$${").replace("%{", "%%{")
    return '"' + "".join(char if char.isprintable() else _code(char) for char in marked) + '"'


def _code(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004 (the last of four digits)


def listed(texts: Iterable[str]) -> str:
    """A list of texts."""
    return f"[{', '.join(map(quoted, texts))}]"


def pairs(given: Iterable[Pair]) -> list[str]:
    """Attributes, one a line."""
    known = list(given)
    width = max((len(name) for name, _ in known), default=0)
    return [f"{name.ljust(width)} = {value}" for name, value in known]


def block(head: str, lines: Iterable[str]) -> list[str]:
    """A block with these lines in it."""
    inner = list(lines)
    return [f"{head} {{", *(f"  {line}" if line else "" for line in inner), "}"] if inner else [f"{head} {{}}"]


def resource(kind: str, name: str, attributes: Iterable[Pair], *blocks: Sequence[str], after: str | None = None) -> str:
    """A resource to add. `after`: what of the same configuration must be there before it."""
    lines = pairs(attributes)
    for each in blocks:
        lines += ["", *each]
    lines += [] if after is None else ["", f"depends_on = [{after}]"]
    return "\n".join([f"# add this, {AGAIN}", *block(f'resource "{kind}" "{label(name)}"', lines)])


def change(kind: str, name: str, lines: Iterable[str]) -> str:
    """What a resource that is there must say."""
    return "\n".join([f"# in {kind} {' '.join(name.split())}, {AGAIN}", *lines])


def tfvars(lines: Iterable[str]) -> str:
    """What stands among the variables."""
    return "\n".join([f"# in terraform.tfvars, or as an input of the module, {AGAIN}", *lines])


def label(name: str) -> str:
    """A name for the configuration alone, which has neither hyphens nor dots in it."""
    found = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return found if found[:1].isalpha() else f"trimtab_{found}"
