"""A predict call over REST, as TF Serving answers it. Pure."""

import json
from typing import Any

ANSWER_KEYS = ("predictions", "outputs")
"""A prediction has one of them: `predictions` for `instances`, `outputs` for `inputs`."""
SHOWN_CHARACTERS = 300


def predict_path(model: str) -> str:
    """Where a model answers predict calls."""
    return f"/v1/models/{model}:predict"


def is_prediction(status: int, body: str) -> tuple[bool, str]:
    """Whether an answer is a prediction, and in a few words what it is.

    A 200 without a prediction in it is none: a proxy or a default page may answer so.
    """
    if status != 200:  # noqa: PLR2004 (HTTP)
        return False, f"HTTP {status}: {_shown(body)}"
    try:
        answer: Any = json.loads(body)
    except ValueError:
        return False, f"HTTP 200, but no JSON: {_shown(body)}"
    if isinstance(answer, dict) and any(key in answer for key in ANSWER_KEYS):
        return True, "a prediction"
    return False, f"HTTP 200, but no prediction in it: {_shown(body)}"


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[: SHOWN_CHARACTERS - 1]}…"
