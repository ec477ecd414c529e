"""Whether events arrive: topics, subscriptions, dead letters. Pure."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from shared.deployment import (
    EVENTS_TOPIC,
    FUNCTIONS,
    LEAST_ACK_DEADLINE_SECONDS,
    PUSH_ACCOUNT,
    account_address,
    dead_letter_subscription,
    dead_letter_topic,
    service_name,
    topic_name,
)
from shared.doctor.commands import gcloud, redeploy
from shared.doctor.finding import Finding, Level
from shared.doctor.picture import NotAsked, NotSeen, Picture, Subscription
from shared.doctor.rules_parts import NOT_THERE, unseen

DELETED_TOPIC = "_deleted-topic_"
"""What Pub/Sub says a subscription's topic is once it was deleted."""


def topics(picture: Picture) -> Iterator[Finding]:
    """Topics that are missing."""
    there = picture.topics
    if isinstance(there, NotSeen | NotAsked):
        yield from unseen("topic", "which topics there are", there)
        return
    for name in (*FUNCTIONS, EVENTS_TOPIC):
        topic = topic_name(name, picture.topic_prefix)
        if topic not in there:
            why = "what Trimtab does is told to nobody" if name == EVENTS_TOPIC else f"no event reaches {service_name(name)}"
            yield Finding("topic", Level.PROBLEM, f"the topic {topic} is missing", why, redeploy(picture))
    for function in FUNCTIONS:
        topic = dead_letter_topic(function, picture.topic_prefix)
        if topic not in there:
            why = f"what {service_name(function)} cannot handle is delivered until it is too old, then lost without a word"
            yield Finding("dead-letter", Level.PROBLEM, f"the dead-letter topic {topic} is missing", why, redeploy(picture))


def subscriptions(picture: Picture) -> Iterator[Finding]:
    """Subscriptions that are missing, or would lose or repeat events."""
    there = picture.subscriptions
    if isinstance(there, NotSeen | NotAsked):
        yield from unseen("subscription", "which subscriptions there are", there)
        return
    for function in FUNCTIONS:
        name = service_name(function)
        found = there.get(name)
        if found is None:
            yield Finding("subscription", Level.PROBLEM, f"the subscription {name} is missing", NOT_THERE, redeploy(picture))
        else:
            yield from _pushed(function, found, picture)
            yield from _dead_letters(function, found, picture)
        kept = there.get(dead_letter_subscription(function))
        if kept is None:
            why = "a topic without a subscription forgets what is published to it at once: dead letters are lost"
            said = f"the subscription {dead_letter_subscription(function)} is missing"
            yield Finding("dead-letter", Level.PROBLEM, said, why, redeploy(picture))
        elif kept.topic not in (None, dead_letter_topic(function, picture.topic_prefix)):
            said = f"{kept.name} listens to {kept.topic}, not to {dead_letter_topic(function, picture.topic_prefix)}"
            yield Finding("dead-letter", Level.PROBLEM, said, "dead letters are kept nowhere", redeploy(picture))
        else:
            yield from _expiry(kept, picture)


def _pushed(function: str, found: Subscription, picture: Picture) -> Iterator[Finding]:
    topic = topic_name(function, picture.topic_prefix)
    if found.topic is not None and found.topic != topic:
        said = "its topic was deleted" if found.topic == DELETED_TOPIC else f"it listens to {found.topic}, not to {topic}"
        mend = redeploy(picture)
        if found.topic == DELETED_TOPIC:
            mend = gcloud("pubsub", "subscriptions", "delete", found.name, project=picture.project) + f" && {mend}"
        yield Finding("subscription", Level.PROBLEM, f"{found.name}: {said}", f"no event reaches {service_name(function)}", mend)
    if not found.has_push:
        why = "nothing is pushed: messages wait until somebody pulls them, and nobody does"
        yield Finding("subscription", Level.PROBLEM, f"{found.name} has no push endpoint", why, redeploy(picture))
    elif not found.has_token:
        why = "Cloud Run refuses pushes without an identity, each counts as a failed delivery"
        yield Finding("subscription", Level.PROBLEM, f"{found.name} pushes without a token", why, redeploy(picture))
    elif found.push_account not in (None, account_address(PUSH_ACCOUNT, picture.project)):
        why = f"only {account_address(PUSH_ACCOUNT, picture.project)} may call the functions"
        yield Finding("subscription", Level.PROBLEM, f"{found.name} pushes as {found.push_account}", why, redeploy(picture))
    yield from _address(function, found, picture)
    if found.ack_deadline_seconds is not None and found.ack_deadline_seconds < LEAST_ACK_DEADLINE_SECONDS:
        words = ("pubsub", "subscriptions", "update", found.name, f"--ack-deadline={LEAST_ACK_DEADLINE_SECONDS}")
        said = f"{found.name}: the ack deadline is {found.ack_deadline_seconds} s, want at least {LEAST_ACK_DEADLINE_SECONDS}"
        why = "a message that is still handled is delivered again, side by side"
        yield Finding("subscription", Level.WARNING, said, why, gcloud(*words, project=picture.project))
    if found.state not in (None, "ACTIVE"):
        why = "Pub/Sub does not deliver"
        yield Finding("subscription", Level.PROBLEM, f"{found.name} is {found.state}", why, redeploy(picture))
    if not found.has_retry_policy:
        slower = ("pubsub", "subscriptions", "update", found.name, "--min-retry-delay=10s", "--max-retry-delay=600s")
        why = "what fails is delivered again at once, and again: a fault becomes a storm, and dead-letters at once"
        yield Finding("subscription", Level.WARNING, f"{found.name} has no retry policy", why, gcloud(*slower, project=picture.project))
    yield from _expiry(found, picture)


def _address(function: str, found: Subscription, picture: Picture) -> Iterator[Finding]:
    """Whether it pushes to the function, with a token that Cloud Run takes there."""
    functions = picture.functions
    there = None if isinstance(functions, NotSeen | NotAsked) else functions.get(service_name(function))
    if there is None or there.uri is None or found.push_endpoint is None:
        return
    hosts = {_host(there.uri)}
    if isinstance(picture.number, int) and there.region is not None:
        hosts.add(f"{there.name}-{picture.number}.{there.region}.run.app")
    if _host(found.push_endpoint) not in hosts:
        said = f"{found.name} pushes to {found.push_endpoint}, and {there.name} is at {there.uri}"
        yield Finding("subscription", Level.PROBLEM, said, f"no event reaches {there.name}", redeploy(picture))
    elif found.has_token and found.push_audience is not None and _host(found.push_audience) not in hosts:
        said = f"{found.name} pushes with a token for {found.push_audience}, and {there.name} is at {there.uri}"
        why = "Cloud Run takes only tokens that are for the service's own address: each push is refused with 401"
        yield Finding("subscription", Level.PROBLEM, said, why, redeploy(picture))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or url
    except ValueError:
        return url


def _expiry(found: Subscription, picture: Picture) -> Iterator[Finding]:
    if found.expires:
        words = ("pubsub", "subscriptions", "update", found.name, "--expiration-period=never")
        why = "Pub/Sub deletes it when nobody used it for that long, and then its events are lost"
        yield Finding("subscription", Level.WARNING, f"{found.name} expires", why, gcloud(*words, project=picture.project))


def _dead_letters(function: str, found: Subscription, picture: Picture) -> Iterator[Finding]:
    wanted = dead_letter_topic(function, picture.topic_prefix)
    words = ("pubsub", "subscriptions", "update", found.name, f"--dead-letter-topic={wanted}", "--max-delivery-attempts=30")
    mend = gcloud(*words, project=picture.project)
    if not found.has_dead_letters:
        why = "an event that can never be handled is delivered until it is too old, then lost without a word"
        yield Finding("dead-letter", Level.PROBLEM, f"{found.name} has no dead-letter topic", why, mend)
    elif found.dead_letter_topic not in (None, wanted):
        said = f"{found.name} dead-letters to {found.dead_letter_topic}, not to {wanted}"
        yield Finding("dead-letter", Level.PROBLEM, said, "nobody keeps what goes there", mend)
