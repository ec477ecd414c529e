"""What the root is planned with: a model with all that is made for it, one with what is there, one of the first's service in another
region that shares with both, and people who command.
"""

import io
import zipfile
from typing import Any

from shared.deployment import FUNCTIONS, source_file

PROJECT = "acme-ml"
NUMBER = "123456789012"
REGION = "europe-west1"
SERVICE = "ranker"
BUCKET = "acme-models"
MADE_BUCKET = "acme-new-models"
OTHER_REGION = "us-central1"
SCORER = f"scorer@{PROJECT}.iam.gserviceaccount.com"
CHANNEL = f"projects/{PROJECT}/notificationChannels/1"
CALLER = "user:ada@example.com"
PUBLISHER = "serviceAccount:ci@acme-ml.iam.gserviceaccount.com"
GRANTS: list[dict[str, Any]] = [
    {"identity": "ada@example.com", "commands": ["apply", "hold"], "services": [f"{PROJECT}:{REGION}:*"]},
    {"subscription": f"projects/{PROJECT}/subscriptions/trimtab-command", "commands": ["patch"], "services": ["*"]},
]

ALLOWED: dict[str, list[str]] = {
    "allowed_images": [f"{REGION}-docker.pkg.dev/{PROJECT}/serving/*"],
    "allowed_service_accounts": [SCORER, "trimtab-serving-*"],
    "allowed_buckets": [BUCKET, MADE_BUCKET],
    "allowed_projects": [PROJECT],
}

ARCHIVE, PROFILER_ARCHIVE = "tests/archive.zip", "tests/archive-profiler.zip"
"""Beside the root: what `archive_of` makes, kept for the tests that ship with the modules."""

VARIABLES: dict[str, Any] = {
    "project_id": PROJECT,
    "project_number": NUMBER,
    "region": REGION,
    "archive": ARCHIVE,
    "model_buckets": {BUCKET: {}, MADE_BUCKET: {"create": True, "location": REGION}},
    "models": {
        SERVICE: {
            "bucket": BUCKET,
            "image_repository": {"location": REGION, "name": "serving"},
            "objective": {"p99_ms": 800, "error_ratio": 0.02},
            "allow_delete": True,
        },
        "scorer": {"service_account_email": SCORER, "region": OTHER_REGION},
        "ranker-us": {
            "service": SERVICE,
            "region": OTHER_REGION,
            "service_account_email": SCORER,
            "bucket": BUCKET,
            "image_repository": {"location": REGION, "name": "serving"},
        },
    },
    "command_callers": [CALLER],
    "command_publishers": [PUBLISHER],
    "command_grants": GRANTS,
    **ALLOWED,
    "notification_channels": [CHANNEL],
}

RATIO = 0.05
SWITCHED: dict[str, Any] = {**VARIABLES, "archive": PROFILER_ARCHIVE, "cloud_profiler": True, "trace_ratio": RATIO}
"""The same with all that can be switched on."""


def archive_of(*requirements: str) -> bytes:
    """What Terraform takes for an archive of `make package`: its names alone, with nothing in the files but the requirements."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in map(source_file, FUNCTIONS):
            archive.writestr(zipfile.ZipInfo(name), "")
        archive.writestr(zipfile.ZipInfo("requirements.txt"), "".join(f"{each}\n" for each in ("# A stand-in for tests.", *requirements)))
    return buffer.getvalue()


PROFILER_REQUIREMENT = "google-cloud-profiler==4.1.0 \\"
