"""How tensorflow_model_server is started in a container: one fixed script, and its files from the environment. Pure.

Batching parameters, the pinned model and the metrics page are files to TF Serving. They travel inside the revision, as values of
environment variables, and the script writes them where the flags point. Nothing is put into the script's text: it is the same in
every revision, and what varies is only ever read from quoted variables. `exec` makes the server the process that Cloud Run
signals. (The entry point of the published image is a shell that stays in front of the server and takes no signal on.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SERVER = "/usr/bin/tensorflow_model_server"
"""Where the published images have it."""

GRPC_PORT = 8500
REST_PORT = 8501

FOLDER = "/tmp/trimtab"  # noqa: S108 (inside a container of one process, in memory)
MODEL_CONFIG_FILE = f"{FOLDER}/models.config"
BATCHING_FILE = f"{FOLDER}/batching.config"
MONITORING_FILE = f"{FOLDER}/monitoring.config"
MODELS_FOLDER = f"{FOLDER}/models"
"""Where a copied model stands: `<folder>/<model>/<version>`."""
COLLECTOR_FOLDER = "/run/trimtab-collector"
"""Shared with the metrics sidecar, whose file the script writes before the server is ready and the sidecar starts."""
COLLECTOR_FILE = f"{COLLECTOR_FOLDER}/config.yaml"

MODEL_CONFIG = "TRIMTAB_MODEL_CONFIG"
BATCHING = "TRIMTAB_BATCHING_PARAMETERS"
MONITORING_CONFIG = "TRIMTAB_MONITORING_CONFIG"
COLLECTOR_CONFIG = "TRIMTAB_COLLECTOR_CONFIG"
COPY_FROM = "TRIMTAB_COPY_FROM"
COPY_TO = "TRIMTAB_COPY_TO"
MODEL_FOLDER = "TRIMTAB_MODEL_FOLDER"
"""The version's own folder, where it is in the image or in the mounted bucket; without it the server would wait for it without a port."""
ENVIRONMENT_NAMES = "TRIMTAB_ENVIRONMENT_NAMES"
"""Which other variables Trimtab wrote, so that one that leaves the spec leaves the service."""
OUR_VARIABLES = (MODEL_CONFIG, BATCHING, MONITORING_CONFIG, COLLECTOR_CONFIG, COPY_FROM, COPY_TO, MODEL_FOLDER, ENVIRONMENT_NAMES)

SCRIPT = f"""set -eu
mkdir -p {FOLDER}
put() {{ if [ -n "$1" ]; then printf '%s' "$1" > "$2"; fi; }}
put "${{{MODEL_CONFIG}}}" {MODEL_CONFIG_FILE}
put "${{{MONITORING_CONFIG}}}" {MONITORING_FILE}
put "${{{BATCHING}:-}}" {BATCHING_FILE}
put "${{{COLLECTOR_CONFIG}:-}}" {COLLECTOR_FILE}
if [ -n "${{{MODEL_FOLDER}:-}}" ] && [ ! -d "${{{MODEL_FOLDER}}}" ]; then
  printf 'trimtab: there is no folder %s: is the version there, and is model.uri the folder above it?\\n' "${{{MODEL_FOLDER}}}" >&2
  exit 1
fi
if [ -n "${{{COPY_FROM}:-}}" ]; then
  mkdir -p "${{{COPY_TO}}}"
  cp -R "${{{COPY_FROM}}}/." "${{{COPY_TO}}}"
fi
exec {SERVER} "$@"
"""
"""POSIX shell. It stops at the first thing that fails, so that a start that cannot work ends at once and says why."""

COMMAND: tuple[str, ...] = ("/bin/sh", "-c", SCRIPT, "trimtab")
"""The container's command; its arguments become the server's flags."""


@dataclass(frozen=True, slots=True)
class Entry:
    """How a container starts."""

    command: Sequence[str]
    args: Sequence[str]
    environment: Mapping[str, str]
