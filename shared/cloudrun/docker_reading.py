"""`docker run` lines, and those of podman and nerdctl: the container that they start. Pure.

Source: the reference of `docker run`, for which flags take a value; everything behind the image is the container's arguments.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.cloudrun.shell_variables import UNKNOWN, assignment

_WITHOUT_VALUE = frozenset(
    {
        "detach",
        "disable-content-trust",
        "help",
        "init",
        "interactive",
        "no-healthcheck",
        "oom-kill-disable",
        "privileged",
        "publish-all",
        "quiet",
        "read-only",
        "replace",
        "rm",
        "sig-proxy",
        "tty",
        "tls-verify",
        "rmi",
    }
)
_SHORT_WITHOUT_VALUE = "ditPq"
_TEXT = {"-e": "env", "--env": "env", "--entrypoint": "entrypoint"}


@dataclass(slots=True)
class DockerRun:
    """What a `docker run` line says. Each text has the word that says it and its line."""

    image: tuple[str, str, int] | None = None
    args: list[tuple[str, str, int]] = field(default_factory=list)
    env: list[tuple[str, str, int]] = field(default_factory=list)
    """`NAME=value`; a bare name takes the value of whoever runs the line, which is not known."""
    entrypoint: tuple[str, str, int] | None = None


def read_docker(words: Sequence[str], lines: Sequence[int]) -> DockerRun | None:
    """The command whose words begin with the program's name; None where it starts no container."""
    at = _behind_run(words)
    if at is None:
        return None
    found = DockerRun()
    while at < len(words):
        word, line = words[at], lines[at]
        at += 1
        if not word.startswith("-") or word == "-":
            if word.startswith(UNKNOWN) and "/" not in word and any(_looks_like_image(each) for each in words[at:]):
                continue
            found.image = (word, "docker run", line)
            found.args = [(text, text, where) for text, where in zip(words[at:], lines[at:], strict=True)]
            break
        option = _option(word)
        if option is None:
            continue
        name, equals, value = option
        if not equals:
            if at >= len(words):
                break
            value = words[at]
            at += 1
        _take(found, name, value, line)
    return found


def _behind_run(words: Sequence[str]) -> int | None:
    """The place behind `run`; flags of the program itself and `container` may stand before it."""
    at = 1
    while at < len(words):
        word = words[at]
        if word == "run":
            return at + 1
        if word.startswith("-"):
            at += 1 if "=" in word or word in {"-D", "--debug", "--tls", "--tlsverify", "--remote"} else 2
        elif word == "container":
            at += 1
        else:
            return None
    return None


def _option(word: str) -> tuple[str, bool, str] | None:
    """An option that takes a value: its name, whether its value is in the word, and that value; None for one without a value.

    Of letters written together the first that takes a value takes the rest of the word.
    """
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return None if name[2:] in _WITHOUT_VALUE else (name, bool(equals), value)
    letters = word[1:].lstrip(_SHORT_WITHOUT_VALUE)
    if not letters:
        return None
    return f"-{letters[0]}", len(letters) > 1, letters[1:].removeprefix("=")


def _looks_like_image(word: str) -> bool:
    return not word.startswith("-") and ("/" in word or ":" in word) and assignment(word) is None


def _take(found: DockerRun, name: str, value: str, line: int) -> None:
    kind = _TEXT.get(name)
    if kind == "env":
        found.env.append((value if "=" in value else f"{value}={UNKNOWN}${value}", name, line))
    elif kind == "entrypoint":
        found.entrypoint = (value, name, line)
