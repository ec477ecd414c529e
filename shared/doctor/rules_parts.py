"""Whether the parts of a deployment are there and as they must be: APIs, accounts, functions, the tick, the sink, the database. Pure."""

import re
from collections.abc import Iterator

from shared.deployment import (
    ACCOUNTS,
    BUILD_ACCOUNT,
    CHANGES_SINK,
    FUNCTIONS,
    LEAST_PYTHON,
    REQUIRED_INDEXES,
    TICK_JOB,
    TICK_SCHEDULE,
    TOPIC_SETTINGS,
    TTL_FIELDS,
    Switch,
    account_address,
    service_name,
    source_file,
    topic_name,
)
from shared.deployment import (
    apis as needed_apis,
)
from shared.doctor import hcl
from shared.doctor.commands import FUNCTION, changed, either, gcloud, in_variables, made, redeploy, region, topic_path, with_variables
from shared.doctor.finding import Finding, Level
from shared.doctor.picture import Function, NotAsked, NotSeen, Picture, Sink, Source, Unseen
from shared.doctor.rules_settings import switched

_OFF = re.compile(r"([a-z]+)\.[A-Za-z.]+: HTTP 403: .* has not been used in project ([a-z0-9.:-]+)", re.DOTALL)
"""What Google answers to a call of an API that is off: the method's name begins with the API's."""
_ROLES = "roles/viewer and roles/iam.securityReviewer have all that the doctor reads"
_ABOVE = "roles/iam.securityReviewer on the organization has it; --no-inherited leaves such grants out"
_ROLES_WITH = {
    "storage.buckets.get": "roles/storage.bucketViewer has it, and roles/viewer where the bucket has its first grants still",
    "resourcemanager.folders.getIamPolicy": _ABOVE,
    "resourcemanager.organizations.getIamPolicy": _ABOVE,
}
EXAMPLE = "terraform/examples/several-projects"
DATABASE = "TRIMTAB_FIRESTORE_DATABASE"
ACCOUNT, JOB, SINK = "google_service_account", "google_cloud_scheduler_job", "google_logging_project_sink"
_UNDER_WAY = ("DEPLOYING",)
MOST_IDLE_SECONDS = 600.0
"""Of a job that runs every minute."""
_BUILDS = "what runs goes on; the next deployment fails, for this account builds the functions"
NOT_THERE = "has not been deployed, or was deleted since"


def unseen(check: str, what: str, part: object) -> Iterator[Finding]:
    """What to say of a part that could not be looked at; of one that was not asked for, nothing."""
    if isinstance(part, NotSeen):
        mend = "run it again; if it stays so, look at the project in the console"
        if off := _OFF.match(part.why):
            mend = gcloud("services", "enable", f"{off[1]}.googleapis.com", project=off[2].rstrip(".:"))
        if part.permission is not None:
            mend = f"ask for a role with {part.permission}: {_ROLES_WITH.get(part.permission, _ROLES)}"
        yield Finding(check, Level.UNKNOWN, f"{what}: not known", part.why, mend)


def apis(picture: Picture) -> Iterator[Finding]:
    """APIs that are off."""
    enabled = picture.apis
    if isinstance(enabled, NotSeen | NotAsked):
        yield from unseen("api", "which APIs are enabled", enabled)
        return
    switches = frozenset[Switch]().union(*switched(picture).values())
    for name, purpose in needed_apis(switches).items():
        if name not in enabled:
            stays = [("service", hcl.quoted(name)), ("disable_on_destroy", "false")]
            planned = made(picture, "google_project_service", name.partition(".")[0], stays, first=True)
            mend = either(picture, gcloud("services", "enable", name, project=picture.project), planned)
            yield Finding("api", Level.PROBLEM, f"{name} is not enabled", f"Trimtab needs it: {purpose}", mend)


def accounts(picture: Picture) -> Iterator[Finding]:
    """Service accounts that are missing or disabled."""
    there = picture.accounts
    if isinstance(there, NotSeen | NotAsked):
        yield from unseen("account", "which service accounts there are", there)
        return
    for name in ACCOUNTS:
        address = account_address(name, picture.project)
        if address not in there:
            mend = made(picture, ACCOUNT, f"trimtab-{name}", [("account_id", hcl.quoted(f"trimtab-{name}"))], first=True)
            why = _BUILDS if name == BUILD_ACCOUNT else NOT_THERE
            yield Finding("account", _missed(name), f"the service account {address} is missing", why, mend)
        elif not there[address]:
            command = gcloud("iam", "service-accounts", "enable", address, project=picture.project)
            mend = either(picture, command, hcl.change(ACCOUNT, f"trimtab-{name}", ["disabled = false"]))
            why = _BUILDS if name == BUILD_ACCOUNT else "every call that it makes is refused"
            yield Finding("account", _missed(name), f"the service account {address} is disabled", why, mend)


def _missed(account: str) -> Level:
    return Level.WARNING if account == BUILD_ACCOUNT else Level.PROBLEM


def functions(picture: Picture) -> Iterator[Finding]:
    """Functions that are missing, broken, or not what the archive has."""
    there = picture.functions
    if isinstance(there, NotSeen | NotAsked):
        yield from unseen("function", "which functions there are", there)
        return
    for name in FUNCTIONS:
        found = there.get(service_name(name))
        if found is None:
            yield Finding("function", Level.PROBLEM, f"the function {service_name(name)} is missing", NOT_THERE, redeploy(picture))
        else:
            yield from _function(name, found, picture)
    for stray in picture.strays:
        what = f"there is another function {stray.name} in {stray.region}, and Trimtab is in {region(picture)}"
        why = "it is paid for, and may do Trimtab's work a second time, with the settings and the version that it has"
        delete = gcloud("functions", "delete", stray.name, f"--region={stray.region}", project=picture.project)
        mend = f"look which of the two the subscription {stray.name} pushes to, and where it is not this one: {delete}"
        yield Finding("function", Level.WARNING, what, why, mend)
    yield from _versions([there[service_name(name)] for name in FUNCTIONS if service_name(name) in there], picture)


def _function(name: str, found: Function, picture: Picture) -> Iterator[Finding]:
    if found.state in _UNDER_WAY:
        why = "it is being deployed: whether it will serve is not known before that ends"
        yield Finding("function", Level.UNKNOWN, f"the function {found.name} is {found.state}", why, "wait some minutes, and run it again")
    elif found.state not in (None, "ACTIVE"):
        mend = gcloud("functions", "describe", found.name, f"--region={found.region}", project=picture.project)
        why = "only an active function is served; describing it says what failed"
        yield Finding("function", Level.PROBLEM, f"the function {found.name} is {found.state}", why, mend)
    if found.entry_point not in (None, name):
        why = f"the archive's {source_file(name)} has {name!r}: the function does not start"
        mend = changed(picture, FUNCTION, found.name, *hcl.block("build_config", [f"entry_point = {hcl.quoted(name)}"]))
        yield Finding("function", Level.PROBLEM, f"{found.name}: entry point {found.entry_point!r}", why, mend)
    if found.account not in (None, account_address(name, picture.project)):
        why = f"the grants are for {account_address(name, picture.project)}: it has rights that it should not have, or lacks some"
        own = f"service_account_email = {hcl.quoted(account_address(name, picture.project))}"
        mend = changed(picture, FUNCTION, found.name, *hcl.block("service_config", [own]))
        yield Finding("function", Level.PROBLEM, f"{found.name} runs as {found.account}", why, mend)
    if found.environment is None:
        return
    wanted = {"FUNCTION_SOURCE": source_file(name)}
    wanted |= {setting: topic_name(each, picture.topic_prefix) for each, setting in TOPIC_SETTINGS.items()}
    for variable, value in wanted.items():
        given = found.environment.get(variable)
        # A plan leaves out what is known only after apply.
        if given != value and not (given is None and picture.source is Source.PLAN):
            said = "not set" if given is None else repr(given)
            why = f"want {value!r}: else it does not start, or speaks to topics where nobody listens"
            mend = with_variables(picture, found.name, {variable: value})
            yield Finding("function", Level.PROBLEM, f"{found.name}: {variable} is {said}", why, mend)


def _versions(found: list[Function], picture: Picture) -> Iterator[Finding]:
    objects = {each.source_object for each in found if each.source_object is not None}
    if len(objects) > 1:
        why = "functions of two versions may not read each other's documents"
        yield Finding(
            "version", Level.PROBLEM, f"the functions run {len(objects)} archives: {', '.join(sorted(objects))}", why, redeploy(picture)
        )
    if picture.given_archive is not None and found and not objects:
        why = "their source does not say it" if picture.source is Source.PROJECT else "Terraform knows it after it applies"
        yield Finding("version", Level.UNKNOWN, "which archive the functions run: not known", why, redeploy(picture))
    for name in sorted(objects if picture.given_archive is not None else ()):
        if _digits(name) != _digits(picture.given_archive or ""):
            why = "the archive that was given is another one"
            mend = either(picture, redeploy(picture), "plan again with -var=archive=FILE, the path of the archive that was given")
            yield Finding("version", Level.WARNING, f"the functions run {name}, not {picture.given_archive}", why, mend)
    for each in found:
        if each.runtime is not None and not _suffices(each.runtime):
            why = f"Trimtab needs Python {LEAST_PYTHON[0]}.{LEAST_PYTHON[1]} or later"
            mend = in_variables(picture, 'runtime = "python311"')
            yield Finding("version", Level.PROBLEM, f"{each.name} runs on {each.runtime}", why, mend)


def _digits(archive: str) -> str:
    """The part of an archive's name that says its content."""
    return archive.removesuffix(".zip").rpartition("-")[2]


def _suffices(runtime: str) -> bool:
    digits = runtime.removeprefix("python")
    return digits != runtime and digits.isdigit() and len(digits) > 1 and (int(digits[0]), int(digits[1:])) >= LEAST_PYTHON


def tick(picture: Picture) -> Iterator[Finding]:
    """The scheduler's job."""
    jobs = picture.jobs
    if isinstance(jobs, NotSeen | NotAsked):
        yield from unseen("tick", "the scheduler's jobs", jobs)
        return
    job = jobs.get(TICK_JOB)
    why = "without ticks nothing that is due, lost or late is ever looked at again"
    if job is None:
        yield Finding("tick", Level.PROBLEM, f"the scheduler's job {TICK_JOB} is missing", why, _job(picture))
        return
    if job.state not in (None, "ENABLED"):
        resume = gcloud("scheduler", "jobs", "resume", TICK_JOB, f"--location={region(picture)}", project=picture.project)
        mend = either(picture, resume, hcl.change(JOB, TICK_JOB, ["paused = false"]))
        yield Finding("tick", Level.PROBLEM, f"the scheduler's job {TICK_JOB} is {job.state}", why, mend)
    if job.topic is not None and job.topic != topic_name("schedule", picture.topic_prefix):
        said = f"{TICK_JOB} publishes to {job.topic}, not to {topic_name('schedule', picture.topic_prefix)}"
        yield Finding("tick", Level.PROBLEM, said, why, changed(picture, JOB, TICK_JOB, *_target(picture)))
    if job.schedule not in (None, TICK_SCHEDULE):
        said = f"{TICK_JOB} runs at {job.schedule!r}, not every minute"
        mend = changed(picture, JOB, TICK_JOB, f"schedule = {hcl.quoted(TICK_SCHEDULE)}")
        yield Finding("tick", Level.WARNING, said, "every timer of Trimtab waits for the next tick", mend)
    if job.idle_seconds is not None and job.idle_seconds > MOST_IDLE_SECONDS and job.state in (None, "ENABLED"):
        said = f"{TICK_JOB}: the last attempt was {job.idle_seconds / 60:.0f} minutes ago"
        mend = gcloud("scheduler", "jobs", "describe", TICK_JOB, f"--location={region(picture)}", project=picture.project)
        yield Finding("tick", Level.PROBLEM, said, why, mend)
    if job.failed:
        mend = "what the message says; the job's agent must be able to publish to the topic"
        yield Finding("tick", Level.PROBLEM, f"{TICK_JOB}: the last attempt failed: {job.failed}", why, mend)


def _job(picture: Picture) -> str:
    named = [("region", region(picture)), ("name", TICK_JOB), ("schedule", TICK_SCHEDULE)]
    return made(picture, JOB, TICK_JOB, [(key, hcl.quoted(value)) for key, value in named], _target(picture))


def _target(picture: Picture) -> list[str]:
    topic = topic_path(topic_name("schedule", picture.topic_prefix), picture)
    return hcl.block("pubsub_target", hcl.pairs([("topic_name", topic), ("data", 'base64encode("tick")')]))


def sinks(picture: Picture) -> Iterator[Finding]:
    """The way of changes by others, of each served project."""
    for project, found in picture.sinks.items():
        yield from _sink(project, found, picture)


def _sink(project: str, found: Sink | Unseen | None, picture: Picture) -> Iterator[Finding]:
    own = project == picture.project
    named = f"the log sink {CHANGES_SINK}" + ("" if own else f" of {project}")
    why = "a change by somebody else is seen at the next look only, and its author is guessed"
    add = f"add the module served-project for {project}, as {EXAMPLE} does"
    mend = either(picture, redeploy(picture) if own else f"{add}, and apply", f"{add}, {hcl.AGAIN}")
    if isinstance(found, NotSeen | NotAsked):
        yield from unseen("sink", named, found)
    elif found is None:
        yield Finding("sink", Level.PROBLEM, f"{named} is missing", why, mend)
    else:
        if found.disabled:
            command = gcloud("logging", "sinks", "update", CHANGES_SINK, "--no-disabled", project=project)
            enable = either(picture, command, hcl.change(SINK, CHANGES_SINK, ["disabled = false"]))
            yield Finding("sink", Level.PROBLEM, f"{named} is disabled", why, enable)
        topic = topic_name("audit", picture.topic_prefix)
        if found.destination is not None and not is_topic(found.destination, topic, picture):
            said = f"{named} writes to {found.destination}, not to the topic {topic}{'' if own else f' of {picture.project}'}"
            right = f"pubsub.googleapis.com/projects/{picture.project}/topics/{topic}"
            planned = hcl.change(SINK, CHANGES_SINK, [f"destination = {hcl.quoted(right)}"])
            yield Finding("sink", Level.PROBLEM, said, why, either(picture, mend, planned))
        if found.filter is not None and found.filter.split() != changes_filter(picture.project).split():
            said = f"{named} has another filter than the module served-project gives it: {found.filter[:300]}"
            planned = hcl.change(SINK, CHANGES_SINK, [f"filter = {hcl.quoted(changes_filter(picture.project))}"])
            yield Finding("sink", Level.WARNING, said, f"where it lets too little through: {why}", either(picture, mend, planned))
        if found.excluded:
            words = ("logging", "sinks", "update", CHANGES_SINK, f"--remove-exclusions={','.join(found.excluded)}")
            said = f"{named} leaves out {', '.join(found.excluded)}"
            planned = f"take the exclusions out of {SINK}.{CHANGES_SINK.removeprefix('trimtab-')}, {hcl.AGAIN}"
            yield Finding("sink", Level.WARNING, said, why, either(picture, gcloud(*words, project=project), planned))


def changes_filter(project: str) -> str:
    """What the sink of changes lets through: Cloud Run's audit log, without what Trimtab does itself."""
    return " AND ".join(
        (
            '(log_id("cloudaudit.googleapis.com/activity") OR log_id("cloudaudit.googleapis.com/system_event"))',
            'protoPayload.serviceName="run.googleapis.com"',
            'resource.type=("cloud_run_service" OR "cloud_run_revision")',
            f'NOT protoPayload.authenticationInfo.principalEmail="{account_address("reconcile", project)}"',
        )
    )


def is_topic(name: str, topic: str, picture: Picture) -> bool:
    """Whether a topic's full name, whatever stands before its project, is that of this topic of the control plane."""
    return any(f"/{name}".endswith(f"/projects/{project}/topics/{topic}") for project in (picture.project, picture.number))


def database(picture: Picture) -> Iterator[Finding]:
    """The database, its time-to-live and its indexes."""
    found = picture.database
    if isinstance(found, NotSeen | NotAsked):
        yield from unseen("database", "the Firestore database", found)
    elif found is None:
        yield Finding("database", Level.PROBLEM, "the Firestore database is missing", "Trimtab keeps everything there", redeploy(picture))
    else:
        if found.kind not in (None, "FIRESTORE_NATIVE"):
            why = "its client speaks to databases in native mode only; a database's mode cannot be changed while it holds data"
            mend = in_variables(picture, 'firestore = { database = "trimtab" }')
            yield Finding("database", Level.PROBLEM, f"the Firestore database is in {found.kind}", why, mend)
        if found.concurrency not in (None, "OPTIMISTIC"):
            why = "commits wait for each other's locks: many events at once become slow"
            planned = hcl.change("google_firestore_database", database_of(picture), ['concurrency_mode = "OPTIMISTIC"'])
            mend = either(picture, "set concurrency_mode = OPTIMISTIC on google_firestore_database, and deploy", planned)
            yield Finding("database", Level.WARNING, f"the Firestore database's concurrency is {found.concurrency}", why, mend)
    yield from _fields(picture)


def _fields(picture: Picture) -> Iterator[Finding]:
    if isinstance(picture.ttl, NotSeen | NotAsked):
        yield from unseen("ttl", "the database's time-to-live", picture.ttl)
    else:
        for group, name in TTL_FIELDS:
            if (group, name) not in picture.ttl:
                named = (f"--collection-group={group}", f"--database={database_of(picture)}")
                words = ("firestore", "fields", "ttls", "update", name, *named, "--enable-ttl")
                planned = _field(picture, group, name, ["index_config {}"], ["ttl_config {}"])
                mend = either(picture, gcloud(*words, project=picture.project), planned)
                why = "its documents are kept, and paid for, for ever"
                yield Finding("ttl", Level.WARNING, f"{group}.{name} has no time-to-live", why, mend)
    if isinstance(picture.indexes, NotSeen | NotAsked):
        yield from unseen("index", "the database's indexes", picture.indexes)
        return
    for group, (ordered,), _ in REQUIRED_INDEXES:
        name = ordered.split(" ")[0]
        if (group, name) not in picture.indexes:
            why = "the tick's queries over all services fail with FAILED_PRECONDITION, and nothing is looked at"
            # gcloud has no flag for an index over all collections of a name.
            over_all = hcl.block("indexes", hcl.pairs([("order", '"ASCENDING"'), ("query_scope", '"COLLECTION_GROUP"')]))
            mend = _field(picture, group, name, hcl.block("index_config", over_all))
            yield Finding("index", Level.PROBLEM, f"{group}.{name} has no index over all collections", why, mend)
        elif (group, name) in picture.unready:
            yield _unready(group, name, picture.unready[group, name], picture)


def _unready(group: str, name: str, state: str, picture: Picture) -> Finding:
    what, why = f"{group}.{name}: its index over all collections is {state}", "until it is ready the tick's queries fail"
    if state == "CREATING":
        return Finding("index", Level.UNKNOWN, what, why, "wait until it is built, and run it again")
    words = ("firestore", "indexes", "fields", "describe", name, f"--collection-group={group}", f"--database={database_of(picture)}")
    return Finding("index", Level.PROBLEM, what, why, gcloud(*words, project=picture.project))


def _field(picture: Picture, group: str, name: str, *blocks: list[str]) -> str:
    named = [("database", database_of(picture)), ("collection", group), ("field", name)]
    return made(picture, "google_firestore_field", f"{group}_{name}", [(key, hcl.quoted(value)) for key, value in named], *blocks)


def database_of(picture: Picture, function: str = "reconcile") -> str:
    """The database that was asked for, or that the function is told of."""
    if picture.database_name is not None:
        return picture.database_name
    functions = picture.functions
    found = None if isinstance(functions, NotSeen | NotAsked) else functions.get(service_name(function))
    return (found.environment or {}).get(DATABASE, "(default)") if found is not None else "(default)"
