"""Examples of the catalogs, as a reader would paste them."""

import shlex
from collections.abc import Sequence


def commands(text: str) -> list[list[str]]:
    """Its command lines, as a shell hands them to gcloud; lines of other things are left out."""
    joined = text.replace("\\\n", " ")
    return [shlex.split(line, comments=True) for line in joined.splitlines() if line.startswith("gcloud ")]


def service_updates(texts: Sequence[str]) -> list[list[str]]:
    """Of all texts: the command lines of `gcloud run services update`."""
    return [argv for text in texts for argv in commands(text) if _without_track(argv)[1:4] == ["run", "services", "update"]]


def deployments(texts: Sequence[str]) -> list[list[str]]:
    """Of all texts: the command lines of `gcloud run deploy`."""
    return [argv for text in texts for argv in commands(text) if _without_track(argv)[1:3] == ["run", "deploy"]]


def server_flags(text: str) -> list[str]:
    """Its lines that are flags of tensorflow_model_server."""
    return [line.partition("#")[0].strip() for line in text.splitlines() if line.startswith("--")]


def _without_track(argv: list[str]) -> list[str]:
    return [argv[0], *argv[2:]] if argv[1] in {"alpha", "beta"} else argv
