"""The part of the contract that is tables: what each log-based metric counts, what each alert and chart makes of it, what outputs say."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from shared import deployment as parts
from tests.terraform.plans import Plan, Resource

COUNTED: Mapping[str, str] = {
    "parked": 'jsonPayload.message=("parked" OR "alerts of a service without a spec were parked")',
    "bugs": 'jsonPayload.message="bug"',
    "retries": 'jsonPayload.message="will be tried again"',
    "refused": (
        'jsonPayload.message=("Cloud Run refused a change" OR "Cloud Run refused a change for quota" '
        'OR "Cloud Run refused a write of a rollout")'
    ),
    "unreadable": 'jsonPayload.message="unreadable record"',
    "ticks": 'jsonPayload.function="schedule" AND jsonPayload.message="done"',
    "brakes": 'jsonPayload.function="reconcile" AND jsonPayload.detail:("brake-acts" OR "brake-usd")',
    "looks": 'jsonPayload.function="reconcile" AND jsonPayload.message="done"',
}
"""What each log-based metric counts, beside the resource; that the code logs such lines, `log_lines_exist` says."""
LABELS = {"function"}
"""What a log-based metric tells apart."""

SUM = ("ALIGN_DELTA", "REDUCE_SUM")
WORST = ("ALIGN_MAX", "REDUCE_MAX")
BY_SUBSCRIPTION, BY_FUNCTION = "resource.labels.subscription_id", "metric.labels.function"
AGGREGATED: Mapping[str, tuple[str, str, str, list[str]]] = {
    "dead letters": ("300s", *WORST, [BY_SUBSCRIPTION]),
    "messages wait": ("300s", *WORST, [BY_SUBSCRIPTION]),
    "parked events": ("300s", *SUM, []),
    "bugs": ("300s", *SUM, [BY_FUNCTION]),
    "reconcile fails": ("300s", *SUM, []),
    "Cloud Run refuses": ("300s", *SUM, []),
    "unreadable documents": ("300s", *SUM, []),
    "brakes": ("300s", *SUM, []),
    "no tick": ("60s", *SUM, []),
}
"""How the series of each alert on Trimtab itself become one: the period, within a series, across them, and by what."""
SEVERITIES = {"parked events": "WARNING", "Cloud Run refuses": "WARNING", "brakes": "WARNING"}

RUN, PUBSUB, LOGS = "run.googleapis.com", "pubsub.googleapis.com/subscription", "logging.googleapis.com/user/trimtab"
SERVICE, CLASS, SUBSCRIPTION = "resource.label.service_name", "metric.label.response_code_class", "resource.label.subscription_id"
CHARTS: Mapping[str, tuple[str, str, str, list[str]]] = {
    "Looks of reconcile": (f"{LOGS}/looks", *SUM, []),
    "Requests by function": (f"{RUN}/request_count", "ALIGN_RATE", "REDUCE_SUM", [SERVICE, CLASS]),
    "p95 of a request (ms)": (f"{RUN}/request_latencies", "ALIGN_PERCENTILE_95", "REDUCE_MAX", [SERVICE]),
    "Instances": (f"{RUN}/container/instance_count", "ALIGN_MAX", "REDUCE_SUM", [SERVICE]),
    "Age of the oldest message (s)": (f"{PUBSUB}/oldest_unacked_message_age", *WORST, [SUBSCRIPTION]),
    "Dead letters": (f"{PUBSUB}/num_undelivered_messages", *WORST, [SUBSCRIPTION]),
    "Parked": (f"{LOGS}/parked", *SUM, ["metric.label.function"]),
    "Bugs": (f"{LOGS}/bugs", *SUM, ["metric.label.function"]),
    "Refused by Cloud Run": (f"{LOGS}/refused", *SUM, []),
    "Held back by a brake": (f"{LOGS}/brakes", *SUM, []),
}
"""What each chart is of, and how its series are put together."""


def each_metric_counts_its_own_lines(plan: Plan) -> Iterator[str]:
    """The filter of each log-based metric is the one of the table."""
    found = {each.values["name"].removeprefix("trimtab/"): each.values["filter"] for each in plan.of("logging_metric")}
    yield from (f"metric {name}: is in one of plan and table alone" for name in sorted(set(found) ^ set(COUNTED)))
    for name in sorted(set(found) & set(COUNTED)):
        counted = re.sub(r"^.*?resource\.labels\.service_name=\([^)]*\) AND ", "", found[name])
        if counted != COUNTED[name]:
            yield f"metric {name}: counts {counted}, want {COUNTED[name]}"


def own_alerts_aggregate_as_they_should(plan: Plan) -> Iterator[str]:
    """What each alert on Trimtab itself makes of its series, how grave it is, and that the metric has the label that it groups by."""
    for each in plan.of("monitoring_alert_policy"):
        title = str(each.values["display_name"]).removeprefix("Trimtab: ")
        if "control_plane" not in each.address or title not in AGGREGATED:
            continue
        (condition,) = each.values["conditions"]
        (details,) = condition["condition_threshold"] or condition["condition_absent"]
        said = [
            (one["alignment_period"], one["per_series_aligner"], one["cross_series_reducer"], one["group_by_fields"] or [])
            for one in details["aggregations"]
        ]
        if said != [AGGREGATED[title]]:
            yield f"alerts: {title}: aggregates by {said}, want {AGGREGATED[title]}"
        if each.values["severity"] != SEVERITIES.get(title, "ERROR"):
            yield f"alerts: {title}: is of severity {each.values['severity']}"


def charts_are_of_known_series(plan: Plan) -> Iterator[str]:
    """Each chart is the one of the table, of all six functions where it is of functions."""
    for each in plan.of("monitoring_dashboard"):
        found = {tile["widget"]["title"]: _series(tile) for tile in json.loads(each.values["dashboard_json"])["mosaicLayout"]["tiles"]}
        yield from (f"dashboard: {title} is in one of plan and table alone" for title in sorted(set(found) ^ set(CHARTS)))
        for title in sorted(set(found) & set(CHARTS)):
            text, *how = found[title]
            metric = re.findall(r'metric\.type="([^"]*)"', text)
            if (*metric, *how) != CHARTS[title]:
                yield f"dashboard: {title}: is of {metric} by {how}, want {CHARTS[title]}"
            names = set(re.findall(r'"trimtab-([a-z]+)(?:-dead-letters)?"', text))
            if "one_of" in text and names != set(parts.FUNCTIONS):
                yield f"dashboard: {title}: is without {sorted(set(parts.FUNCTIONS) - names)}"


def _series(tile: Mapping[str, Any]) -> tuple[str, str, str, list[str]]:
    (data,) = tile["widget"]["xyChart"]["dataSets"]
    query = data["timeSeriesQuery"]["timeSeriesFilter"]
    how = query["aggregation"]
    return query["filter"], how["perSeriesAligner"], how["crossSeriesReducer"], how.get("groupByFields", [])


REFERRED: Mapping[tuple[str, ...], Mapping[str, str]] = {
    (): {
        "command_uri": "module.control_plane.command_uri",
        "notification_channel": "module.served_project.notification_channel",
    },
    ("control_plane",): {"command_uri": 'module.function["command"].uri', "archive_object": "google_storage_bucket_object.archive.name"},
    ("control_plane", "function"): {"uri": "google_cloudfunctions2_function.main.service_config[0].uri"},
    ("served_project",): {"notification_channel": "google_monitoring_notification_channel.trimtab.name"},
}
"""What outputs refer to that is known only after apply."""


def outputs_say_what_is(plan: Plan) -> Iterator[str]:
    """Each output is what the resources of the plan are called; of what is known only later, the reference is the one of the table."""
    if "deploying" not in plan.module()["variables"]:
        return  # an example: its outputs are its own
    said = {name: each.get("after") for name, each in plan.document["output_changes"].items()}
    wanted = _outputs(plan)
    for name, value in said.items():
        if name not in wanted and name not in REFERRED[()]:
            yield f"output {name}: nobody says what it is"
        elif name in wanted and value != wanted[name]:
            yield f"output {name}: is {value}, want {wanted[name]}"
    yield from (f"output {name}: is not there" for name in sorted((set(wanted) | set(REFERRED[()])) - set(said)))
    for path, referred in REFERRED.items():
        outputs = plan.module(*path)["outputs"]
        for name, reference in referred.items():
            if reference not in outputs[name]["expression"].get("references", ()):
                yield f"output {'.'.join((*path, name))}: is not {reference}"
    inner = plan.module("control_plane")["outputs"]["subscriptions"]["expression"].get("references", ())
    if "module.function" not in inner or any("dead" in each for each in inner):
        yield "output control_plane.subscriptions: is not of the push subscriptions"


def _outputs(plan: Plan) -> dict[str, Any]:
    functions = {name: parts.service_name(name) for name in parts.FUNCTIONS}
    subscriptions = {each.values["name"]: each.values for each in plan.of("pubsub_subscription")}
    accounts = {each.values["account_id"]: each.values["email"] for each in plan.of("service_account")}
    (events,) = [each.values["name"] for each in plan.of("pubsub_topic") if each.address.endswith(".events")]
    (archive,) = plan.of("storage_bucket_object")
    return {
        "topics": {name: _last(subscriptions[called]["topic"]) for name, called in functions.items()},
        "dead_letter_subscriptions": {
            name: next((kept["name"] for kept in subscriptions.values() if _last(kept["topic"]) == _dead(subscriptions[called])), None)
            for name, called in functions.items()
        },
        "events_topic": events,
        "service_accounts": {name: accounts[called] for name, called in functions.items()},
        "serving_accounts": {
            name: model.get("service_account_email") or accounts[f"trimtab-serving-{name}"]
            for name, model in plan.variables["models"].items()
        },
        "archive_object": archive.values["name"],
    }


def _dead(subscription: Mapping[str, Any]) -> str:
    return _last((subscription["dead_letter_policy"] or [{}])[0].get("dead_letter_topic") or "")


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def builds_are_from_what_is_made_for_them(plan: Plan) -> Iterator[str]:
    """Each function is built by the account of builds, into the repository beside it, in one region with all that it uses."""
    regions = {_place(each) for kind in REGIONAL for each in plan.of(kind) if "control_plane" in each.address}
    if len(regions) > 1:
        yield f"regions: the control plane is spread over {sorted(regions)}"
    (repository,) = plan.of("artifact_registry_repository")
    where = "projects/{project}/locations/{location}/repositories/{repository_id}".format(**repository.values)
    (account,) = [each.values["email"] for each in plan.of("service_account") if each.address.endswith(".build")]
    for each in plan.of("cloudfunctions2_function"):
        build = each.values["build_config"][0]
        if build["docker_repository"] != where:
            yield f"{each.values['name']}: is built into {build['docker_repository']}, want {where}"
        if build["service_account"] != f"projects/{each.values['project']}/serviceAccounts/{account}":
            yield f"{each.values['name']}: is built as {build['service_account']}, want {account}"


REGIONAL = ("cloudfunctions2_function", "cloud_scheduler_job", "artifact_registry_repository", "storage_bucket")


def _place(each: Resource) -> str:
    return str(each.values.get("location") or each.values.get("region")).lower()


TABLES = (
    each_metric_counts_its_own_lines,
    own_alerts_aggregate_as_they_should,
    charts_are_of_known_series,
    outputs_say_what_is,
    builds_are_from_what_is_made_for_them,
)
