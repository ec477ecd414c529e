"""A model as a subject: the folder in a bucket that holds version folders. Pure."""

import hashlib
import re
from typing import Annotated, Self

from pydantic import StringConstraints

from shared.records.base import Record

MODEL_ID_CHARACTERS = 20

_VERSION_FOLDER = re.compile(r"(?:^|(?<=/))[0-9]+(?=/|\Z)")


class ModelSubject(Record):
    """Where a model's versions lie. Objects named `models/ranker/7/...` and a spec's `gs://bucket/models/ranker` give the same one."""

    uri: Annotated[str, StringConstraints(pattern=r"^gs://", max_length=1_300)]
    """`gs://bucket/prefix`, without the slash at the end; `gs://bucket` where the version folders lie in the bucket itself."""

    @property
    def id(self) -> str:
        """The document's id: the first 20 hex digits of the SHA-256 of the uri."""
        return hashlib.sha256(self.uri.encode()).hexdigest()[:MODEL_ID_CHARACTERS]

    @classmethod
    def of_object(cls, bucket: str, name: str) -> Self | None:
        """The model that an object belongs to: what stands before the first part of its path that is all digits (0-9).

        None where no part is: such an object is no file of a version. The name is compared, never used as a path: `..` means nothing.
        """
        found = _VERSION_FOLDER.search(name)
        return cls(uri=f"gs://{bucket}/{name[: found.start()]}".removesuffix("/")) if found is not None else None
