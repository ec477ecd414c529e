"""Files that commands are asked about, read with their limits."""

import sys
from pathlib import Path

from shared.lint.recognition import MAX_BYTES, UnreadableError, decoded

STANDARD_INPUT = "-"


def read_text(name: str) -> str:
    """The text of the file, or of standard input for `-`.

    Raises:
        UnreadableError: there is no such file, it may not be read, or it is no text of a size that is read.
    """
    return decoded(_bytes(name))


def _bytes(name: str) -> bytes:
    if name == STANDARD_INPUT:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    path = Path(name)
    try:
        if path.is_dir():
            raise UnreadableError("it is a folder; name the files in it")
        if not path.is_file():
            raise UnreadableError("there is no such file" if not path.exists() else "it is no regular file")
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise UnreadableError(f"it has {size:,} bytes; at most {MAX_BYTES:,} are read. Cut it to the part that matters")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableError(f"it cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise UnreadableError("its name is none that a file can have") from None
