"""The value of --args: how gcloud splits it, what was meant, and how to write that. Pure."""

import re
import shlex
from collections.abc import Sequence

from shared.cloudrun.gcloud_flags import find_flag
from shared.cloudrun.gcloud_values import Value
from shared.cloudrun.shell_variables import UNKNOWN, shown

_DELIMITERS = ";@|#%~!:+"
_NUMBER = re.compile(r"-\d+(?:\.\d+)?")
_SERVER = re.compile(r"(?:.*/)?(?:tensorflow_model_server|tf_serving_entrypoint\.sh)")
_SERVER_FLAG = re.compile(r"--(?:[a-z0-9]+_[a-z0-9_]*|v|port|nov)(?:=.*)?", re.DOTALL)
_ONLY_THE_SERVERS = re.compile(r"--[a-z0-9]+_[a-z0-9_]*(?:=.*)?", re.DOTALL)
_SERVING_IMAGE = "tensorflow/serving"
MAX_FIX = 2_000
"""Characters of a corrected value that a fix repeats."""


def starts_server(command: Value) -> bool:
    """Whether the container may be TF Serving: the image's own entry point, or a command that starts the server."""
    if not isinstance(command, list) or not command:
        return True
    return any(_SERVER.fullmatch(word) for word in command)


def are_the_servers(items: Sequence[str], image: str | None) -> bool:
    """Whether the items may be TF Serving's arguments: an image of another name is believed to hold it where a flag is of its making."""
    return image is None or _SERVING_IMAGE in image or UNKNOWN in image or any(_ONLY_THE_SERVERS.fullmatch(item) for item in items)


def comma_split(items: Sequence[str], delimiter: str) -> tuple[str, list[str]] | None:
    """What gcloud's split cut off a flag's value, and the list that was meant; None where nothing was cut off.

    The server reads `--flag=value` only: a word behind a flag without a value, the way of other programs, is lost too, and is meant as
    that value. A flag with a blank in front, which the server would not know for one, is meant without it. What a variable holds that
    is not known here may be a flag.
    """
    lost: str | None = None
    meant: list[list[str]] = []
    for item in items:
        if item[:1].isspace() and item.lstrip().startswith("--"):
            lost = lost if lost is not None else item
            meant.append([item.strip()])
            continue
        is_flag = item.startswith("-") and not _NUMBER.fullmatch(item)
        if is_flag or not item or item.startswith(UNKNOWN) or not meant or not meant[-1][0].startswith("--"):
            meant.append([item])
        elif "=" not in meant[-1][0]:
            lost = lost if lost is not None else item
            meant[-1][0] = f"{meant[-1][0]}={item}"
        else:
            lost = lost if lost is not None else item
            meant[-1].append(item)
    return None if lost is None else (lost, [delimiter.join(parts) for parts in meant])


def quoted_args(name: str, items: Sequence[str]) -> str:
    """The flag that gcloud reads as exactly these items, quoted for a shell."""
    plain = [shown(item) for item in items]
    everything = "".join(plain)
    if len(everything) > MAX_FIX:
        return f"{name}='^;^...', with ; between the items"
    if "," not in everything:
        text = ",".join(plain)
        return f"{name}={text if not re.search(r'[^A-Za-z0-9_=,./:@%+-]', text) else shlex.quote(text)}"
    mark = next((each for each in _DELIMITERS if each not in everything), "@@@")
    return f"{name}={shlex.quote(f'^{mark}^{mark.join(plain)}')}"


def server_flags(words: Sequence[str], *, port_is_gcloud: bool, named: bool) -> list[str]:
    """The first words, as far as they are flags of the model server and not of gcloud: what follows `--args` and a blank.

    `port_is_gcloud`: a --port further on is gcloud's, for there is no other; the first word behind --args is the server's.
    """
    taken: list[str] = []
    for word in words:
        name = word.partition("=")[0]
        if not word.startswith("-"):
            if named and taken and "=" not in taken[-1] and _SERVER_FLAG.fullmatch(taken[-1]):
                taken.append(word)
                continue
            break
        is_gcloud = find_flag(name) is not None and not (name == "--port" and (not taken or not port_is_gcloud))
        if (not taken and (not is_gcloud or ",-" in word)) or (taken and not is_gcloud and _SERVER_FLAG.fullmatch(word)):
            taken.append(word)
        else:
            break
    return taken
