"""The plan of Terraform as JSON (`terraform show -json PLAN`): its Cloud Run services. Pure."""

from collections.abc import Mapping
from typing import Any

from shared.cloudrun.described import Described


def read_plan(document: Mapping[str, Any]) -> tuple[tuple[str, Described], ...]:
    """Address and service of every google_cloud_run_v2_service and google_cloud_run_service that the plan makes or keeps."""
    raise NotImplementedError(document)


def alert_policies(document: Mapping[str, Any]) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Address and values of every google_monitoring_alert_policy of the plan."""
    raise NotImplementedError(document)
