"""The base of every stored record: frozen, strict about unknown fields, UTC times, JSON as its stored form."""

from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict


def _to_utc(value: datetime) -> datetime:
    return value.astimezone(UTC)


UtcTime = Annotated[AwareDatetime, AfterValidator(_to_utc)]
"""A point in time, always aware, always kept in UTC."""


class Record(BaseModel):
    """A frozen value. Unknown fields are refused: a record written by newer code is reported, never half read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_stored(self) -> dict[str, Any]:
        """The JSON form that stores keep; times are ISO 8601 text in UTC."""
        return self.model_dump(mode="json")

    @classmethod
    def from_stored(cls, stored: Any) -> Self:
        """Read the stored JSON form.

        Raises:
            pydantic.ValidationError: the document is not one of these, or was written by newer code.
        """
        return cls.model_validate(stored)
