"""What a text of Cloud Run can mean: where it is seen, what a controller does about it, and the row of the table. Pure."""

import re
from dataclasses import dataclass
from enum import StrEnum

from shared.cloudrun.quotas import QuotaViolation


class Where(StrEnum):
    """Where the text was seen."""

    DATA_PATH = "data path"
    """The answer to a request to the service, or its line in the request log."""
    ADMIN_API = "admin API"
    """The answer to a call of the Admin API: nothing was written."""
    OPERATION = "operation"
    """The error of an operation that had been accepted."""
    CONDITION = "condition"
    """The message of a condition of a service or revision."""
    LOG = "log"
    """A line of the platform in Cloud Logging."""


class TextAnswer(StrEnum):
    """What a controller does about it."""

    WAIT = "wait"
    """It goes on by itself: look again."""
    RETRY = "retry"
    """The world mends it: the same again after a while."""
    REREAD = "reread"
    """Somebody else wrote: read, plan and write anew."""
    RENAME_REVISION = "rename-revision"
    """The revision's name is taken by another template: a new number, never the same name again."""
    PARK = "park"
    """It would be refused again: a person changes configuration, IAM or a setting."""
    QUOTA = "quota"
    """More was asked than the quota allows: stay within it, and tell a person."""
    NO_CAPACITY = "no-capacity"
    """Accepted, but no GPUs when instances were started: the old revision keeps its traffic; later, under a new revision number."""
    FAILED_REVISION = "failed-revision"
    """The template does not start: traffic stayed on the old revision; the same template is not tried again."""
    DROP_REVISIONS = "drop-revisions"
    """Too many revisions are live: take tags and traffic from old ones."""
    SCALE_SIGNAL = "scale-signal"
    """Instances were missing: capacity may be short."""
    SATURATED = "saturated"
    """Instances take more than they get done: fewer requests at once before more time."""
    IGNORE_FOR_SCALING = "ignore-for-scaling"
    """Instances are failing: more of them do not help. Look for crashes and memory."""
    BUG = "bug"
    """The caller asked wrongly: Trimtab's own mistake, or its configuration's."""
    NOTE = "note"
    """Nothing is wrong."""


@dataclass(frozen=True, slots=True)
class KnownText:
    """One row of the table."""

    name: str
    """For programs: stays when words change."""
    pattern: re.Pattern[str]
    where: frozenset[Where]
    meaning: str
    answer: TextAnswer
    advice: str
    after_seconds: float | None = None
    """When to try again, with the answers retry and no-capacity."""
    retries: int | None = None
    """How often in a row that is worth it; None: no bound of its own."""
    http_statuses: frozenset[int] = frozenset()
    """The row is meant only with these HTTP statuses; empty: with any, and where the status is not known."""


@dataclass(frozen=True, slots=True)
class TextMeaning:
    """What one text means: its row, and the numbers that stood in it."""

    known: KnownText
    violations: tuple[QuotaViolation, ...] = ()
    allowed_instances: int | None = None
    """The most instances that Cloud Run says it would accept."""
    captured: str | None = None
    """What the row's pattern picked out: a revision's name, an image."""

    @property
    def name(self) -> str:
        """The row's name."""
        return self.known.name

    @property
    def answer(self) -> TextAnswer:
        """What a controller does about it."""
        return self.known.answer

    @property
    def explanation(self) -> str:
        """The meaning, the numbers in units a person reads, and what to do."""
        numbers = [str(each) for each in self.violations]
        if self.allowed_instances is not None:
            numbers.append(f"at most {self.allowed_instances} instances are accepted")
        return " ".join([f"{self.known.meaning}.", *(f"{'; '.join(numbers)}." for _ in numbers[:1]), f"{self.known.advice}."])
