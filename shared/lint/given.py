"""What a user gave, sorted into its parts: the question that lint and diagnose answer. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.lint.finding import Where


@dataclass(frozen=True, slots=True)
class Text:
    """A text of the user's. `first_line` is the line of the file on which it begins; not `exact`: its own lines are not the file's."""

    text: str
    file: str
    first_line: int = 1
    exact: bool = True

    def where(self, part: str, line: int | None = None, field: str = "") -> Where:
        """The place of a line of this text (from 1) in the file."""
        at = self.first_line + line - 1 if self.exact and line is not None else self.first_line
        return Where(part, self.file, at, field)


@dataclass(frozen=True, slots=True)
class Arguments:
    """Flags of tensorflow_model_server that the user lists, each with its line in `file` (None: not known)."""

    values: tuple[str, ...]
    file: str
    lines: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One line of a listing: `gs://bucket/path` or `/models/path`, and its size if the line gives it."""

    path: str
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Listing:
    """The objects below a model's path, as the user lists them."""

    objects: tuple[StoredObject, ...]
    file: str
    first_line: int


@dataclass(frozen=True, slots=True)
class Workload:
    """What the user states about traffic and model; None is not stated."""

    rows_per_request: int | None = None
    request_mib: float | None = None
    client_deadline_ms: float | None = None
    model_gib: float | None = None
    start_s: float | None = None
    """Measured: from the start of the container to the open port."""
    batch_ms: Mapping[int, float] = field(default_factory=dict)
    """Rows of a batch to the milliseconds it takes."""
    bulk: bool = False
    """Latency does not matter."""
    gpu_quota: int | None = None
    """GPUs that the project may have in the region."""


@dataclass(frozen=True, slots=True)
class Given:
    """One question: every part is what the user has, or None where it was not given."""

    name: str
    """What the answer calls it: the file's or folder's name as given."""
    deploy: Text | None = None
    spec: Text | None = None
    batching: Text | None = None
    models: Text | None = None
    monitoring: Text | None = None
    alert_policy: Text | None = None
    plan: Text | None = None
    """A Terraform plan."""
    flags: Arguments | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    objects: Listing | None = None
    p99_ms: float | None = None
    """The latency objective."""
    workload: Workload = field(default_factory=Workload)
    logs: tuple[str, ...] = ()
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    """Metric key (`name{label=value} statistic [unit]`) to value; None: the query returned no points."""
    alert: Mapping[str, Any] | None = None
    """The `incident` object of a notification."""
