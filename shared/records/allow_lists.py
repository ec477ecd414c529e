"""What whoever runs Trimtab lets specs name: images, service accounts, buckets, projects."""

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import StringConstraints

from shared.records.base import Record

Pattern = Annotated[str, StringConstraints(min_length=1, max_length=512, pattern=r"^[^*\s]*\*?$")]
"""A name, or the beginning of names with a `*` at its end."""


class AllowLists(Record):
    """What specs may name. None: not restricted. A list: only these, so an empty one refuses everything of its kind.

    A pattern is the whole name, or its beginning with a `*` at the end: `europe-docker.pkg.dev/acme-ml/serving/*`. Of images only whole
    parts of the path count: `europe-docker.pkg.dev/acme-ml/serving*` allows nothing of `serving-of-somebody-else`. End other prefixes at
    a separator: a project `acme-ml*` also allows `acme-ml-of-somebody-else`. A service account that a spec leaves as it is (by saying
    nothing) is not judged.
    """

    images: tuple[Pattern, ...] | None = None
    """Image references as the spec writes them, tag or digest included."""
    service_accounts: tuple[Pattern, ...] | None = None
    """E-mail addresses. None allows those of the service's own project and Google's default ones."""
    buckets: tuple[Pattern, ...] | None = None
    """Names of buckets that models come from."""
    projects: tuple[Pattern, ...] | None = None
    """Projects of services."""

    @classmethod
    def of(
        cls,
        *,
        images: Sequence[str] | None,
        service_accounts: Sequence[str] | None,
        buckets: Sequence[str] | None,
        projects: Sequence[str] | None,
    ) -> Self:
        """From the settings' lists.

        Raises:
            pydantic.ValidationError: a pattern is empty, has a space, or a `*` elsewhere than at its end.
        """
        return cls.model_validate({"images": images, "service_accounts": service_accounts, "buckets": buckets, "projects": projects})


NO_LIMITS = AllowLists()
"""Nothing is restricted."""
