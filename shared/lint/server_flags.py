"""The server's command line as rules about flags use it: whose it is, what was attempted, which arguments mean nothing. Pure."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from shared.cloudrun.described import Form
from shared.lint.deployment import Deployment
from shared.lint.finding import Where
from shared.lint.server_command import ENTRYPOINT, SERVER, Argument
from shared.tfserving.flags import BY_NAME, INVENTED, MAX_COMPARED, MAX_SHOWN, BadValue, Flags, Kind, LeftOver, read_argument

_COMMON = frozenset({"port", "version"})
"""Flags that many programs have: they are no sign of this one."""
_PLACEHOLDER_STARTS = ("$", "<", "{")
_NEAR = 0.8


@dataclass(frozen=True, slots=True)
class Stray:
    """Arguments of one mistake, of which the server takes none as a setting. `bad_value`: it knows the flag and cannot read the value."""

    argument: Argument
    name: str
    """The flag that was attempted, without dashes; empty for a word that is no flag."""
    value: str | None
    meaning: str
    bad_value: bool = False
    meant: str | None = None
    """The flag that the name certainly stands for: another spelling, an invented name with a known counterpart, or the nearest one."""


def server_flags(deployment: Deployment) -> Flags | None:
    """The flags in force; None where they are not known, or where nothing says that the container is TF Serving at all.

    A container of an unknown image whose arguments are none of TF Serving's runs something else.
    """
    flags = deployment.flags
    if flags is None:
        return None
    if deployment.given.flags is not None or deployment.batching is not None or deployment.models is not None:
        return flags
    image = deployment.image
    if (image is not None and image.is_tf_serving) or _names_the_server(deployment):
        return flags
    return flags if any(_is_of_the_server(argument) for argument in deployment.arguments if argument.index is not None) else None


def attempted(deployment: Deployment, name: str) -> bool:
    """Whether an argument that the server cannot read was meant to be this flag: what follows from its absence is that one mistake."""
    return any(name in (stray.name, stray.meant) for stray in strays(deployment))


def strays(deployment: Deployment) -> tuple[Stray, ...]:
    """Each argument of which the server makes nothing: unknown flags, values after a space, values of the wrong kind.

    A value after a space is one mistake with its flag. What only the running container knows (`$PORT`), or the author of a template
    (`<port>`), is not judged.
    """
    return _strays(deployment.arguments)


@lru_cache(maxsize=2)
def _strays(arguments: tuple[Argument, ...]) -> tuple[Stray, ...]:
    """Those of one command line, which many rules ask for."""
    return tuple(_each_stray(arguments))


def _each_stray(arguments: Sequence[Argument]) -> Iterator[Stray]:
    at, unknown = 0, 0
    while at < len(arguments):
        argument = arguments[at]
        text = argument.text
        at += 1
        if text == "--":
            if at < len(arguments):
                yield Stray(argument, "", None, f"nothing after -- is read, such as {arguments[at].text}")
            return
        name, equals, value = text.lstrip("-").partition("=")
        compare = unknown < MAX_COMPARED
        read = read_argument(text, compare=compare)
        follows = arguments[at].text if at < len(arguments) and not arguments[at].text.startswith("-") else None
        if isinstance(read, BadValue):
            if not value.startswith(_PLACEHOLDER_STARTS):
                yield Stray(argument, name, value, read.meaning, bad_value=True, meant=name)
        elif isinstance(read, LeftOver) and text.startswith("-"):
            apart = follows if not equals else None
            at += apart is not None
            unknown += 1
            said = apart if apart is not None else value if equals else None
            yield Stray(argument, name, said, read.meaning, meant=meant_flag(name, compare=compare))
        elif isinstance(read, LeftOver):
            if text and not text.startswith(_PLACEHOLDER_STARTS) and not _is_program(text):
                yield Stray(argument, "", None, read.meaning)
        elif follows is not None and not equals:
            at += 1
            yield Stray(argument, name, follows, f"--{name} alone is on, and the word after the space is not read", meant=name)


def meant_flag(name: str, *, compare: bool = True) -> str | None:
    """The flag that an unknown name means: another spelling, an invented name with a known counterpart, or the nearest one.

    Not `compare`: the nearest one is not looked for.
    """
    if len(name) > MAX_SHOWN:
        return None
    plain = name.strip("-").replace("-", "_").lower()
    if plain in BY_NAME:
        return plain
    if plain in INVENTED:
        words = (word.strip("-:,.") for word in INVENTED[plain].split() if word.startswith("--"))
        known = next((word for word in words if word in BY_NAME), None)
        return known if known is not None and "the flag is" in INVENTED[plain] else None
    near = difflib.get_close_matches(plain, BY_NAME, n=1, cutoff=_NEAR) if compare else []
    return near[0] if near else None


def whole_line_known(deployment: Deployment) -> bool:
    """Whether a flag that is not in `deployment.flags` is certainly not given: the description is whole, or lists the flags alone."""
    described = deployment.described
    return described is None or described.form is Form.DOCKER or described.complete


def is_boolean(name: str) -> bool:
    """Whether the flag takes true or false."""
    return name in BY_NAME and BY_NAME[name].kind is Kind.BOOL


def where_flag(deployment: Deployment, name: str) -> Where:
    """The place of the flag, or where it would stand; its field is then the flag that is missing."""
    where = deployment.where_flag(name)
    return Where(where.part, where.file, where.line, f"--{name}") if where.field.startswith("/") else where


def _is_of_the_server(argument: Argument) -> bool:
    """Whether it sets a flag that is TF Serving's own."""
    read = read_argument(argument.text, compare=False)
    return isinstance(read, tuple) and read[0] not in _COMMON


def _is_program(text: str) -> bool:
    """The server's own name at the head of a command line."""
    return text.rpartition("/")[2] == SERVER


def _names_the_server(deployment: Deployment) -> bool:
    words = deployment.container.get("command")
    texts = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
    return any(SERVER in word or any(script in word for script in ENTRYPOINT) for word in texts)
