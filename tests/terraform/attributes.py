"""What may be set of each kind of resource, and to what: anything else of the plan is an argument that nobody thought of."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.terraform.plans import Plan, Resource

Values = Mapping[str, tuple[Any, ...]]
GIVEN = ("labels.", "user_labels.", "service_config.environment_variables.")
"""Maps whose keys other checks read."""
AS_IF_UNSET: Values = {
    "enabled": (True,),
    "disabled": (False,),
    "stage": ("GA",),
    "prevent_destroy": (False,),
    "filter": ("",),
}
"""What Google's provider writes into a plan by itself, by the last name of its path."""
MEMBER = "member project role"


@dataclass(frozen=True)
class Allowed:
    """The paths of a resource that other checks look at or that are words for people, and those of which the value is known."""

    free: str = ""
    fixed: Values = field(default_factory=dict)


ALERT = """
    alert_strategy combiner conditions conditions.display_name display_name documentation documentation.content notification_channels
    project
"""
THRESHOLD = "conditions.condition_threshold conditions.condition_threshold.aggregations"
ABSENT = "conditions.condition_absent conditions.condition_absent.aggregations"
OF_ALERTS: Values = {
    "alert_strategy.auto_close": ("1800s",),
    "combiner": ("OR",),
    "documentation.mime_type": ("text/markdown",),
    "severity": ("ERROR", "WARNING"),
}
BUCKET: Values = {"public_access_prevention": ("enforced",), "uniform_bucket_level_access": (True,)}
FUNCTION = """
    build_config build_config.docker_repository build_config.entry_point build_config.environment_variables.GOOGLE_FUNCTION_SOURCE
    build_config.runtime build_config.service_account build_config.source build_config.source.storage_source
    build_config.source.storage_source.bucket build_config.source.storage_source.object description location name project service_config
    service_config.max_instance_count service_config.min_instance_count service_config.service_account_email
"""
ATTRIBUTES: Mapping[str, Allowed] = {
    "artifact_registry_repository": Allowed(
        "cleanup_policies cleanup_policies.condition cleanup_policies.most_recent_versions description location project repository_id",
        {
            "cleanup_policies.action": ("DELETE", "KEEP"),
            "cleanup_policies.condition.older_than": ("2592000s",),
            "cleanup_policies.condition.tag_state": ("ANY",),
            "cleanup_policies.id": ("delete-after-a-month", "keep-the-newest"),
            "cleanup_policies.most_recent_versions.keep_count": (5,),
            "format": ("DOCKER",),
            "mode": ("STANDARD_REPOSITORY",),
        },
    ),
    "artifact_registry_repository_iam_member": Allowed(f"{MEMBER} location repository"),
    "cloud_run_v2_service_iam_member": Allowed(f"{MEMBER} location name"),
    "cloud_scheduler_job": Allowed(
        "description name project pubsub_target pubsub_target.data pubsub_target.topic_name region retry_config schedule",
        {"paused": (False,), "retry_config.retry_count": (0,), "time_zone": ("Etc/UTC",)},
    ),
    "cloudfunctions2_function": Allowed(
        FUNCTION,
        {
            "service_config.all_traffic_on_latest_revision": (True,),
            "service_config.available_cpu": ("1",),
            "service_config.available_memory": ("512Mi",),
            "service_config.ingress_settings": ("ALLOW_ALL", "ALLOW_INTERNAL_ONLY"),
            "service_config.max_instance_request_concurrency": (8,),
            "service_config.timeout_seconds": (60,),
        },
    ),
    "firestore_database": Allowed(
        "location_id name project delete_protection_state point_in_time_recovery_enablement",
        {"concurrency_mode": ("OPTIMISTIC",), "deletion_policy": ("ABANDON",), "type": ("FIRESTORE_NATIVE",)},
    ),
    "firestore_field": Allowed(
        "collection database field index_config index_config.indexes project ttl_config",
        {"index_config.indexes.order": ("ASCENDING",), "index_config.indexes.query_scope": ("COLLECTION", "COLLECTION_GROUP")},
    ),
    "logging_metric": Allowed(
        "description filter metric_descriptor metric_descriptor.labels metric_descriptor.labels.description name project",
        {
            "label_extractors.function": ("EXTRACT(jsonPayload.function)",),
            "metric_descriptor.labels.key": ("function",),
            "metric_descriptor.labels.value_type": ("STRING",),
            "metric_descriptor.metric_kind": ("DELTA",),
            "metric_descriptor.unit": ("1",),
            "metric_descriptor.value_type": ("INT64",),
        },
    ),
    "logging_project_sink": Allowed("description destination filter name project", {"unique_writer_identity": (True,)}),
    "monitoring_alert_policy.main": Allowed(
        f"""{ALERT} {THRESHOLD} {ABSENT} conditions.condition_prometheus_query_language conditions.condition_absent.duration
        conditions.condition_absent.filter conditions.condition_prometheus_query_language.duration
        conditions.condition_prometheus_query_language.query conditions.condition_threshold.duration conditions.condition_threshold.filter
        conditions.condition_threshold.threshold_value conditions.condition_threshold.aggregations.cross_series_reducer
        conditions.condition_threshold.aggregations.per_series_aligner""",
        {
            **OF_ALERTS,
            "alert_strategy.notification_prompts": (["OPENED", "CLOSED"],),
            "conditions.condition_absent.aggregations.alignment_period": ("60s",),
            "conditions.condition_absent.aggregations.cross_series_reducer": ("REDUCE_SUM",),
            "conditions.condition_absent.aggregations.per_series_aligner": ("ALIGN_RATE",),
            "conditions.condition_prometheus_query_language.disable_metric_validation": (True,),
            "conditions.condition_prometheus_query_language.evaluation_interval": ("60s",),
            "conditions.condition_threshold.aggregations.alignment_period": ("60s",),
            "conditions.condition_threshold.comparison": ("COMPARISON_GT",),
        },
    ),
    "monitoring_alert_policy.own": Allowed(
        f"""{ALERT} {THRESHOLD} conditions.condition_threshold.duration conditions.condition_threshold.filter
        conditions.condition_threshold.threshold_value conditions.condition_threshold.aggregations.cross_series_reducer
        conditions.condition_threshold.aggregations.per_series_aligner conditions.condition_threshold.aggregations.group_by_fields""",
        {
            **OF_ALERTS,
            "conditions.condition_threshold.aggregations.alignment_period": ("300s",),
            "conditions.condition_threshold.comparison": ("COMPARISON_GT",),
        },
    ),
    "monitoring_alert_policy.no_tick": Allowed(
        f"{ALERT} {ABSENT} conditions.condition_absent.duration conditions.condition_absent.filter",
        {
            **OF_ALERTS,
            "conditions.condition_absent.aggregations.alignment_period": ("60s",),
            "conditions.condition_absent.aggregations.cross_series_reducer": ("REDUCE_SUM",),
            "conditions.condition_absent.aggregations.per_series_aligner": ("ALIGN_DELTA",),
        },
    ),
    "monitoring_dashboard": Allowed("dashboard_json project"),
    "monitoring_notification_channel": Allowed("description display_name project", {"type": ("pubsub",)}),
    "project_iam_custom_role": Allowed("description permissions project role_id title"),
    "project_iam_member": Allowed(f"{MEMBER} condition condition.description condition.expression condition.title"),
    "project_service": Allowed("project service", {"disable_on_destroy": (False,)}),
    "pubsub_subscription": Allowed(
        """dead_letter_policy dead_letter_policy.dead_letter_topic expiration_policy name project push_config push_config.oidc_token
        push_config.oidc_token.service_account_email retry_policy topic""",
        {
            "ack_deadline_seconds": (60,),
            "dead_letter_policy.max_delivery_attempts": (5, 10, 30),
            "message_retention_duration": ("600s", "86400s", "604800s", "2678400s"),
            "retry_policy.maximum_backoff": ("600s",),
            "retry_policy.minimum_backoff": ("10s",),
        },
    ),
    "pubsub_subscription_iam_member": Allowed(f"{MEMBER} subscription"),
    "pubsub_topic": Allowed("name project"),
    "pubsub_topic_iam_member": Allowed(f"{MEMBER} topic"),
    "service_account": Allowed("account_id description display_name email member project"),
    "service_account_iam_member": Allowed("member role service_account_id"),
    "storage_bucket.archive": Allowed("location name project", {**BUCKET, "force_destroy": (True,)}),
    "storage_bucket.models": Allowed(
        "lifecycle_rule lifecycle_rule.action lifecycle_rule.condition location name project soft_delete_policy versioning",
        {
            **BUCKET,
            "lifecycle_rule.action.type": ("Delete",),
            "lifecycle_rule.condition.days_since_noncurrent_time": (30,),
            "soft_delete_policy.retention_duration_seconds": (604800,),
            "versioning.enabled": (True,),
        },
    ),
    "storage_bucket_iam_member": Allowed("bucket member role"),
    "storage_bucket_object": Allowed("bucket name source"),
    "storage_notification": Allowed("bucket event_types object_name_prefix topic", {"payload_format": ("JSON_API_V1",)}),
    "terraform_data": Allowed("input input.project_id input.region"),
}
"""By the type, and by the name in the configuration where resources of one type differ."""


def nothing_else_is_set(plan: Plan) -> Iterator[str]:
    """Whatever is set of a resource is in the table, and has the value that stands there."""
    for each in plan.resources:
        allowed = _allowed(each)
        if allowed is None:
            yield f"{each.address}: {each.kind} is no kind of resource that the table knows"
            continue
        free = set(allowed.free.split())
        for path, value in _set(each.values):
            if path in free or path.startswith(GIVEN):
                continue
            if path not in allowed.fixed:
                if value not in (False, "") and value not in AS_IF_UNSET.get(path.rpartition(".")[2], ()):
                    yield f"{each.address}: nobody thought of {path} = {json.dumps(value)}"
                elif value is False and path.rpartition(".")[2] == "enabled":
                    yield f"{each.address}: is switched off by {path}"
            elif value not in allowed.fixed[path]:
                yield f"{each.address}: {path} is {json.dumps(value)}, want {' or '.join(map(json.dumps, allowed.fixed[path]))}"


def _allowed(each: Resource) -> Allowed | None:
    kind = each.kind.removeprefix("google_")
    name = each.address.partition(f"{each.kind}.")[2].partition("[")[0]
    return ATTRIBUTES.get(f"{kind}.{name}", ATTRIBUTES.get(kind))


def _set(value: object, path: str = "") -> Iterator[tuple[str, Any]]:
    """The paths of what is set: blocks that are there count, even empty ones."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _set(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        yield path, "a block"
        for inner in value:
            yield from _set(inner, path)
    elif value is not None and value != []:
        yield path, value
