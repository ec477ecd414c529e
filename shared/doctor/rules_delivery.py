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
from shared.doctor import hcl
from shared.doctor.commands import changed, either, gcloud, made, redeploy, topic_path
from shared.doctor.finding import Finding, Level
from shared.doctor.picture import NotAsked, NotSeen, Picture, Source, Subscription
from shared.doctor.rules_parts import NOT_THERE, unseen

DELETED_TOPIC = "_deleted-topic_"
"""What Pub/Sub says a subscription's topic is once it was deleted."""
LEAST_KEPT_SECONDS, LEAST_LONGEST_WAIT_SECONDS = 86_400.0, 60.0
SUBSCRIPTION = "google_pubsub_subscription"
NEVER = ("expiration_policy {", '  ttl = ""', "}")


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
            yield Finding("topic", Level.PROBLEM, f"the topic {topic} is missing", why, _topic(topic, picture))
    for function in FUNCTIONS:
        topic = dead_letter_topic(function, picture.topic_prefix)
        if topic not in there:
            why = f"what {service_name(function)} cannot handle is delivered until it is too old, then lost without a word"
            yield Finding("dead-letter", Level.PROBLEM, f"the dead-letter topic {topic} is missing", why, _topic(topic, picture))


def _topic(name: str, picture: Picture) -> str:
    return made(picture, "google_pubsub_topic", name, [("name", hcl.quoted(name))], first=True)


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
            yield Finding("dead-letter", Level.PROBLEM, said, why, _kept(function, picture))
        elif kept.topic not in (None, dead_letter_topic(function, picture.topic_prefix)):
            said = f"{kept.name} listens to {kept.topic}, not to {dead_letter_topic(function, picture.topic_prefix)}"
            mend = _changed(kept, picture, f"topic = {topic_path(dead_letter_topic(function, picture.topic_prefix), picture)}")
            yield Finding("dead-letter", Level.PROBLEM, said, "dead letters are kept nowhere", mend)
        else:
            yield from _expiry(kept, picture)
            yield from _keeps(kept, picture)


def _keeps(kept: Subscription, picture: Picture) -> Iterator[Finding]:
    """Whether what is put there stays until somebody looks."""
    if kept.has_push and kept.push_endpoint is not None:
        words = ("pubsub", "subscriptions", "update", kept.name, "--push-endpoint=")
        mend = _either(kept, picture, words, "# without a push_config")
        why = "what takes a push has it: dead letters are gone before somebody reads them"
        yield Finding("dead-letter", Level.WARNING, f"{kept.name} pushes to {kept.push_endpoint}", why, mend)
    if kept.retention_seconds is not None and kept.retention_seconds < LEAST_KEPT_SECONDS:
        words = ("pubsub", "subscriptions", "update", kept.name, "--message-retention-duration=31d")
        said = f"{kept.name} keeps dead letters for {kept.retention_seconds / 60:g} minutes"
        mend = _either(kept, picture, words, 'message_retention_duration = "2678400s"')
        yield Finding("dead-letter", Level.WARNING, said, "they are lost before somebody looks: want a day at least", mend)
    yield from _all_of_it("dead-letter", kept, "dead letters are kept nowhere", picture)


def _all_of_it(check: str, found: Subscription, why: str, picture: Picture) -> Iterator[Finding]:
    """A filter cannot be taken off a subscription, nor is a detached one attached again: another must be made."""
    anew = redeploy(picture)
    if picture.source is not Source.PLAN:
        anew = gcloud("pubsub", "subscriptions", "delete", found.name, project=picture.project) + f" && {anew}"
    if found.filter is not None:
        said = f"{found.name} takes only messages with {found.filter}"
        yield Finding(check, Level.PROBLEM, said, f"Pub/Sub drops all others without a word: of those {why}", anew)
    if found.detached:
        yield Finding(check, Level.PROBLEM, f"{found.name} is detached from its topic", why, anew)


def _kept(function: str, picture: Picture) -> str:
    topic = topic_path(dead_letter_topic(function, picture.topic_prefix), picture)
    attributes = [("name", hcl.quoted(dead_letter_subscription(function))), ("topic", topic)]
    return made(picture, SUBSCRIPTION, dead_letter_subscription(function), attributes, NEVER)


def _changed(found: Subscription, picture: Picture, *lines: str) -> str:
    return changed(picture, SUBSCRIPTION, found.name, *lines)


def _token(found: Subscription, picture: Picture) -> str:
    """What makes it push as it must."""
    account = f"service_account_email = {hcl.quoted(account_address(PUSH_ACCOUNT, picture.project))}"
    return _changed(found, picture, *hcl.block("push_config", hcl.block("oidc_token", [account])))


def _pushed(function: str, found: Subscription, picture: Picture) -> Iterator[Finding]:
    topic = topic_name(function, picture.topic_prefix)
    if found.topic is not None and found.topic != topic:
        said = "its topic was deleted" if found.topic == DELETED_TOPIC else f"it listens to {found.topic}, not to {topic}"
        mend = _changed(found, picture, f"topic = {topic_path(topic, picture)}")
        if found.topic == DELETED_TOPIC:
            mend = gcloud("pubsub", "subscriptions", "delete", found.name, project=picture.project) + f" && {mend}"
        yield Finding("subscription", Level.PROBLEM, f"{found.name}: {said}", f"no event reaches {service_name(function)}", mend)
    if not found.has_push:
        why = "nothing is pushed: messages wait until somebody pulls them, and nobody does"
        yield Finding("subscription", Level.PROBLEM, f"{found.name} has no push endpoint", why, redeploy(picture))
    elif not found.has_token:
        why = "Cloud Run refuses pushes without an identity, each counts as a failed delivery"
        yield Finding("subscription", Level.PROBLEM, f"{found.name} pushes without a token", why, _token(found, picture))
    elif found.push_account not in (None, account_address(PUSH_ACCOUNT, picture.project)):
        why = f"only {account_address(PUSH_ACCOUNT, picture.project)} may call the functions"
        yield Finding("subscription", Level.PROBLEM, f"{found.name} pushes as {found.push_account}", why, _token(found, picture))
    yield from _address(function, found, picture)
    if found.ack_deadline_seconds is not None and found.ack_deadline_seconds < LEAST_ACK_DEADLINE_SECONDS:
        words = ("pubsub", "subscriptions", "update", found.name, f"--ack-deadline={LEAST_ACK_DEADLINE_SECONDS}")
        said = f"{found.name}: the ack deadline is {found.ack_deadline_seconds} s, want at least {LEAST_ACK_DEADLINE_SECONDS}"
        why = "a message that is still handled is delivered again, side by side"
        mend = _either(found, picture, words, f"ack_deadline_seconds = {LEAST_ACK_DEADLINE_SECONDS}")
        yield Finding("subscription", Level.WARNING, said, why, mend)
    if found.state not in (None, "ACTIVE"):
        why = "Pub/Sub does not deliver"
        yield Finding("subscription", Level.PROBLEM, f"{found.name} is {found.state}", why, redeploy(picture))
    yield from _all_of_it("subscription", found, f"no event reaches {service_name(function)}", picture)
    yield from _outlived(found, picture)
    if found.unwrapped:
        said = f"{found.name} pushes without Pub/Sub's wrapper"
        yield Finding(
            "subscription", Level.PROBLEM, said, "the function reads the wrapper, and refuses what comes without", _token(found, picture)
        )
    if not found.has_retry_policy or (found.longest_wait_seconds is not None and found.longest_wait_seconds < LEAST_LONGEST_WAIT_SECONDS):
        slower = ("pubsub", "subscriptions", "update", found.name, "--min-retry-delay=10s", "--max-retry-delay=600s")
        why = "what fails is delivered again at once, and again: a fault becomes a storm, and dead-letters at once"
        lines = hcl.block("retry_policy", hcl.pairs([("minimum_backoff", '"10s"'), ("maximum_backoff", '"600s"')]))
        mend = _either(found, picture, slower, *lines)
        said = f"waits {found.longest_wait_seconds:g} s at most" if found.has_retry_policy else "has no retry policy"
        yield Finding("subscription", Level.WARNING, f"{found.name} {said}", why, mend)
    yield from _expiry(found, picture)


def _outlived(found: Subscription, picture: Picture) -> Iterator[Finding]:
    """Whether the function may work longer than the subscription waits."""
    functions, deadline = picture.functions, found.ack_deadline_seconds
    there = None if isinstance(functions, NotSeen | NotAsked) else functions.get(found.name)
    timeout = None if there is None else there.timeout_seconds
    if timeout is not None and deadline is not None and timeout > deadline >= LEAST_ACK_DEADLINE_SECONDS:
        said = f"{found.name} waits {deadline} s for an answer, and the function may take {timeout} s"
        mend = redeploy(picture)
        yield Finding("subscription", Level.WARNING, said, "a message that is still handled is delivered again, side by side", mend)


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
        yield Finding("subscription", Level.WARNING, f"{found.name} expires", why, _either(found, picture, words, *NEVER))


def _either(found: Subscription, picture: Picture, words: tuple[str, ...], *lines: str) -> str:
    return either(picture, gcloud(*words, project=picture.project), hcl.change(SUBSCRIPTION, found.name, lines))


def _dead_letters(function: str, found: Subscription, picture: Picture) -> Iterator[Finding]:
    wanted = dead_letter_topic(function, picture.topic_prefix)
    words = ("pubsub", "subscriptions", "update", found.name, f"--dead-letter-topic={wanted}", "--max-delivery-attempts=30")
    attributes = hcl.pairs([("dead_letter_topic", topic_path(wanted, picture)), ("max_delivery_attempts", "30")])
    mend = _either(found, picture, words, *hcl.block("dead_letter_policy", attributes))
    if not found.has_dead_letters:
        why = "an event that can never be handled is delivered until it is too old, then lost without a word"
        yield Finding("dead-letter", Level.PROBLEM, f"{found.name} has no dead-letter topic", why, mend)
    elif found.dead_letter_topic not in (None, wanted):
        said = f"{found.name} dead-letters to {found.dead_letter_topic}, not to {wanted}"
        yield Finding("dead-letter", Level.PROBLEM, said, "nobody keeps what goes there", mend)
