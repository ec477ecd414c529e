"""What the doctor says: the check, how bad it is, what is wrong, why it matters, and the command that mends it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Level(StrEnum):
    """How bad a finding is."""

    PROBLEM = "problem"
    """Something does not work, or loses events."""
    WARNING = "warning"
    """It works, and will hurt."""
    UNKNOWN = "unknown"
    """It could not be looked at: neither healthy nor broken."""
    NOTE = "note"
    """It works; whether it will stay so cannot be seen from here. It changes no exit code."""


CHECKS: Final[Mapping[str, str]] = {
    "api": "the APIs that Trimtab uses are enabled, and those of what is switched on",
    "account": "each function has its service account, and none is disabled",
    "function": "each function is there once, active, with its entry point, source file, account and topics",
    "setting": "the functions take their settings: grants, allow-lists, the account of pushes, whose changes are Trimtab's own, what is "
    "switched on",
    "ingress": "only the command function can be reached from outside, and only where somebody may call it",
    "version": "all functions run the same archive, and the one that was given; their Python is one the project takes",
    "topic": "each function has its topic, and there is one for events",
    "subscription": "each topic is pushed to its function's address with a token for it, never expires, and waits long enough",
    "dead-letter": "what cannot be delivered goes to a dead-letter topic that somebody keeps",
    "bucket": "each bucket of models is there, and tells the topic of uploads what comes and goes below its models' folders",
    "grant": "Trimtab's accounts, those of served services and Google's agents have the roles they need, for what is switched on as well",
    "excess": "no account of Trimtab has more than it needs, there or above; nobody else may call the functions or publish to their topics",
    "tick": "the scheduler publishes a tick every minute, and the last one went out",
    "sink": "changes by others in each served project reach the topic of changes, and all of them do",
    "database": "the Firestore database is there, in native mode, with optimistic concurrency",
    "ttl": "documents that expire are deleted",
    "index": "the queries over all collections of a name have their indexes",
    "quota": "GPUs, CPU and memory of each region suffice for what the specs allow",
    "metric": "the metrics that Trimtab and the alert policies name exist",
    "sidecar": "where alerts read TF Serving's own metrics, a collector sends them",
    "alert": "of a plan: people hear of trouble of Trimtab itself, and alerts of each served project lead to Trimtab",
    "owner": "no service under Trimtab's care is also written by Terraform",
    "service": "each service under care is there, and runs as an account of its own",
    "clock": "this machine's clock agrees with Google's",
}
"""Every check, and what holds when it is silent."""


class Verdict(StrEnum):
    """What is said of a check of which nothing was found."""

    SILENT = "silent"
    """It was looked at, and holds."""
    NOT_ASKED = "not-asked"
    """It was not looked at: a plan does not hold it, a variable of the plan leaves it to others, or there is nothing of it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `mend` is a command, or text to paste, of as many lines as it takes; empty where a person must decide."""

    check: str
    level: Level
    what: str
    why: str
    mend: str = ""

    def __post_init__(self) -> None:
        if self.check not in CHECKS:
            raise ValueError(f"check {self.check!r}: want one of {', '.join(CHECKS)}")
