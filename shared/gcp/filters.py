"""Values in the filter languages of Cloud Logging, Cloud Monitoring and PromQL: quoted, and only what names may hold."""

import re
from datetime import UTC, datetime

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._:/%-]{0,255}")


def quoted(value: str) -> str:
    """The value as a string of a filter.

    Raises:
        ValueError: it holds what no name of a project, a region, a service or a log holds: a filter is never built from it.
    """
    if not _NAME.fullmatch(value):
        raise ValueError(f"{value[:120]!r} is no name that a filter may hold")
    return f'"{value}"'


def timestamp(moment: datetime) -> str:
    """RFC 3339, UTC, to the microsecond."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
