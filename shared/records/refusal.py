"""Why a spec is not admitted: one broken rule, with what to do about it. Pure."""

from enum import StrEnum

from shared.records.base import Record

SHOWN_LIMIT = 120
"""Characters of a user's value that a refusal repeats."""

_LONGEST_NUMBER_BITS = 256
"""Python refuses to write very long numbers."""


class Authority(StrEnum):
    """Whose rule it is."""

    CLOUD_RUN = "cloud-run"
    """Cloud Run refuses it, or its instances would not start."""
    TF_SERVING = "tf-serving"
    """TF Serving refuses it, or silently does something else."""
    TRIMTAB = "trimtab"
    """Trimtab's own: an allow-list, or a rule that keeps revisions repeatable and the fields consistent."""


class Refusal(Record):
    """One broken rule of a spec."""

    field: str
    """The path as the user writes it: `spec.serving.batching.allowed_batch_sizes`."""
    value: str
    """What stands there, cut to a line."""
    limit: str
    """What is allowed, with its unit."""
    why: str
    """The reason; where the server has words for it, they stand in quotes at the end."""
    fix: str
    authority: Authority

    def __str__(self) -> str:
        return f"{self.field}: {self.value}: {self.why}; allowed: {self.limit}; fix: {self.fix} [{self.authority}]"


def shown(value: object) -> str:
    """A user's value for a message: on one line, printable, at most `SHOWN_LIMIT` characters."""
    text = value if isinstance(value, str) else _text(value)
    cut = text if len(text) <= SHOWN_LIMIT else f"{text[: SHOWN_LIMIT - 1]}…"
    printable = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)
    return printable if len(printable) <= SHOWN_LIMIT else f"{printable[: SHOWN_LIMIT - 1]}…"


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER_BITS:
        return f"a whole number of {value.bit_length()} bits"
    return str(value)


def in_the_servers_words(why: str, text: str | None) -> str:
    """The reason, and after it what the server prints, where it prints something."""
    return why if text is None else f'{why}; it says "{text}"'
