"""The root with every variable off its default and off the other sample, and where in a plan each arrives."""

import json
import re
from typing import Any, NamedTuple

from shared.deployment import TOPICS
from tests.terraform.sample import BUCKET, MADE_BUCKET, NUMBER, PROJECT, REGION, SWITCHED

WORDS = {"globex-ai": PROJECT, "asia-east2": REGION, "987654321098": NUMBER, "nam5": REGION, "wire-": "trimtab-", "ledger": "(default)"}
"""What is said here, and what the other sample says or leaves to the default in its place."""
LEFT = "|".join(
    [
        *map(re.escape, (PROJECT, REGION, NUMBER, "(default)")),
        *(f"trimtab-{topic}\\b" for topic in (*TOPICS.values(), "events") if topic != "changes"),
        "topics/trimtab-changes",
    ]
)
"""Words of the other sample that are left in a plan of this one; the sink is called as a topic is."""
CHANNEL_OF_MODEL = "projects/globex-ai/notificationChannels/7"
SIGNALS = ["error-ratio", "idle"]
DATA_PROJECT = "globex-data"
PREFIX = "ranker/"
LABEL = ("team", "search")


def _said(value: Any) -> Any:
    text = json.dumps(value)
    for here, there in (("globex-ai", PROJECT), ("asia-east2", REGION), ("987654321098", NUMBER)):
        text = text.replace(there, here)
    return json.loads(text)


_THERE: dict[str, Any] = _said(SWITCHED)
OFF: dict[str, Any] = {
    **_THERE,
    "deploying": "globex-ai/asia-east2",
    "runtime": "python312",
    "topic_prefix": "wire-",
    "firestore": {"database": "ledger", "location": "nam5", "point_in_time_recovery": False, "delete_protection": False},
    "min_instances": 1,
    "max_instances": 7,
    "alert_thresholds": {"oldest_unacked_seconds": 1200, "reconcile_retries": 20, "braked_looks": 5, "no_tick_seconds": 420},
    "model_buckets": {
        BUCKET: {"object_name_prefix": PREFIX},
        MADE_BUCKET: {**_THERE["model_buckets"][MADE_BUCKET], "project_id": DATA_PROJECT},
    },
    "models": {
        **_THERE["models"],
        "ranker": {**_THERE["models"]["ranker"], "allow_delete": False},
        "scorer": {**_THERE["models"]["scorer"], "signals": SIGNALS, "notification_channels": [CHANNEL_OF_MODEL]},
    },
    "labels": dict([LABEL]),
    "enable_apis": True,
    "dashboard": True,
}
FEW: dict[str, Any] = {
    **SWITCHED,
    "model_buckets": {},
    "models": {name: {**model, "bucket": None} for name, model in SWITCHED["models"].items()},
}
"""Without buckets: whose agent tells of them Terraform asks Google at once where no API must be switched on before."""
LESS: dict[str, Any] = {**FEW, "enable_apis": False, "dashboard": False, "firestore": {"create": False}}
"""What takes something away from the plan: all of these kinds, and nothing else."""
TAKEN = {"google_project_service", "google_monitoring_dashboard", "google_firestore_database"}


class Arrives(NamedTuple):
    """Where a variable arrives: in all resources whose address has this text, at this path, as this and not as that."""

    address: str
    path: str
    here: Any
    there: Any


FUNCTION = "google_cloudfunctions2_function.main"
DATABASE = "google_firestore_database.main"
THRESHOLD = "conditions.0.condition_threshold.0.threshold_value"
ARRIVES: dict[str, tuple[Arrives, ...]] = {
    "runtime": (Arrives(FUNCTION, "build_config.0.runtime", "python312", "python311"),),
    "min_instances": (Arrives(FUNCTION, "service_config.0.min_instance_count", 1, 0),),
    "max_instances": (Arrives(FUNCTION, "service_config.0.max_instance_count", 7, 10),),
    "firestore": (
        Arrives(DATABASE, "location_id", "nam5", REGION),
        Arrives(DATABASE, "point_in_time_recovery_enablement", "POINT_IN_TIME_RECOVERY_DISABLED", "POINT_IN_TIME_RECOVERY_ENABLED"),
        Arrives(DATABASE, "delete_protection_state", "DELETE_PROTECTION_DISABLED", "DELETE_PROTECTION_ENABLED"),
        Arrives(DATABASE, "deletion_policy", "DELETE", "ABANDON"),
    ),
    "alert_thresholds": (
        Arrives('policy.own["unacked"]', THRESHOLD, 1200, 900),
        Arrives('policy.own["reconcile_failures"]', THRESHOLD, 20, 10),
        Arrives('policy.own["brakes"]', THRESHOLD, 5, 0),
        Arrives("policy.no_tick", "conditions.0.condition_absent.0.duration", "420s", "300s"),
    ),
    "model_buckets": (
        Arrives(f'google_storage_notification.uploads["{BUCKET}"]', "object_name_prefix", PREFIX, None),
        Arrives(f'google_storage_bucket.models["{MADE_BUCKET}"]', "project", DATA_PROJECT, PROJECT),
    ),
    "models": tuple(
        Arrives(
            f'module.alerts["scorer"].google_monitoring_alert_policy.main["{signal}"]', "notification_channels.1", CHANNEL_OF_MODEL, ...
        )
        for signal in SIGNALS
    ),
}
"""Of those of which no word of `WORDS` tells; `...`: there is no such thing in the other plan."""
BY_A_WORD = {"project_id", "project_number", "region", "topic_prefix"}
"""A word of these in the place of another is in no place of the plan."""
OF_THE_OTHER_SAMPLE = {
    "archive",
    "command_grants",
    "command_callers",
    "command_publishers",
    "allowed_images",
    "allowed_service_accounts",
    "allowed_buckets",
    "allowed_projects",
    "notification_channels",
    "cloud_profiler",
    "trace_ratio",
}
"""Off their defaults in both: the contract itself says where they arrive."""
LABELS, TAKEN_AWAY, CHANGES_NOTHING = {"labels"}, {"enable_apis", "dashboard"}, {"deploying"}
ONLY_HERE = {f'module.served_project.google_pubsub_topic_iam_member.storage_publisher["{DATA_PROJECT}"]'}
ONLY_THERE = {
    "module.served_project.google_project_iam_custom_role.deleter[0]",
    'module.served_model["ranker"].google_cloud_run_v2_service_iam_member.deleter[0]',
}
"""What a model that may be deleted has, and here none may be."""
