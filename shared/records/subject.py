"""What a wake is about, and the names Trimtab gives to it."""

import hashlib
from typing import Annotated, Literal, Self

from pydantic import StringConstraints

from shared.records.base import Record

ProjectId = Annotated[str, StringConstraints(pattern=r"^(?:[a-z0-9][a-z0-9.-]{0,60}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$", max_length=92)]
"""A Google Cloud project id, domain-scoped ones (`example.com:acme-ml`) included."""
Region = Annotated[str, StringConstraints(pattern=r"^[a-z]+(?:-[a-z]+)+[0-9]{1,2}$", max_length=40)]
"""A Cloud Run region, as `europe-west1`."""
ServiceName = Annotated[str, StringConstraints(pattern=r"^[a-z](?:[a-z0-9-]{0,47}[a-z0-9])?$", max_length=49)]
"""A Cloud Run service name. Cloud Run takes up to 49 characters; revision names need the rest of their 63."""

SWEEP_SLOTS = 10
"""Settled services are looked at every `SWEEP_SLOTS` minutes, each in the minute of its own slot."""

DOCUMENT_ID_LIMIT_BYTES = 1_400
"""Firestore takes document ids of up to 1,500 bytes; longer natural keys are stored as their SHA-256."""


class ServiceId(Record):
    """One TF Serving deployment = one Cloud Run service. Written as `project:region:name`."""

    project: ProjectId
    region: Region
    name: ServiceName

    def __str__(self) -> str:
        return f"{self.project}:{self.region}:{self.name}"

    @property
    def resource_name(self) -> str:
        """Cloud Run's own name: `projects/P/locations/R/services/S`."""
        return f"projects/{self.project}/locations/{self.region}/services/{self.name}"

    @property
    def sweep_slot(self) -> int:
        """The minute (0 to `SWEEP_SLOTS` - 1) in which the schedule looks at this service when it is settled."""
        return int.from_bytes(hashlib.sha256(str(self).encode()).digest()[:8], "big") % SWEEP_SLOTS

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `project:region:name`; a domain-scoped project keeps its own colon.

        Raises:
            ValueError: not of that form (pydantic's ValidationError, a ValueError, names the part).
        """
        parts = text.rsplit(":", 2)
        if len(parts) != 3:  # noqa: PLR2004 (project, region, name)
            msg = f"service id {text[:120]!r}: want project:region:name, for example acme-ml:europe-west1:ranker"
            raise ValueError(msg)
        return cls(project=parts[0], region=parts[1], name=parts[2])


class Wake(Record):
    """A hint that a subject should be looked at. It carries no facts: the documents do."""

    schema_version: Literal[1] = 1
    subject_kind: Literal["service", "model"] = "service"
    subject_id: Annotated[str, StringConstraints(min_length=1, max_length=1_300)]
    """A service's id, or a model's uri."""
    reason: Annotated[str, StringConstraints(max_length=200)]

    @classmethod
    def of(cls, service: ServiceId, reason: str) -> Self:
        """The wake of one service."""
        return cls(subject_id=str(service), reason=reason[:200])

    @classmethod
    def of_model(cls, uri: str, reason: str) -> Self:
        """The wake of one model."""
        return cls(subject_kind="model", subject_id=uri, reason=reason[:200])


def document_id(key: str) -> str:
    """The natural key as a safe document id: itself, or its SHA-256 where Firestore would refuse it.

    Firestore refuses ids that are empty, `.`, `..`, of the form `__x__`, longer than 1,500 bytes, or hold a `/`.
    """
    raw = key.encode("utf-8", "surrogatepass")
    plain = (
        0 < len(raw) <= DOCUMENT_ID_LIMIT_BYTES
        and "/" not in key
        and key not in {".", ".."}
        and not (key.startswith("__") and key.endswith("__"))
        and key.isprintable()
    )
    return key if plain else hashlib.sha256(raw).hexdigest()
