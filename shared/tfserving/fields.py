"""The scalar types of TF Serving's messages."""

from typing import Annotated

from pydantic import AfterValidator, Field


def _utf8(value: str) -> str:
    value.encode()
    return value


Utf8 = Annotated[str, AfterValidator(_utf8)]
"""A text that a message can hold: no half of a surrogate pair (the error of encoding it is a ValueError)."""
Int32 = Annotated[int, Field(strict=True, ge=-(2**31), le=2**31 - 1)]
Uint32 = Annotated[int, Field(strict=True, ge=0, le=2**32 - 1)]
Int64 = Annotated[int, Field(strict=True, ge=-(2**63), le=2**63 - 1)]
