"""A model as a subject: its folder is listed, its versions are judged by their files, who follows it is woken.

Level-triggered, as a service is: a wake only says "look". A notification that never came is made up for by the looks that come of
themselves: every minute while an upload is under way, every ten minutes otherwise. A model that no service's spec names is not listed.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from shared import log
from shared.errors import Refused, Retry, TokenConflict
from shared.handlers.model_look import LOOK_WITHIN_SECONDS, Folders, Verdicts, is_late, judge_folders, list_folders
from shared.ports import Bus, Clock, ModelFiles, ModelStore
from shared.records.model import ModelState, VersionState, kept_text, kept_versions
from shared.records.model_subject import ModelSubject
from shared.records.parked import ParkCode, Parked
from shared.records.subject import Wake

DEBOUNCE_SECONDS = 30.0
"""Between the beginnings of two listings of one model lies at least this."""
CLAIM_SECONDS = 60.0
"""A look that died is followed by the next one after this; a look takes less than 50 s."""
POLL_SECONDS = 60.0
"""While a version is incomplete and has not stalled: its last notification may be lost."""
RELIST_SECONDS = 600.0
"""A model that somebody follows is listed this often, whatever the notifications say."""
REFUSED_SECONDS = 600.0
"""A bucket that refuses to be read is not asked again before."""
_WAKES_AT_ONCE = 500
_ERROR_LIMIT = 500


@dataclass(frozen=True)
class ModelPorts:
    """What a look at a model needs of the outside."""

    store: ModelStore
    files: ModelFiles
    bus: Bus
    clock: Clock


def reconcile_model(model: ModelSubject, trigger: str, ports: ModelPorts) -> str:
    """Look at one model; returns in a few words what came of it.

    The listing is claimed in the state before it begins, so that whatever wakes come at the same time, there is one. Who loses the
    race leaves it to the winner: the winner's listing begins after the loser's wake, and so shows what the wake was about.

    Raises:
        Retry: the store could not be read or written, or took too long, or the followers could not be woken; delivery repeats.
    """
    began = ports.clock.now()
    snapshot = ports.store.read_model(model)
    if snapshot.unreadable is not None:
        return _report_unreadable(model, snapshot.unreadable, ports)
    state = snapshot.state or ModelState(uri=model.uri)
    try:
        token = snapshot.token
        if state.untold:
            state, token = _tell(model, state, token, ports, next_look_at=state.not_before or ports.clock.now())
        return _look(model, state, token, trigger, ports, now=began)
    except TokenConflict:
        return "somebody else looks at the same time"


def known_versions(uri: str, ports: ModelPorts) -> dict[int, int]:
    """The complete versions that the last look found, the newest first, each with the bytes of its files; none where that is not known.

    A model that nobody looks after yet, because no spec named it when it was uploaded, is woken.
    """
    model = ModelSubject(uri=uri)
    try:
        snapshot = ports.store.read_model(model)
        if snapshot.unreadable is not None:
            return {}
        if snapshot.state is None or snapshot.state.next_look_at is None:
            ports.bus.publish_wakes([Wake.of_model(uri, "a service follows it now")])
    except Retry as unknown:
        log.event("WARNING", "the model's versions are not known: what runs stays", model=uri, reason=unknown.reason)
        return {}
    if snapshot.state is None:
        return {}
    sizes = {each.version: each.size_bytes for each in snapshot.state.versions if each.outcome == "complete"}
    return dict(sorted(sizes.items(), reverse=True))


def _look(model: ModelSubject, state: ModelState, token: str | None, trigger: str, ports: ModelPorts, *, now: datetime) -> str:
    if _is_too_soon(state, now):
        return _put_off(model, state, token, ports)
    if not ports.store.followers(model):
        return _unfollowed(model, state, token, ports, now)
    if is_late(ports.clock, now):
        raise Retry(f"{model.uri}: the store took longer than {LOOK_WITHIN_SECONDS:.0f} s: nothing was listed")
    lease = now + timedelta(seconds=CLAIM_SECONDS)
    claimed = state.model_copy(update={"followed": True, "not_before": lease, "next_look_at": lease})
    token = ports.store.commit_model(model, token=token, state=claimed)
    try:
        folders = list_folders(model, ports.files, ports.clock, now)
    except (Retry, Refused) as failure:
        after = _with_failure(model, claimed, failure, now)
        ports.store.commit_model(model, token=token, state=after)
        return f"not listed: {after.list_error}"
    verdicts = judge_folders(model, folders, state.versions, ports.files, ports.clock, began=now)
    after = _after(model, claimed, folders, verdicts, now)
    _report(model, state, folders, verdicts, trigger)
    # Due at once: should this process die before it has woken the followers, the tick brings the look that does.
    news = after.model_copy(update={"untold": True, "next_look_at": now}) if _is_news(state, after) else after
    token = ports.store.commit_model(model, token=token, state=news)
    if news.untold:
        _tell(model, news, token, ports, next_look_at=after.next_look_at)
    return _words(after, verdicts)


def _is_too_soon(state: ModelState, now: datetime) -> bool:
    """A time that lies further off than any is ever set was written by a clock that is not to be believed."""
    wait = (state.not_before - now).total_seconds() if state.not_before is not None else 0.0
    return 0 < wait <= max(CLAIM_SECONDS, REFUSED_SECONDS)


def _put_off(model: ModelSubject, state: ModelState, token: str | None, ports: ModelPorts) -> str:
    """What this wake is about may have come after the listing: there will be another one, as soon as there may be."""
    not_before = state.not_before
    if not_before is not None and (state.next_look_at is None or state.next_look_at > not_before):
        ports.store.commit_model(model, token=token, state=state.model_copy(update={"next_look_at": not_before}))
    return f"not before {not_before:%H:%M:%S} UTC"


def _unfollowed(model: ModelSubject, state: ModelState, token: str | None, ports: ModelPorts, now: datetime) -> str:
    """Nobody's spec names it: it is not listed. The first service that does wakes it (`known_versions`)."""
    rest = now + timedelta(seconds=DEBOUNCE_SECONDS)
    update = {"followed": False, "listed_at": now, "not_before": rest, "next_look_at": None}
    ports.store.commit_model(model, token=token, state=state.model_copy(update=update))
    return "no service follows it: not listed"


def _with_failure(model: ModelSubject, state: ModelState, failure: Retry | Refused, now: datetime) -> ModelState:
    """What is known stays; the bucket is asked again, soon or, where it refuses, later."""
    refused = isinstance(failure, Refused)
    reason = str(failure)[:_ERROR_LIMIT]
    again = now + timedelta(seconds=REFUSED_SECONDS if refused else DEBOUNCE_SECONDS)
    log.event("WARNING", "the model's folder could not be read", model=model.uri, reason=reason, refused=refused)
    return state.model_copy(update={"list_error": reason, "not_before": again, "next_look_at": again})


def _after(model: ModelSubject, state: ModelState, folders: Folders, verdicts: Verdicts, now: datetime) -> ModelState:
    listed = {each.folder for each in verdicts.versions}
    unseen = [] if folders.whole else [each for each in state.versions if each.folder not in listed and each.folder in folders.alike]
    versions = kept_versions([*verdicts.versions, *unseen])
    after = state.model_copy(
        update={
            "versions": versions,
            "versions_not_kept": max(0, folders.count - len(versions) - verdicts.unknown),
            "listed_at": now,
            "not_before": now + timedelta(seconds=DEBOUNCE_SECONDS),
            "list_error": None,
            "list_note": folders.note[:_ERROR_LIMIT] if folders.note is not None else None,
        }
    )
    if verdicts.failed is not None:
        after = _with_failure(model, after, verdicts.failed, now)
    elif verdicts.waiting:
        after = after.model_copy(update={"next_look_at": after.not_before})
    else:
        after = after.model_copy(update={"next_look_at": _next_look(after, now)})
    return after


def _is_news(before: ModelState, after: ModelState) -> bool:
    """Whether the followers are to look: another newest version, or one more that may be served."""
    return after.latest != before.latest or not set(after.complete) <= set(before.complete)


def _next_look(state: ModelState, now: datetime) -> datetime:
    moments = [now + timedelta(seconds=RELIST_SECONDS)]
    for each in state.versions:
        if each.outcome == "incomplete":
            moments += [each.look_again_at] if each.look_again_at is not None else []
            moments += [] if each.stalled else [now + timedelta(seconds=POLL_SECONDS)]
    return max(min(moments), state.not_before or now)


def _tell(
    model: ModelSubject, state: ModelState, token: str | None, ports: ModelPorts, *, next_look_at: datetime | None
) -> tuple[ModelState, str]:
    """Wake whoever follows the model, and note that it was done.

    Raises:
        Retry: they may not have been woken; the state still says that they are to be.
        TokenConflict: somebody else looked meanwhile, and tells them, too.
    """
    followers = ports.store.followers(model)
    latest = state.latest
    reason = f"model version {latest} is the newest complete one" if latest is not None else "no version of the model is complete"
    for start in range(0, len(followers), _WAKES_AT_ONCE):
        ports.bus.publish_wakes([Wake.of(service, reason) for service in followers[start : start + _WAKES_AT_ONCE]])
    told = state.model_copy(update={"untold": False, "next_look_at": next_look_at})
    return told, ports.store.commit_model(model, token=token, state=told)


def _report(model: ModelSubject, before: ModelState, folders: Folders, verdicts: Verdicts, trigger: str) -> None:
    """One line for each version whose standing changed."""
    known = {each.folder: (each.outcome, each.stalled) for each in before.versions}
    for each in verdicts.changed:
        if known.get(each.folder) == (each.outcome, each.stalled):
            continue
        stands = "stalled" if each.stalled else each.outcome
        severity: log.Severity = "WARNING" if each.stalled or each.outcome == "refused" else "INFO"
        notes = " ".join(each.notes)
        log.event(
            severity, f"model version {stands}", model=model.uri, version=each.folder, reason=each.reason, notes=notes, trigger=trigger
        )
    latest = before.latest
    if folders.whole and latest is not None and latest not in {each.version for each in verdicts.versions}:
        log.event("WARNING", "the newest complete model version is not there any more", model=model.uri, version=latest)


def _words(state: ModelState, verdicts: Verdicts) -> str:
    latest = f"latest complete version {state.latest}" if state.latest is not None else "no complete version"
    parts = [latest, *(_short(each) for each in verdicts.changed[:5] if each.outcome != "complete")]
    if verdicts.waiting:
        parts.append(f"{verdicts.waiting} versions are judged in the next look")
    if state.list_note is not None:
        parts.append(state.list_note)
    return "; ".join(parts)


def _short(version: VersionState) -> str:
    stands = "stalled" if version.stalled else version.outcome
    return f"{version.folder} {stands}: {kept_text(version.reason, 120)}"


def _report_unreadable(model: ModelSubject, error: str, ports: ModelPorts) -> str:
    """A document of newer code, or a damaged one: never overwritten, reported, and looked at again when the code is right.

    Raises:
        Retry: the store could not be written.
    """
    log.event("ERROR", "unreadable record", model=model.uri, document="state", error=error)
    parked = Parked.of(
        code=ParkCode.UNREADABLE_RECORD,
        reason=f"state of {model.uri}: {error}"[:1_000],
        source="reconcile",
        body=error.encode(),
        now=ports.clock.now(),
        subject=model.uri[:256],
        key=f"unreadable:model:{model.id}",
    )
    ports.store.park(parked)
    return "unreadable: state"
