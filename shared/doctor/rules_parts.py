"""Whether the parts of a deployment are there and as they must be: APIs, accounts, functions, the tick, the sink, the database. Pure."""

import re
from collections.abc import Iterator

from shared.deployment import (
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
from shared.doctor.commands import gcloud, redeploy, region
from shared.doctor.finding import Finding, Level
from shared.doctor.picture import Function, NotAsked, NotSeen, Picture, Sink, Source, Unseen
from shared.doctor.rules_settings import switched

_OFF = re.compile(r"([a-z]+)\.[A-Za-z.]+: HTTP 403: .* has not been used in project ")
"""What Google answers to a call of an API that is off: the method's name begins with the API's."""
_ROLES = "roles/viewer and roles/iam.securityReviewer have all that the doctor reads"
_ABOVE = "roles/iam.securityReviewer on the organization has it; --no-inherited leaves such grants out"
_ROLES_WITH = {
    "storage.buckets.get": "roles/storage.bucketViewer has it, and roles/viewer where the bucket has its first grants still",
    "resourcemanager.folders.getIamPolicy": _ABOVE,
    "resourcemanager.organizations.getIamPolicy": _ABOVE,
}
EXAMPLE = "terraform/examples/several-projects"
NOT_THERE = "has not been deployed, or was deleted since"


def unseen(check: str, what: str, part: object) -> Iterator[Finding]:
    """What to say of a part that could not be looked at; of one that was not asked for, nothing."""
    if isinstance(part, NotSeen):
        mend = "run it again; if it stays so, look at the project in the console"
        if off := _OFF.match(part.why):
            mend = f"switch the API on in the project that it names: gcloud services enable {off[1]}.googleapis.com"
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
            mend = gcloud("services", "enable", name, project=picture.project)
            yield Finding("api", Level.PROBLEM, f"{name} is not enabled", f"Trimtab needs it: {purpose}", mend)


def accounts(picture: Picture) -> Iterator[Finding]:
    """Service accounts that are missing or disabled."""
    there = picture.accounts
    if isinstance(there, NotSeen | NotAsked):
        yield from unseen("account", "which service accounts there are", there)
        return
    for name in (*FUNCTIONS, "push"):
        address = account_address(name, picture.project)
        if address not in there:
            yield Finding("account", Level.PROBLEM, f"the service account {address} is missing", NOT_THERE, redeploy(picture))
        elif not there[address]:
            mend = gcloud("iam", "service-accounts", "enable", address, project=picture.project)
            yield Finding(
                "account", Level.PROBLEM, f"the service account {address} is disabled", "every call that it makes is refused", mend
            )


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
    yield from _versions([there[service_name(name)] for name in FUNCTIONS if service_name(name) in there], picture)


def _function(name: str, found: Function, picture: Picture) -> Iterator[Finding]:
    if found.state not in (None, "ACTIVE"):
        mend = gcloud("functions", "describe", found.name, f"--region={found.region}", project=picture.project)
        why = "only an active function is served; describing it says what failed"
        yield Finding("function", Level.PROBLEM, f"the function {found.name} is {found.state}", why, mend)
    if found.entry_point not in (None, name):
        why = f"the archive's {source_file(name)} has {name!r}: the function does not start"
        yield Finding("function", Level.PROBLEM, f"{found.name}: entry point {found.entry_point!r}", why, redeploy(picture))
    if found.account not in (None, account_address(name, picture.project)):
        why = f"the grants are for {account_address(name, picture.project)}: it has rights that it should not have, or lacks some"
        yield Finding("function", Level.PROBLEM, f"{found.name} runs as {found.account}", why, redeploy(picture))
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
            yield Finding("function", Level.PROBLEM, f"{found.name}: {variable} is {said}", why, redeploy(picture))


def _versions(found: list[Function], picture: Picture) -> Iterator[Finding]:
    objects = {each.source_object for each in found if each.source_object is not None}
    if len(objects) > 1:
        why = "functions of two versions may not read each other's documents"
        yield Finding(
            "version", Level.PROBLEM, f"the functions run {len(objects)} archives: {', '.join(sorted(objects))}", why, redeploy(picture)
        )
    for name in sorted(objects if picture.given_archive is not None else ()):
        if _digits(name) != _digits(picture.given_archive or ""):
            why = "the archive that was given is another one"
            yield Finding("version", Level.WARNING, f"the functions run {name}, not {picture.given_archive}", why, redeploy(picture))
    for each in found:
        if each.runtime is not None and not _suffices(each.runtime):
            why = f"Trimtab needs Python {LEAST_PYTHON[0]}.{LEAST_PYTHON[1]} or later"
            mend = 'set runtime = "python311" or later in terraform.tfvars, and deploy'
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
        yield Finding("tick", Level.PROBLEM, f"the scheduler's job {TICK_JOB} is missing", why, redeploy(picture))
        return
    if job.state not in (None, "ENABLED"):
        mend = gcloud("scheduler", "jobs", "resume", TICK_JOB, f"--location={region(picture)}", project=picture.project)
        yield Finding("tick", Level.PROBLEM, f"the scheduler's job {TICK_JOB} is {job.state}", why, mend)
    if job.topic is not None and job.topic != topic_name("schedule", picture.topic_prefix):
        said = f"{TICK_JOB} publishes to {job.topic}, not to {topic_name('schedule', picture.topic_prefix)}"
        yield Finding("tick", Level.PROBLEM, said, why, redeploy(picture))
    if job.schedule not in (None, TICK_SCHEDULE):
        said = f"{TICK_JOB} runs at {job.schedule!r}, not every minute"
        yield Finding("tick", Level.WARNING, said, "every timer of Trimtab waits for the next tick", redeploy(picture))
    if job.failed:
        mend = "what the message says; the job's agent must be able to publish to the topic"
        yield Finding("tick", Level.PROBLEM, f"{TICK_JOB}: the last attempt failed: {job.failed}", why, mend)


def sinks(picture: Picture) -> Iterator[Finding]:
    """The way of changes by others, of each served project."""
    for project, found in picture.sinks.items():
        yield from _sink(project, found, picture)


def _sink(project: str, found: Sink | Unseen | None, picture: Picture) -> Iterator[Finding]:
    own = project == picture.project
    named = f"the log sink {CHANGES_SINK}" + ("" if own else f" of {project}")
    why = "a change by somebody else is seen at the next look only, and its author is guessed"
    mend = redeploy(picture) if own else f"add the module served-project for {project}, as {EXAMPLE} does, and apply"
    if isinstance(found, NotSeen | NotAsked):
        yield from unseen("sink", named, found)
    elif found is None:
        yield Finding("sink", Level.PROBLEM, f"{named} is missing", why, mend)
    else:
        if found.disabled:
            enable = gcloud("logging", "sinks", "update", CHANGES_SINK, "--no-disabled", project=project)
            yield Finding("sink", Level.PROBLEM, f"{named} is disabled", why, enable)
        topic = topic_name("audit", picture.topic_prefix)
        if found.destination is not None and not is_topic(found.destination, topic, picture):
            said = f"{named} writes to {found.destination}, not to the topic {topic}{'' if own else f' of {picture.project}'}"
            yield Finding("sink", Level.PROBLEM, said, why, mend)


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
            yield Finding(
                "database", Level.PROBLEM, f"the Firestore database is in {found.kind}", why, "give another database: firestore.database"
            )
        if found.concurrency not in (None, "OPTIMISTIC"):
            why = "commits wait for each other's locks: many events at once become slow"
            mend = "set concurrency_mode = OPTIMISTIC on google_firestore_database, and deploy"
            yield Finding("database", Level.WARNING, f"the Firestore database's concurrency is {found.concurrency}", why, mend)
    yield from _fields(picture)


def _fields(picture: Picture) -> Iterator[Finding]:
    if isinstance(picture.ttl, NotSeen | NotAsked):
        yield from unseen("ttl", "the database's time-to-live", picture.ttl)
    else:
        for group, name in TTL_FIELDS:
            if (group, name) not in picture.ttl:
                mend = gcloud(
                    "firestore", "fields", "ttls", "update", name, f"--collection-group={group}", "--enable-ttl", project=picture.project
                )
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
            yield Finding("index", Level.PROBLEM, f"{group}.{name} has no index over all collections", why, redeploy(picture))
