"""What the root is planned with: two models, one with all that is made for it and one with what is there, and people who command."""

from typing import Any

PROJECT = "acme-ml"
NUMBER = "123456789012"
REGION = "europe-west1"
SERVICE = "ranker"
BUCKET = "acme-models"
CALLER = "user:ada@example.com"
PUBLISHER = "serviceAccount:ci@acme-ml.iam.gserviceaccount.com"
GRANTS: list[dict[str, Any]] = [
    {"identity": "ada@example.com", "commands": ["apply", "hold"], "services": [f"{PROJECT}:{REGION}:*"]},
    {"subscription": f"projects/{PROJECT}/subscriptions/trimtab-command", "commands": ["patch"], "services": ["*"]},
]

VARIABLES: dict[str, Any] = {
    "project_id": PROJECT,
    "project_number": NUMBER,
    "region": REGION,
    "archive": "tests/archive.zip",
    "model_buckets": {BUCKET: {}},
    "models": {
        SERVICE: {
            "bucket": BUCKET,
            "image_repository": {"location": REGION, "name": "serving"},
            "objective": {"p99_ms": 800, "error_ratio": 0.02},
            "allow_delete": True,
        },
        "scorer": {"service_account_email": "scorer@acme-ml.iam.gserviceaccount.com", "region": "us-central1"},
    },
    "command_callers": [CALLER],
    "command_publishers": [PUBLISHER],
    "command_grants": GRANTS,
    "allowed_buckets": [BUCKET],
    "notification_channels": [f"projects/{PROJECT}/notificationChannels/1"],
}
