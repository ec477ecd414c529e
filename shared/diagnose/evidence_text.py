"""The one error of the readers of raw evidence, and their bounds. Pure."""

import json
from typing import Any

from shared.errors import TrimtabError

MAX_CHARACTERS = 20_000_000
"""Of one file of evidence."""


class EvidenceTextError(TrimtabError):
    """The text is not the evidence that it was taken for; the message says what it should be."""


def load_json(text: str, what: str) -> Any:
    """The text as JSON.

    Raises:
        EvidenceTextError: it is too long, or no JSON.
    """
    bounded(text, what)
    try:
        return json.loads(text)
    except RecursionError:
        raise EvidenceTextError(f"{what}: the JSON is nested too deeply") from None
    except ValueError as error:
        raise EvidenceTextError(f"{what}: no JSON: {error}") from None


def bounded(text: str, what: str) -> None:
    """Refuse what is too long to read.

    Raises:
        EvidenceTextError: it is.
    """
    if len(text) > MAX_CHARACTERS:
        raise EvidenceTextError(f"{what}: {len(text):,} characters; at most {MAX_CHARACTERS:,} are read. Cut it to the part that matters")
