"""The contract between the Terraform modules and the code: each check names what is wrong with a plan, and nothing if it holds."""

import ast
import base64
import itertools
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from packaging.specifiers import SpecifierSet

from shared import deployment as parts
from shared.deployment_roles import CUSTOM_ROLES
from shared.events.storage import _OF_NOTIFICATION
from shared.records.facts import FACT_TTL_SECONDS
from shared.records.plan import DenialCode
from shared.records.rights import Grants
from shared.settings import PREFIX, Settings
from tests.terraform.attributes import nothing_else_is_set
from tests.terraform.contract_details import DETAILS, switches
from tests.terraform.contract_orders import ORDERS
from tests.terraform.contract_tables import TABLES
from tests.terraform.grants import granted, iam, needed, twice
from tests.terraform.plans import ROOT, Plan, Resource
from tests.terraform.sample import ALLOWED, CALLER, GRANTS, PROJECT

Check = Callable[[Plan], Iterator[str]]

OTHER_VARIABLES = {"FUNCTION_SOURCE", "THREADS"}
"""What functions-framework and its server read."""
FORBIDDEN_ROLES = re.compile(
    r"roles/(owner|editor|viewer|[a-z]+\.admin|.*[aA]dmin|run\.developer|datastore\.owner|iam\.serviceAccountTokenCreator)"
)
PUBLIC = {"allUsers", "allAuthenticatedUsers"}
LEAST_BACKOFF, LONGEST_BACKOFF = "10s", "600s"


def functions_start(plan: Plan) -> Iterator[str]:
    """Each function of the code is deployed, from the file of the archive that has its entry point, by a Python that it runs on."""
    found = {each.values["name"].removeprefix("trimtab-"): each.values for each in plan.of("cloudfunctions2_function")}
    if set(found) != set(parts.FUNCTIONS):
        yield f"functions: {sorted(found)} are deployed, the code has {sorted(parts.FUNCTIONS)}"
    python = SpecifierSet(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"])
    for name, values in found.items():
        build, service = values["build_config"][0], values["service_config"][0]
        if build["entry_point"] not in _defined(name):
            yield f"{name}: functions/{name}/main.py defines no function {build['entry_point']}"
        file = build["environment_variables"].get("GOOGLE_FUNCTION_SOURCE")
        if file != parts.source_file(name):
            yield f"{name}: GOOGLE_FUNCTION_SOURCE is {file}, the archive has {parts.source_file(name)}"
        if service["environment_variables"].get("FUNCTION_SOURCE") != file:
            yield f"{name}: FUNCTION_SOURCE is not what it was built from"
        major, minor = re.fullmatch(r"python(\d)(\d+)", build["runtime"]).groups()  # type: ignore[union-attr]  # else Terraform refused it
        if not python.contains(f"{major}.{minor}"):
            yield f"{name}: {build['runtime']} is none of requires-python {python}"
        if service["environment_variables"].get("THREADS") != str(service["max_instance_request_concurrency"]):
            yield f"{name}: THREADS is not max_instance_request_concurrency: requests would wait inside an instance"


def settings_are_read(plan: Plan) -> Iterator[str]:
    """What the functions get as environment is what their settings read, and names what is deployed."""
    topics = {each.values["name"] for each in plan.of("pubsub_topic")}
    databases = {each.values["name"] for each in plan.of("firestore_database")}
    subscribed = {each.values["name"]: _last(each.values["topic"]) for each in plan.of("pubsub_subscription")}
    for each in plan.of("cloudfunctions2_function"):
        name = each.values["name"].removeprefix("trimtab-")
        given = each.values["service_config"][0]["environment_variables"]
        foreign = {variable for variable in given if not variable.startswith(PREFIX)} - OTHER_VARIABLES
        if foreign:
            yield f"{name}: nobody reads {sorted(foreign)}"
        try:
            settings = Settings.from_environment(given)
        except ValueError as error:
            yield f"{name}: {error}"
            continue
        for function, topic in settings.function_topics.items():
            if subscribed.get(f"trimtab-{function}") != topic:
                yield f"{name}: publishes to {topic} for {function}, which listens to {subscribed.get(f'trimtab-{function}')}"
        if settings.events_topic not in topics:
            yield f"{name}: tells of events at {settings.events_topic}, which is no topic here"
        if settings.firestore_database not in databases:
            yield f"{name}: uses the database {settings.firestore_database}, which is none here"
        yield from _own_settings(name, settings)


def _own_settings(name: str, settings: Settings) -> Iterator[str]:
    allowed = {each: list(getattr(settings, each)) for each in ALLOWED if getattr(settings, each) is not None}
    if name in {"command", "reconcile"} and allowed != ALLOWED:
        yield f"{name}: lets specs name {allowed}, want {ALLOWED}"
    if name == "audit" and set(settings.own_principals or ()) != {
        parts.account_address(each, PROJECT) for each in ("reconcile", "command")
    }:
        yield f"audit: knows {settings.own_principals} as Trimtab's own"
    if name == "command":
        if settings.push_service_account != parts.account_address("push", PROJECT):
            yield f"command: takes {settings.push_service_account} for Pub/Sub"
        if Grants.of(settings.command_grants) != Grants.of(GRANTS):
            yield f"command: reads the grants {settings.command_grants}"


def deliveries_are_kept(plan: Plan) -> Iterator[str]:
    """Each function has a push subscription that tries for long, and dead letters that somebody keeps."""
    timeouts = {each.values["name"]: each.values["service_config"][0]["timeout_seconds"] for each in plan.of("cloudfunctions2_function")}
    subscriptions = {each.values["name"]: each.values for each in plan.of("pubsub_subscription")}
    topics = {each.values["name"] for each in plan.of("pubsub_topic")}
    for function in parts.FUNCTIONS:
        name = parts.service_name(function)
        values = subscriptions.get(name)
        if values is None:
            yield f"{name}: no push subscription"
            continue
        yield from (f"{name}: {problem}" for problem in _delivery(values, timeouts.get(name, 0)))
        dead_letters = _last((values["dead_letter_policy"] or [{}])[0].get("dead_letter_topic") or "")
        if dead_letters != parts.dead_letter_topic(function) or dead_letters not in topics:
            yield f"{name}: its dead letters go to {dead_letters or 'nowhere'}, want {parts.dead_letter_topic(function)}"
        kept = subscriptions.get(parts.dead_letter_subscription(function))
        if kept is None or _last(kept["topic"]) != parts.dead_letter_topic(function):
            yield f"{name}: nobody keeps its dead letters"
        elif _never_expires(kept) is False or kept["push_config"]:
            yield f"{name}: what keeps its dead letters expires or pushes them on"


def _delivery(values: Mapping[str, Any], timeout: int) -> Iterator[str]:
    retry = (values["retry_policy"] or [{}])[0]
    if (retry.get("minimum_backoff"), retry.get("maximum_backoff")) != (LEAST_BACKOFF, LONGEST_BACKOFF):
        yield f"tries again after {retry}, want {LEAST_BACKOFF} to {LONGEST_BACKOFF}"
    if values["ack_deadline_seconds"] < max(timeout, parts.LEAST_ACK_DEADLINE_SECONDS):
        yield f"an ack deadline of {values['ack_deadline_seconds']} s under a timeout of {timeout} s delivers what is still worked on"
    if not _never_expires(values):
        yield "expires when nothing comes for 31 days"
    account = (((values["push_config"] or [{}])[0].get("oidc_token")) or [{}])[0].get("service_account_email")
    if account != parts.account_address("push", PROJECT):
        yield f"pushes as {account}"
    if int(values["message_retention_duration"].removesuffix("s")) >= FACT_TTL_SECONDS:
        yield "keeps messages longer than facts are kept: an old one would be a new fact"


def _never_expires(values: Mapping[str, Any]) -> bool:
    return bool(values["expiration_policy"]) and values["expiration_policy"][0]["ttl"] == ""


def only_who_is_named_calls(plan: Plan) -> Iterator[str]:
    """Nobody is let in without a name; Pub/Sub's pushes may call the six functions, and people the command function."""
    for each in iam(plan):
        members = {each.values.get("member"), *(each.values.get("members") or ())}
        if members & PUBLIC:
            yield f"{each.address}: everybody has {each.values['role']}"
    push = f"serviceAccount:{parts.account_address('push', PROJECT)}"
    wanted = {(parts.service_name(function), push) for function in parts.FUNCTIONS} | {("trimtab-command", CALLER)}
    own = {
        (each.values["name"], each.values["member"])
        for each in plan.of("cloud_run_v2_service_iam_member")
        if each.values["role"] == "roles/run.invoker" and str(each.values["name"]).startswith("trimtab-")
    }
    yield from (f"{name}: {member} may call it" for name, member in sorted(own - wanted))
    yield from (f"{name}: {member} may not call it" for name, member in sorted(wanted - own))
    pushing = {
        each.values["name"]
        for each in plan.of("cloud_run_v2_service_iam_member")
        if each.values["member"] == push and not str(each.values["name"]).startswith("trimtab-")
    }
    yield from (f"{name}: Pub/Sub's pushes may call it" for name in sorted(pushing))
    for each in plan.of("cloudfunctions2_function"):
        ingress = each.values["service_config"][0]["ingress_settings"]
        if ingress == "ALLOW_ALL" and each.values["name"] != "trimtab-command":
            yield f"{each.values['name']}: requests come in from anywhere"


def least_privilege(plan: Plan) -> Iterator[str]:
    """Every role is one of the list of roles, and the other way round; Trimtab's own roles hold what they must; each function is itself."""
    there, wanted = granted(plan), needed(switches(plan))
    yield from (f"roles: not in the list: {each}" for each in sorted(there - wanted, key=str))
    yield from (f"roles: missing: {each}" for each in sorted(wanted - there, key=str))
    yield from twice(plan)
    for each in iam(plan):
        if FORBIDDEN_ROLES.fullmatch(str(each.values["role"])):
            yield f"{each.address}: {each.values['role']} is too wide"
    made = {each.values["role_id"]: frozenset(each.values["permissions"]) for each in plan.of("project_iam_custom_role")}
    for name, role in CUSTOM_ROLES.items():
        if made.get(name) != role.permissions:
            yield f"role {name}: holds {sorted(made.get(name, ()))}, want {sorted(role.permissions)}"
    yield from (f"role {name}: not in the list" for name in sorted(set(made) - set(CUSTOM_ROLES)))
    accounts = [each.values["service_config"][0].get("service_account_email") for each in plan.of("cloudfunctions2_function")]
    names = [parts.account_address(function, PROJECT) for function in parts.FUNCTIONS]
    if sorted(map(str, accounts)) != sorted(names):
        yield f"functions run as {sorted(map(str, accounts))}, want each as itself"


def documents_fit(plan: Plan) -> Iterator[str]:
    """Firestore deletes what has expired, indexes what is asked for, and nothing that is not."""
    fields = {(each.values["collection"], each.values["field"]): each.values for each in plan.of("firestore_field")}
    expiring = {place for place, values in fields.items() if values["ttl_config"]}
    if expiring != set(parts.TTL_FIELDS):
        yield f"TTL: {sorted(expiring ^ set(parts.TTL_FIELDS))} are not what the code writes"
    unindexed = {place for place, values in fields.items() if not _indexes(values)}
    wanted = {*parts.UNINDEXED_FIELDS, *parts.TTL_FIELDS}
    if unindexed != wanted:
        yield f"index exemptions: {sorted(unindexed ^ wanted)} differ from the code"
    grouped = {place for place, values in fields.items() if ("ASCENDING", "COLLECTION_GROUP") in _indexes(values)}
    asked = {(group, field.split()[0]) for group, (field,), _ in parts.REQUIRED_INDEXES}
    if grouped != asked:
        yield f"indexes: {sorted(grouped ^ asked)} differ from the code"
    if ("ASCENDING", "COLLECTION") not in _indexes(fields.get(("facts", "created_at"), {})):
        yield "indexes: the facts of one service cannot be read in order"
    for each in plan.of("firestore_database"):
        if each.values["concurrency_mode"] != "OPTIMISTIC" or each.values["type"] != "FIRESTORE_NATIVE":
            yield f"{each.address}: writers of one document would wait for each other's locks"


def _indexes(values: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {(each["order"], each["query_scope"]) for block in values.get("index_config") or () for each in block["indexes"] or ()}


def it_ticks(plan: Plan) -> Iterator[str]:
    """A message a minute comes to the topic of ticks, and is a message."""
    jobs = plan.of("cloud_scheduler_job")
    if [(each.values["name"], each.values["schedule"]) for each in jobs] != [(parts.TICK_JOB, parts.TICK_SCHEDULE)]:
        yield "tick: no job of its name that runs every minute"
    for each in jobs:
        if each.values["paused"]:
            yield "tick: its job is paused"
        target = (each.values["pubsub_target"] or [{}])[0]
        if target.get("topic_name") != f"projects/{PROJECT}/topics/{parts.topic_name('schedule')}":
            yield f"tick: goes to {target.get('topic_name')}"
        try:
            json.loads(base64.b64decode(target.get("data") or "", validate=True))
        except ValueError as error:
            yield f"tick: its data are no JSON: {error}"


def others_are_heard(plan: Plan) -> Iterator[str]:
    """Alerts, uploads and changes come to the topics of the functions that read them."""
    for each in plan.of("monitoring_notification_channel"):
        topic = each.values["labels"].get("topic")
        if (each.values["type"], topic) != ("pubsub", f"projects/{PROJECT}/topics/{parts.topic_name('alert')}"):
            yield f"channel: {each.values['type']} to {topic}"
    for each in plan.of("storage_notification"):
        if not set(each.values["event_types"]) <= set(_OF_NOTIFICATION) or "OBJECT_FINALIZE" not in each.values["event_types"]:
            yield f"{each.address}: {sorted(each.values['event_types'])} are not what the upload function reads"
        if each.values["topic"] != f"//pubsub.googleapis.com/projects/{PROJECT}/topics/{parts.topic_name('upload')}":
            yield f"{each.address}: tells {each.values['topic']}"
    sinks = plan.of("logging_project_sink")
    if [each.values["name"] for each in sinks] != [parts.CHANGES_SINK]:
        yield "sink: there is none of its name"
    for each in sinks:
        if each.values["destination"] != f"pubsub.googleapis.com/projects/{PROJECT}/topics/{parts.topic_name('audit')}":
            yield f"sink: goes to {each.values['destination']}"
        if each.values["unique_writer_identity"] is not True:
            yield "sink: has no writer of its own"


def log_lines_exist(plan: Plan) -> Iterator[str]:
    """Every text that a log-based metric looks for is one that the code logs."""
    logged = _logged_texts()
    for each in plan.of("logging_metric"):
        about = re.findall(r'jsonPayload\.(message|detail|function)[=:](\([^)]*\)|"[^"]*")', each.values["filter"])
        if not any(field in {"message", "detail"} for field, _ in about):
            yield f"{each.address}: counts every line"
        for field, texts in about:
            known: set[str] = {"message": logged, "detail": {code.value for code in DenialCode}, "function": set(parts.FUNCTIONS)}[field]
            yield from (f"{each.address}: no {field} is {text!r}" for text in re.findall(r'"([^"]*)"', texts) if text not in known)


def people_are_told(plan: Plan) -> Iterator[str]:
    """Trimtab's own troubles have alerts, each with a channel and a text, on metrics that are there."""
    policies = {each.values["display_name"]: each for each in plan.of("monitoring_alert_policy") if "control_plane" in each.address}
    missing = {f"Trimtab: {title}" for title in OWN_ALERTS} - set(policies)
    yield from (f"alerts: none on {title}" for title in sorted(missing))
    metrics = {f"logging.googleapis.com/user/{each.values['name']}" for each in plan.of("logging_metric")}
    subscriptions = {each.values["name"] for each in plan.of("pubsub_subscription")}
    for title, each in policies.items():
        if not each.values["notification_channels"]:
            yield f"alerts: nobody hears of {title}"
        if not (each.values["documentation"] or [{}])[0].get("content"):
            yield f"alerts: {title} does not say what to do"
        for text in _filters(each):
            named = set(re.findall(r"logging\.googleapis\.com/user/[\w/]+", text))
            yield from (f"alerts: {title} watches {name}, which nobody counts" for name in sorted(named - metrics))
            watched = set(re.findall(r'"(trimtab-[a-z-]+)"', text)) - subscriptions
            yield from (f"alerts: {title} watches {name}, which is no subscription" for name in sorted(watched))
    dead = " ".join(_filters(policies["Trimtab: dead letters"])) if "Trimtab: dead letters" in policies else ""
    for function in parts.FUNCTIONS:
        if f'"{parts.dead_letter_subscription(function)}"' not in dead:
            yield f"alerts: the dead letters of {function} are not watched"


OWN_ALERTS = (
    "dead letters",
    "messages wait",
    "parked events",
    "bugs",
    "reconcile fails",
    "Cloud Run refuses",
    "unreadable documents",
    "no tick",
    "brakes",
)


def the_dashboard_shows_what_is(plan: Plan) -> Iterator[str]:
    """Its charts are of subscriptions, functions and log-based metrics that exist."""
    names = {each.values["name"] for kind in ("pubsub_subscription", "cloudfunctions2_function") for each in plan.of(kind)}
    metrics = {f"logging.googleapis.com/user/{each.values['name']}" for each in plan.of("logging_metric")}
    for each in plan.of("monitoring_dashboard"):
        if re.search(r":(0|\[\])[,}]", each.values["dashboard_json"]):
            yield "dashboard: holds a zero or an empty list, which is never given back: a change at every plan"
        text = json.dumps(json.loads(each.values["dashboard_json"])).replace('\\"', '"')
        unknown = (
            set(re.findall(r'"(trimtab-[a-z-]+)"', text)) - names | set(re.findall(r"logging\.googleapis\.com/user/[\w/]+", text)) - metrics
        )
        yield from (f"dashboard: there is no {name}" for name in sorted(unknown))


def the_archive_is_named_by_its_content(plan: Plan) -> Iterator[str]:
    """Other content has another name, or a function would keep what it has."""
    objects = [each.values["name"] for each in plan.of("storage_bucket_object")]
    deployed = {each.values["build_config"][0]["source"][0]["storage_source"][0]["object"] for each in plan.of("cloudfunctions2_function")}
    if len(objects) != 1 or not re.fullmatch(r"trimtab-[0-9a-f]{16}\.zip", objects[0]) or deployed != set(objects):
        yield f"archive: {sorted(deployed)} are deployed, {objects} is uploaded"
    for each in plan.of("storage_bucket"):
        if each.values["public_access_prevention"] != "enforced" or each.values["uniform_bucket_level_access"] is not True:
            yield f"{each.address}: could be opened to everybody"


def everything_is_described(plan: Plan) -> Iterator[str]:
    """Every variable and output of every module says what it is."""
    for place, module in _modules(plan.configuration["root_module"], "root"):
        for kind in ("variables", "outputs"):
            for name, content in (module.get(kind) or {}).items():
                if not content.get("description"):
                    yield f"{place}: {kind[:-1]} {name} has no description"


CHECKS: Sequence[Check] = (
    functions_start,
    settings_are_read,
    deliveries_are_kept,
    only_who_is_named_calls,
    least_privilege,
    documents_fit,
    it_ticks,
    others_are_heard,
    log_lines_exist,
    people_are_told,
    the_dashboard_shows_what_is,
    the_archive_is_named_by_its_content,
    everything_is_described,
    *DETAILS,
    *TABLES,
    *ORDERS,
    nothing_else_is_set,
)


def problems(plan: Plan) -> list[str]:
    """What all checks say."""
    return list(itertools.chain.from_iterable(check(plan) for check in CHECKS))


def _filters(policy: Resource) -> list[str]:
    conditions = policy.values["conditions"]
    return [part["filter"] for each in conditions for kind in ("condition_threshold", "condition_absent") for part in each[kind] or ()]


def _modules(module: Mapping[str, Any], place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield place, module
    for name, call in (module.get("module_calls") or {}).items():
        yield from _modules(call["module"], f"{place}.{name}")


def _defined(function: str) -> set[str]:
    path = ROOT / "functions" / function / "main.py"
    return {each.name for each in ast.parse(path.read_text()).body if isinstance(each, ast.FunctionDef)}


def _logged_texts() -> set[str]:
    """The second argument of each `log.event` that is a text, and the verdicts, which are logged as they are."""
    found: set[str] = {"done", "duplicate", "ignored", "parked"}
    for path in (ROOT / "shared").rglob("*.py"):
        text = path.read_text()
        if "log.event(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "log.event" and isinstance(node.args[1], ast.Constant):
                found.add(str(node.args[1].value))
    return found


def _last(name: str) -> str:
    return name.rpartition("/")[2]
