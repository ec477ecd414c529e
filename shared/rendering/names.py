"""The names of revisions: the same desired content is known by the same name.

`<service>-<hash of its template>-<attempt>`: 49 + 1 + 10 + 1 + 2 characters at most, which are Cloud Run's 63.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from shared.rendering.canonical import canonical_template

HASH_CHARACTERS = 10
"""50 bits: two contents of one service share a name once in some 10^15."""
MAX_ATTEMPT = 99

_NAME = re.compile(rf"(?P<service>[a-z](?:[a-z0-9-]*[a-z0-9])?)-(?P<hash>[a-z2-7]{{{HASH_CHARACTERS}}})-(?P<attempt>[1-9][0-9]?)")


class OurName(NamedTuple):
    """The parts of a revision's name that Trimtab gave."""

    service: str
    template_hash: str
    attempt: int


def template_hash(template: Mapping[str, Any]) -> str:
    """The hash of what a template (v2 JSON) means; the revision's name is not part of it."""
    return value_hash(canonical_template(template))


def value_hash(value: Mapping[str, Any]) -> str:
    """Ten characters that stand for a JSON value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return base64.b32encode(hashlib.sha256(text.encode()).digest()).decode().lower()[:HASH_CHARACTERS]


def revision_name(service: str, template: Mapping[str, Any], attempt: int = 1) -> str:
    """The name of the revision with this template.

    Raises:
        ValueError: the attempt is not 1 to 99.
    """
    if not 1 <= attempt <= MAX_ATTEMPT:
        raise ValueError(f"attempt {attempt}: want 1 to {MAX_ATTEMPT}; a template that failed that often needs a person")
    return f"{service}-{template_hash(template)}-{attempt}"


def read_revision_name(name: str) -> OurName | None:
    """The parts of a name that Trimtab gave; None if it is another's."""
    found = _NAME.fullmatch(name)
    return None if found is None else OurName(found["service"], found["hash"], int(found["attempt"]))
