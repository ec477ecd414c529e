"""Text to paste, in the form of what the user has: a flag for a command, fields for a document, arguments for Terraform. Pure."""

import json
import re
from collections.abc import Iterator
from typing import Any

from shared.cloudrun.described import Form
from shared.cloudrun.fields import Json
from shared.lint.deployment import Deployment

_PLAIN = re.compile(r"[A-Za-z/][\w./-]*")
_IDENTIFIER = re.compile(r"[A-Za-z_][\w-]*")
_WORDS_OF_YAML = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_UPPER = re.compile(r"(?<=[a-z0-9])([A-Z])")
_MAPS = frozenset({"limits", "labels", "annotations"})


def paste(deployment: Deployment, *, flags: str, v2: Json, v1: Json | None = None) -> str:
    """The setting as the user's own form writes it. `v1` is that of a Knative document where it is not the same as `v2`."""
    form = deployment.described.form if deployment.described is not None else Form.GCLOUD
    if form in {Form.GCLOUD, Form.DOCKER}:
        return flags
    if form is Form.TERRAFORM:
        return "\n".join(_hcl(v2, 0))
    fields = v1 if form is Form.V1 and v1 is not None else v2
    source = deployment.given.deploy or deployment.given.spec
    if source is not None and source.text.lstrip().startswith(("{", "[")):
        return ", ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in fields.items())
    return "\n".join(_yaml(fields, 0))


def _yaml(fields: Json, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for name, value in fields.items():
        shown = name if _PLAIN.fullmatch(name) else json.dumps(name)
        if isinstance(value, dict):
            yield f"{indent}{shown}:"
            yield from _yaml(value, depth + 1)
        elif isinstance(value, list):
            yield f"{indent}{shown}:"
            for each in value:
                first, *rest = _yaml(each, depth + 1) if isinstance(each, dict) else [f"{indent}  {_scalar(each)}"]
                yield f"{indent}- {first.lstrip()}"
                yield from rest
        else:
            yield f"{indent}{shown}: {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS_OF_YAML:
        return value
    return value if isinstance(value, str) and re.fullmatch(r"[0-9]+[A-Za-z]i?", value) else json.dumps(value)


def _hcl(fields: Json, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for name, value in fields.items():
        snake = _UPPER.sub(r"_\1", name).lower() if _IDENTIFIER.fullmatch(name) else json.dumps(name)
        if isinstance(value, dict):
            yield f"{indent}{snake} {'= ' if name in _MAPS else ''}{{"
            yield from _hcl(value, depth + 1)
            yield f"{indent}}}"
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for each in value:
                yield f"{indent}{snake} {{"
                yield from _hcl(each, depth + 1)
                yield f"{indent}}}"
        else:
            yield f"{indent}{snake} = {json.dumps(value)}"
