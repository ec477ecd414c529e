"""The part of the contract about values and what they refer to: who is heard, who is told, what is kept, what comes first."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from shared import deployment as parts
from shared.events.audit import CLOUD_RUN
from shared.local.world.alerts import policies
from shared.records.service import Objective
from shared.records.subject import ServiceId
from tests.terraform.plans import Plan, Resource
from tests.terraform.sample import CHANNEL, MADE_BUCKET, OTHER_REGION, PROJECT, REGION, SERVICE

OWN_URI = "google_cloudfunctions2_function.main.service_config[0].uri"
LEAST_TIMEOUT_SECONDS = 60
"""The handlers of reconcile and command stop by themselves after 50 s."""
LEAST_MIB = 512
LEAST_DEAD_LETTER_SECONDS = 31 * 86_400
"""As long as Pub/Sub keeps anything: a person must come and read them."""
ATTEMPTS: Mapping[str, range] = {
    **dict.fromkeys(("alert", "upload", "command", "audit"), range(20, 101)),
    "schedule": range(5, 11),
    "reconcile": range(10, 101),
}
"""What cannot come again is tried for hours; a tick is not worth it, and a wake is said again by the next tick."""
SERVED: Mapping[str, tuple[ServiceId, Objective]] = {
    "ranker": (ServiceId(project=PROJECT, region=REGION, name=SERVICE), Objective(p99_ms=800, error_ratio=0.02)),
    "scorer": (ServiceId(project=PROJECT, region=OTHER_REGION, name="scorer"), Objective(error_ratio=0.01)),
    "ranker-us": (ServiceId(project=PROJECT, region=OTHER_REGION, name=SERVICE), Objective(error_ratio=0.01)),
}
"""The sample's models."""
PROMPTS = ["OPENED", "CLOSED"]


def pushes_are_for_their_own_function(plan: Plan) -> Iterator[str]:
    """A push goes to the function of the subscription, with a token for it and for no other."""
    (push,) = plan.written("module.control_plane.module.function.google_pubsub_subscription.main")["expressions"]["push_config"]
    for name, said in (("endpoint", push["push_endpoint"]), ("audience", push["oidc_token"][0].get("audience", {}))):
        if OWN_URI not in said.get("references", ()):
            yield f"push: its {name} is not the address of the function itself"


def functions_have_what_they_need(plan: Plan) -> Iterator[str]:
    """Time, memory and a processor for the requests that come at once; the newest revision answers."""
    for each in plan.of("cloudfunctions2_function"):
        name, service = each.values["name"], each.values["service_config"][0]
        if service["timeout_seconds"] < LEAST_TIMEOUT_SECONDS:
            yield f"{name}: is stopped after {service['timeout_seconds']} s, want {LEAST_TIMEOUT_SECONDS}"
        if _mib(service["available_memory"]) < LEAST_MIB:
            yield f"{name}: has {service['available_memory']} of memory, want {LEAST_MIB} MiB"
        if float(service["available_cpu"]) < 1 and service["max_instance_request_concurrency"] > 1:
            yield f"{name}: Cloud Run takes several requests at a time with one CPU or more, not {service['available_cpu']}"
        if service["all_traffic_on_latest_revision"] is not True:
            yield f"{name}: what is deployed gets no traffic"
        wanted = "ALLOW_ALL" if name == "trimtab-command" else "ALLOW_INTERNAL_ONLY"
        if service["ingress_settings"] != wanted:
            yield f"{name}: lets in {service['ingress_settings']}, want {wanted}: of the sample people call the command function"
    subscriptions = {each.values["name"]: each.values for each in plan.of("pubsub_subscription")}
    for function, attempts in ATTEMPTS.items():
        given = (subscriptions[parts.service_name(function)]["dead_letter_policy"] or [{}])[0].get("max_delivery_attempts")
        if given not in attempts:
            yield f"trimtab-{function}: is given up after {given} deliveries, want {attempts.start} to {attempts.stop - 1}"
        kept = subscriptions.get(parts.dead_letter_subscription(function))
        if kept is not None and int(kept["message_retention_duration"].removesuffix("s")) < LEAST_DEAD_LETTER_SECONDS:
            yield f"trimtab-{function}: its dead letters are kept for {kept['message_retention_duration']}"


def _mib(size: str) -> float:
    amount, unit = re.fullmatch(r"([\d.]+)(Mi?|Gi?)", size).groups()  # type: ignore[union-attr]  # else Terraform refused it
    return float(amount) * {"M": 0.953, "Mi": 1, "G": 953, "Gi": 1024}[unit]


def changes_of_others_are_heard_whole(plan: Plan) -> Iterator[str]:
    """Each part of the sink's filter is what it must be: the two logs, Cloud Run, its services and revisions, not what Trimtab does."""
    own = parts.account_address("reconcile", PROJECT)
    wanted = (
        '(log_id("cloudaudit.googleapis.com/activity") OR log_id("cloudaudit.googleapis.com/system_event"))',
        f'protoPayload.serviceName="{CLOUD_RUN}"',
        'resource.type=("cloud_run_service" OR "cloud_run_revision")',
        f'NOT protoPayload.authenticationInfo.principalEmail="{own}"',
    )
    for each in plan.of("logging_project_sink"):
        asked = each.values["filter"].split(" AND ")
        yield from (f"sink: does not ask for {part}" for part in wanted if part not in asked)
        yield from (f"sink: asks for {part}" for part in asked if part not in wanted)
        if each.values["disabled"]:
            yield "sink: is switched off"


def served_alerts_come_to_trimtab(plan: Plan) -> Iterator[str]:
    """Each model has the policies of the simulation for its own service, and they tell Trimtab when they open and when they close."""
    for model, (service, objective) in SERVED.items():
        found = {str(each.key): each.values for each in plan.of("monitoring_alert_policy") if f'module.alerts["{model}"]' in each.address}
        wanted = {policy.signal.value: policy for policy in policies(objective)}
        if set(found) != set(wanted):
            yield f"alerts of {model}: {sorted(set(found) ^ set(wanted))} differ from the simulated"
        for signal in sorted(set(found) & set(wanted)):
            said = served_policy(found[signal], service, signal, wanted[signal])
            yield from (f"alerts of {model}: {signal} {problem}" for problem in said)
    (resource,) = plan.module("alerts")["resources"]
    if resource["expressions"]["notification_channels"].get("references") != ["var.notification_channels"]:
        yield "alerts: another channel than they are given"
    given = plan.module()["module_calls"]["alerts"]["expressions"]["notification_channels"].get("references", ())
    told = plan.module("served_project")["outputs"]["notification_channel"]["expression"].get("references", ())
    if "module.served_project.notification_channel" not in given or "google_monitoring_notification_channel.trimtab.name" not in told:
        yield "alerts: Trimtab's channel is not among those that they are given"


def served_policy(found: Mapping[str, Any], service: ServiceId, signal: str, wanted: Any) -> Iterator[str]:
    """Where the policy of a signal of a service is not what the simulation has for it."""
    (condition,) = found["conditions"]
    (details,) = [each for name, block in condition.items() if name.startswith("condition_") for each in block or ()]
    asked = details.get("query") or details["filter"]
    if asked != wanted.text(service):
        yield f"asks for {asked}, want {wanted.text(service)}"
    if "query" in details and details["disable_metric_validation"] is not True:
        yield "is refused before its metric was first written"
    if details.get("comparison", "COMPARISON_GT") != "COMPARISON_GT":
        yield f"compares by {details['comparison']}"
    labels = {"trimtab_service": service.name, "trimtab_region": service.region, "trimtab_signal": signal}
    if found["user_labels"] != labels:
        yield f"is of {found['user_labels']}, want {labels}"
    if found["alert_strategy"][0]["notification_prompts"] != PROMPTS:
        yield f"tells of {found['alert_strategy'][0]['notification_prompts']}, want {PROMPTS}"
    if found["enabled"] is False:
        yield "is switched off"


def own_alerts_watch_what_they_say(plan: Plan) -> Iterator[str]:
    """Of each alert on Trimtab itself the whole condition, and whom it tells."""
    found = {each.values["display_name"]: each.values for each in plan.of("monitoring_alert_policy") if "control_plane" in each.address}
    for title, wanted in _own_conditions().items():
        values = found.get(f"Trimtab: {title}")
        if values is None:
            continue  # another check says so
        details = values["conditions"][0]["condition_threshold"][0]
        said = (details["filter"], details["comparison"], details["threshold_value"], details["duration"])
        yield from (f"alerts: {title}: has {one}, want {other}" for one, other in zip(said, wanted, strict=True) if one != other)
    for title, values in found.items():
        if values["notification_channels"] != [CHANNEL] or values["enabled"] is False:
            yield f"alerts: {title}: tells {values['notification_channels']}"
    tick = found.get("Trimtab: no tick", {}).get("conditions") or [{}]
    absent = (tick[0].get("condition_absent") or [{}])[0]
    if (absent.get("filter"), absent.get("duration")) != (_on_log("ticks"), "300s"):
        yield f"alerts: no tick: waits for {absent.get('filter')} for {absent.get('duration')}"


def _own_conditions() -> dict[str, tuple[str, str, float, str]]:
    pushed = _on_subscriptions([parts.service_name(each) for each in parts.FUNCTIONS], "oldest_unacked_message_age")
    dead = _on_subscriptions([parts.dead_letter_subscription(each) for each in parts.FUNCTIONS], "num_undelivered_messages")
    above = "COMPARISON_GT"
    counted = {
        "parked events": _on_log("parked"),
        "bugs": _on_log("bugs"),
        "Cloud Run refuses": _on_log("refused"),
        "unreadable documents": _on_log("unreadable"),
        "brakes": _on_log("brakes"),
    }
    return {
        "dead letters": (dead, above, 0, "300s"),
        "messages wait": (pushed, above, 900, "300s"),
        "reconcile fails": (f'{_on_log("retries")} AND metric.labels.function="reconcile"', above, 10, "0s"),
        **{title: (text, above, 0, "0s") for title, text in counted.items()},
    }


def _on_subscriptions(names: list[str], metric: str) -> str:
    listed = ", ".join(f'"{name}"' for name in sorted(names))
    watched = f'resource.type="pubsub_subscription" AND resource.labels.subscription_id=one_of({listed})'
    return f'{watched} AND metric.type="pubsub.googleapis.com/subscription/{metric}"'


def _on_log(metric: str) -> str:
    return f'resource.type="cloud_run_revision" AND metric.type="logging.googleapis.com/user/trimtab/{metric}"'


def lines_of_the_functions_are_counted(plan: Plan) -> Iterator[str]:
    """Log-based metrics count what the functions log: Cloud Run's resource, and the six services by their names."""
    names = " OR ".join(f'"{parts.service_name(each)}"' for each in sorted(parts.FUNCTIONS))
    wanted = f'resource.type="cloud_run_revision" AND resource.labels.service_name=({names}) AND '
    for each in plan.of("logging_metric"):
        if not each.values["filter"].startswith(wanted):
            yield f"{each.address}: counts lines of {each.values['filter'].partition(' AND jsonPayload')[0]}"


def nothing_is_lost(plan: Plan) -> Iterator[str]:
    """The database and live models outlive a destroy and a month; APIs that others use stay on; all that is needed is switched on."""
    for each in plan.of("firestore_database"):
        said = (each.values["deletion_policy"], each.values["delete_protection_state"], each.values["point_in_time_recovery_enablement"])
        if said != ("ABANDON", "DELETE_PROTECTION_ENABLED", "POINT_IN_TIME_RECOVERY_ENABLED"):
            yield f"database: may be lost: {said}"
    for each in plan.of("project_service"):
        if each.values["disable_on_destroy"] is not False:
            yield f"{each.address}: is switched off when Trimtab goes"
    own = {each.values["service"] for each in plan.of("project_service") if "control_plane" in each.address}
    wanted = set(parts.apis(switches(plan)))
    yield from (f"APIs: {api} is needed and stays off" for api in sorted(wanted - own))
    yield from (f"APIs: {api} is switched on, and nobody needs it" for api in sorted(own - wanted))
    for each in plan.of("storage_bucket"):
        if each.values["name"] == MADE_BUCKET:
            yield from (f"{each.address}: {problem}" for problem in _model_bucket(each))


def _model_bucket(bucket: Resource) -> Iterator[str]:
    if (bucket.values["versioning"] or [{}])[0].get("enabled") is not True:
        yield "what is overwritten is gone"
    if (bucket.values["soft_delete_policy"] or [{}])[0].get("retention_duration_seconds", 0) < 7 * 86_400:
        yield "what is deleted is gone"
    if bucket.values["force_destroy"]:
        yield "goes with all models in it"
    for rule in bucket.values["lifecycle_rule"] or ():
        said = {name: value for name, value in rule["condition"][0].items() if value}
        if set(said) != {"days_since_noncurrent_time"} or said["days_since_noncurrent_time"] < 30:
            yield f"live models are deleted: {said}"


FIRST: Mapping[str, set[str]] = {
    "module.served_project.google_storage_notification.uploads": {"google_pubsub_topic_iam_member.storage_publisher"},
    "module.served_project.google_pubsub_topic_iam_member.monitoring_publisher": {"google_monitoring_notification_channel.trimtab"},
    "module.served_project.data.google_storage_project_service_account.main": {"google_project_service.main"},
    "module.control_plane.google_service_account_iam_member.push_token": {"google_pubsub_topic.events"},
    "module.control_plane.module.function.google_pubsub_subscription.main": {"google_cloud_run_v2_service_iam_member.invoker"},
}
"""What must be there before, and is named by nothing else in the resource."""
BEFORE_A_BUILD = {
    "google_project_service.main",
    "google_project_iam_member.build_log_writer",
    "google_project_iam_member.build_source_reader",
    "google_artifact_registry_repository_iam_member.build_writer",
}


def switches(plan: Plan) -> frozenset[parts.Switch]:
    """What the plan was asked to switch on."""
    asked = {parts.Switch.PROFILER: "cloud_profiler", parts.Switch.TRACES: "trace_ratio"}
    return frozenset(switch for switch, variable in asked.items() if plan.variables.get(variable))


def what_is_switched_on_reaches_the_functions(plan: Plan) -> Iterator[str]:
    """Each function is told of the switches that are on, by the names of its settings, and of no other."""
    values = {parts.Switch.PROFILER: "true", parts.Switch.TRACES: str(plan.variables.get("trace_ratio"))}
    wanted = {switch.value: values[switch] for switch in switches(plan)}
    for each in plan.of("cloudfunctions2_function"):
        given = each.values["service_config"][0]["environment_variables"]
        told = {name: value for name, value in given.items() if name in set(parts.Switch)}
        if told != wanted:
            yield f"{each.values['name']}: is told of {told}, want {wanted}"


def first_things_come_first(plan: Plan) -> Iterator[str]:
    """Rights and agents are there before what needs them is made."""
    for address, first in FIRST.items():
        yield from (f"{address}: may be made before {each}" for each in sorted(first - set(plan.written(address)["depends_on"])))
    built = set(plan.module("control_plane")["module_calls"]["function"].get("depends_on", ()))
    yield from (f"functions: may be built before {each}" for each in sorted(BEFORE_A_BUILD - built))


DETAILS = (
    pushes_are_for_their_own_function,
    functions_have_what_they_need,
    changes_of_others_are_heard_whole,
    served_alerts_come_to_trimtab,
    own_alerts_watch_what_they_say,
    lines_of_the_functions_are_counted,
    nothing_is_lost,
    what_is_switched_on_reaches_the_functions,
    first_things_come_first,
)
