"""Whether the buckets with models are there and tell of what is put into them. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from shared.deployment import topic_name
from shared.doctor import hcl
from shared.doctor.commands import either, redeploy
from shared.doctor.finding import Finding, Level
from shared.doctor.picture import Bucket, NotAsked, Notification, NotSeen, Picture
from shared.doctor.rules_parts import EXAMPLE, is_topic, unseen
from shared.records.subject import ServiceId

UPLOADED: Final = "OBJECT_FINALIZE"
EVENTS: Final = (UPLOADED, "OBJECT_ARCHIVE", "OBJECT_DELETE")
"""What a bucket must tell of: a file that comes, and one that goes."""
PAYLOAD: Final = "JSON_API_V1"
_UNHEARD = "a new version is not heard of: it is found when its folder is listed next, up to ten minutes later"


def buckets(picture: Picture) -> Iterator[Finding]:
    """Buckets that are gone, or that do not tell of uploads."""
    services = _services(picture)
    for name, found in picture.buckets.items():
        if found is None:
            what = f"the bucket {name} is not there, and {_named(services[name])} to be there"
            yield Finding("bucket", Level.PROBLEM, what, "no version of these models can be loaded", _name_another(services[name]))
        elif isinstance(found.project, NotSeen):
            yield from unseen("bucket", f"the bucket {name}", found.project)
        else:
            yield from _told(name, found, services[name], picture)


def _told(name: str, found: Bucket, prefixes: Mapping[str, ServiceId], picture: Picture) -> Iterator[Finding]:
    said = found.notifications
    if isinstance(said, NotSeen | NotAsked):
        yield from unseen("bucket", f"what the bucket {name} tells of", said)
        return
    topic = topic_name("upload", picture.topic_prefix)
    mend = either(picture, f"name {name} in model_buckets of terraform.tfvars, then:\n{redeploy(picture)}", wired(name))
    elsewhere = next((each.project for each in prefixes.values() if each.project != picture.project), None)
    if elsewhere is not None:
        there = f"name {name} in model_buckets of the module served-project for {elsewhere}, as {EXAMPLE} does"
        mend = f"{there}, {either(picture, 'and apply', hcl.AGAIN)}"
    ours = [each for each in said if each.topic is None or is_topic(each.topic, topic, picture)]
    if not ours:
        others = f", only {', '.join(sorted({str(each.topic) for each in said}))}" if said else ""
        what = f"the bucket {name} does not tell the topic {topic} of uploads{others}"
        yield Finding("bucket", Level.PROBLEM, what, _UNHEARD, mend)
        return
    for event in EVENTS:
        if not any(not each.events or event in each.events for each in ours):
            level = Level.PROBLEM if event == UPLOADED else Level.WARNING
            why = _UNHEARD if event == UPLOADED else "that a version goes is seen when its folder is listed next, up to ten minutes later"
            yield Finding("bucket", level, f"the bucket {name} does not tell of {event}", why, mend)
    for prefix, service in prefixes.items():
        if not any(_reaches(each, prefix) for each in ours):
            told = ", ".join(sorted(f"{each.prefix}..." for each in ours))
            what = f"the bucket {name} tells of {told} alone, and the model of {service} lies in {prefix or 'the bucket itself'}"
            yield Finding("bucket", Level.PROBLEM, what, _UNHEARD, mend)
    for each in ours:
        if each.payload not in (None, PAYLOAD):
            why = "what is recorded of an upload says neither the size nor the checksum of the file"
            yield Finding("bucket", Level.WARNING, f"the bucket {name} tells of uploads with payload {each.payload}", why, mend)


def wired(name: str) -> str:
    """What makes a bucket tell of uploads and lets reconcile read it."""
    return hcl.tfvars(["model_buckets = {", f"  {hcl.quoted(name)} = {{}}", "}"])


def _reaches(notification: Notification, prefix: str) -> bool:
    """Whether it tells of the objects below that folder."""
    return f"{prefix}/".removeprefix("/").startswith(notification.prefix)


def _services(picture: Picture) -> Mapping[str, Mapping[str, ServiceId]]:
    """Of each bucket the folders of models in it, and a service that each is of."""
    found: dict[str, dict[str, ServiceId]] = defaultdict(dict)
    for service, uri in picture.models.items():
        bucket, _, prefix = uri.removeprefix("gs://").partition("/")
        found[bucket].setdefault(prefix.rstrip("/"), service)
    return found


def _named(prefixes: Mapping[str, ServiceId]) -> str:
    services = sorted(map(str, set(prefixes.values())))
    return f"the {'spec' if len(services) == 1 else 'specs'} of {', '.join(services)} {'says' if len(services) == 1 else 'say'} a model"


def _name_another(prefixes: Mapping[str, ServiceId]) -> str:
    said = ", ".join(f"trimtab send patch {service}" for service in sorted(map(str, set(prefixes.values()))))
    return f"make it, or name another in serving.model.uri of the spec: {said}"
