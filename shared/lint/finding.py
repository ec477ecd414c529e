"""What a rule says: code, severity, where, what and why, the fix. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from shared.lint.catalog import CODES


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "error"
    """It does not start, is refused, or certainly does not do what was meant."""
    WARNING = "warning"
    """It works, and will hurt."""
    INFO = "info"
    """Worth knowing."""


@dataclass(frozen=True, slots=True)
class Where:
    """A place in what the user gave.

    `part` is the evidence it is in (`deploy`, `batching`, `models`, `flags`, `env`, `objects`, `monitoring`, `alert_policy`); `line` is
    a line of the file, from 1; `field` is what the text calls it (`--concurrency`, `template.containers[0].image`, `max_batch_size`).
    """

    part: str
    file: str
    line: int | None = None
    field: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.field}" if self.field else place


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `message` says what is wrong with which value, and why; `fix` is text to paste or what to do."""

    code: str
    message: str
    where: Where
    fix: str

    @property
    def severity(self) -> Severity:
        """That of its code: a code has one severity everywhere."""
        return Severity(CODES[self.code].severity)

    @property
    def authority(self) -> str:
        """The source of the rule."""
        return CODES[self.code].authority
