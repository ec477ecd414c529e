"""Which flags a container gives tensorflow_model_server: through the image's entry point, its own command, or a shell script. Pure."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ENTRYPOINT = ("tf_serving_entrypoint.sh",)
SERVER = "tensorflow_model_server"
DEFAULT_MODEL_NAME = "model"
DEFAULT_MODEL_BASE_PATH = "/models"
"""Of the published image's environment."""

_SHELLS = frozenset({"sh", "bash", "dash", "ash"})
_END_OF_COMMAND = frozenset({";", "&", "&&", "|", "||"})
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)\}|(?P<plain>\w+))")
_REFERENCE = re.compile(r"\$\((?P<name>\w+)\)")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument that the server gets. `index` is its place in the container's args, None where it comes from elsewhere."""

    text: str
    index: int | None = None


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """How the server is started. `entrypoint`: by the image's own script, whose four flags come first."""

    arguments: tuple[Argument, ...]
    entrypoint: bool


def server_command(command: Sequence[str], args: Sequence[str], env: Mapping[str, str]) -> ServerCommand | None:
    """The arguments of tensorflow_model_server in a container; None where it starts something that is not known to be it."""
    own = tuple(Argument(_expanded(text, env), index) for index, text in enumerate(args))
    if not command:
        return ServerCommand((*_entry_arguments(env), *own), entrypoint=True)
    program, *rest = command
    name = program.rpartition("/")[2]
    given = tuple(Argument(_expanded(text, env)) for text in rest)
    if name == SERVER:
        return ServerCommand((*given, *own), entrypoint=False)
    if name in ENTRYPOINT:
        return ServerCommand((*_entry_arguments(env), *given, *own), entrypoint=True)
    if name in _SHELLS:
        return _in_script(list(rest), own, env)
    return None


def _entry_arguments(env: Mapping[str, str]) -> tuple[Argument, ...]:
    name = env.get("MODEL_NAME", DEFAULT_MODEL_NAME)
    base = env.get("MODEL_BASE_PATH", DEFAULT_MODEL_BASE_PATH)
    return tuple(map(Argument, ("--port=8500", "--rest_api_port=8501", f"--model_name={name}", f"--model_base_path={base}/{name}")))


def _in_script(rest: list[str], own: tuple[Argument, ...], env: Mapping[str, str]) -> ServerCommand | None:
    words = [*rest, *(argument.text for argument in own)]
    at = next((place for place, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word)), None)
    if at is None or at + 1 >= len(words):
        return None
    script, positional = words[at + 1], words[at + 3 :]
    behind = own[len(own) - len(positional) :] if len(positional) <= len(own) else tuple(map(Argument, positional))
    for line in script.replace("\\\n", " ").splitlines():
        found = _on_line(line, behind, env)
        if found is not None:
            return found
    return None


def _on_line(line: str, behind: tuple[Argument, ...], env: Mapping[str, str]) -> ServerCommand | None:
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return None
    at = next((place for place, word in enumerate(words) if word.rpartition("/")[2] in {SERVER, *ENTRYPOINT}), None)
    if at is None:
        return None
    entrypoint = words[at].rpartition("/")[2] in ENTRYPOINT
    found: list[Argument] = list(_entry_arguments(env)) if entrypoint else []
    for word in words[at + 1 :]:
        if word in _END_OF_COMMAND:
            break
        if word in {"$@", "$*"}:
            found.extend(behind)
        else:
            found.append(Argument(_VARIABLE.sub(lambda name: env.get(name["braced"] or name["plain"], name[0]), word)))
    return ServerCommand(tuple(found), entrypoint)


def _expanded(text: str, env: Mapping[str, str]) -> str:
    """Cloud Run puts the value of a variable where an argument says `$(NAME)`."""
    return _REFERENCE.sub(lambda name: env.get(name["name"], name[0]), text)
