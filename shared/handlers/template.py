"""The template's part of a look: what the service's template is next to what the spec asks for, and the writes of a rollout."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from shared import log
from shared.cloudrun.quantities import quantity
from shared.control.pins import template_pin
from shared.control.repair import basis_of
from shared.control.repair_ask import settings_in_force
from shared.control.rollout import refused, sent
from shared.control.rollout_parts import quarantine_of, to_restore, traffic_when_promoted, traffic_while_starting
from shared.control.spec_lint import FAULT_LIMIT, MOST_FAULTS, faults
from shared.errors import Answer, QuotaRefused, Refused, Retry, ServiceMissing, StaleEtag, TokenConflict, TrimtabError
from shared.ports import Clock, Prober, Store, TemplatePlatform
from shared.records.admission import not_allowed
from shared.records.allow_lists import NO_LIMITS, AllowLists
from shared.records.desired import VersionUnknown, desired_serving
from shared.records.metric import Unknown
from shared.records.observed import RevisionReading, ServiceReading
from shared.records.repair import IN_FORCE
from shared.records.rollout import KEPT_TRAFFIC_TARGETS, Probe, Rollout, RolloutPhase, TemplateView
from shared.records.service import ServiceDocument
from shared.records.serving import DesiredServing, ModelSource, TakeOver, TrafficTarget
from shared.records.state import ServiceState
from shared.records.subject import ServiceId
from shared.rendering.differences import Difference, differences
from shared.rendering.document import read_document, rendered_document
from shared.rendering.messages import Json
from shared.rendering.names import read_revision_name, template_hash, value_hash
from shared.tfserving.model_files_findings import findings

WRITE_TRIES = 3
"""The platform bumps etags by itself; two more looks get past one such bump and its end."""
CHANGES_SHOWN = 10
SHORT_LIMIT = 256
VALUE_SHOWN = 40
NO_VERSIONS: Mapping[int, int] = MappingProxyType({})


@dataclass(frozen=True)
class Seen:
    """What a look saw of the template: the view that is decided on, and what would be rendered (None: it cannot be said)."""

    view: TemplateView
    desired: DesiredServing | None
    document: Json


def see(
    document: ServiceDocument,
    state: ServiceState,
    reading: ServiceReading,
    platform: TemplatePlatform,
    prober: Prober | None,
    *,
    now: datetime,
    versions: Mapping[int, int] = NO_VERSIONS,
    allowed: AllowLists = NO_LIMITS,
) -> Seen:
    """Look at the template.

    `versions` are the complete ones of the model, the newest first, each with the bytes of its files, where the spec asks for the latest.
    `allowed` is what specs may name, asked once more: the stored spec may not have come through the commands.

    Raises:
        Retry: Cloud Run could not be asked.
        Refused: Cloud Run does not let us read a revision.
    """
    choice = _choice(document, state, reading.document, tuple(versions))
    kept = _is_kept(document, state, reading.document)
    wanted = choice.desired
    rollout = state.rollout
    pin = template_pin(document, now) if rollout is None else None
    named = rollout.revision if rollout is not None else pin.revision if pin is not None else None
    candidate = platform.get_revision(document.id, named) if named is not None else None
    common = {
        "traffic": traffic_of(reading.document),
        "traffic_asked": _traffic_asked(reading.document),
        "latest_created": _short(reading.document.get("latestCreatedRevision", "")),
        "template_revision": reading.document.get("template", {}).get("revision", ""),
        "candidate": candidate,
    }
    if isinstance(wanted, Unknown):
        return Seen(TemplateView.model_validate({**common, "wanted_hash": wanted, "differs": False}), None, reading.document)
    after = choice.after
    found = [each for each in differences(reading.document, after) if each.new_revision]
    shown = [*_memory_note(wanted, versions), *map(_shown, found[:CHANGES_SHOWN])] if found else []
    view = TemplateView.model_validate(
        {
            **common,
            "wanted_hash": choice.template_hash,
            "desired_hash": value_hash(wanted.to_stored()),
            "differs": bool(found),
            "kept": kept,
            "left_out": choice.left_out,
            "changes": tuple(shown[:CHANGES_SHOWN]),
            "faults": _faults(document, after, wanted, allowed) if found else (),
            "start_up_seconds": wanted.start_up_seconds or 240,
            "probe": _probe(document, rollout, candidate, reading.document, prober),
        }
    )
    return Seen(view, wanted, reading.document)


def traffic_of(document: Json) -> tuple[TrafficTarget, ...]:
    """Where the traffic goes, by revision; what follows the latest is named by the revision that is ready now.

    While Cloud Run reconciles, what is asked for counts; afterwards what is in force (after a failure these are not the same).
    """
    said = document.get("traffic", []) if document.get("reconciling") else document.get("trafficStatuses") or document.get("traffic", [])
    latest = _short(document.get("latestReadyRevision", ""))
    if not latest and not document.get("reconciling") and not document.get("trafficStatuses"):
        return ()  # no revision was ever ready: what is asked for serves nobody
    targets = [
        TrafficTarget(revision=each.get("revision") or latest, percent=int(each.get("percent", 0)), tag=each.get("tag") or None)
        for each in said
        if each.get("revision") or latest
    ]
    if not targets and latest:
        return (TrafficTarget(revision=latest, percent=100),)
    return tuple(targets[:KEPT_TRAFFIC_TARGETS])


def _traffic_asked(document: Json) -> tuple[str, ...]:
    """The revisions that are to have a share, once Cloud Run is done with it."""
    if document.get("reconciling"):
        return ()
    latest = _short(document.get("latestReadyRevision", ""))
    names = [each.get("revision") or latest for each in document.get("traffic", []) if int(each.get("percent", 0))]
    return tuple(dict.fromkeys(name for name in names if name))[:KEPT_TRAFFIC_TARGETS]


@dataclass(frozen=True)
class _Choice:
    """What is to be rendered, and the document with it (as it is where nothing can be rendered)."""

    desired: DesiredServing | Unknown
    after: Json
    template_hash: str = ""
    left_out: str = ""
    """Of `latest`: which newer version is not served, and why."""


def _choice(document: ServiceDocument, state: ServiceState, seen: Json, versions: Sequence[int]) -> _Choice:
    """What the spec asks for.

    `latest` is the newest complete version whose template has not failed, and never an older one than the template pins already. While
    a version is on its way, it stays the one that is asked for until a newer one comes: its failure is settled first. One whose files
    turn out not to be complete, while an older one has the traffic, is not asked for any more.
    """
    running = _template_version(document, seen)
    left_out = ""
    if running is not None and versions and running not in versions and _follows_latest(document):
        serving = next((each for each in versions if each < running and _has_the_traffic(document, state, seen, each)), None)
        if serving is not None:
            left_out = f"model version {running} is left out: its files are not complete any more"
            running = serving
    newer: list[int | None] = [each for each in versions if running is None or each > running] if _follows_latest(document) else []
    under_way = state.rollout.template_hash if state.rollout is not None else None
    first = None
    candidates = newer if newer and running is None else [*newer, running]
    for version in candidates:
        wanted = _desired(document, version, state)
        if isinstance(wanted, Unknown):
            return _Choice(wanted, seen)
        after = rendered_document(seen, wanted)
        choice = _Choice(wanted, after, template_hash(after["template"]), left_out)
        quarantined = quarantine_of(document, state, choice.template_hash)
        if quarantined is None or choice.template_hash == under_way or not newer or version == running:
            return choice
        first = first or choice
        left_out = left_out or f"model version {version} is left out: revision {quarantined.revision} failed: {quarantined.reason}"
    assert first is not None  # noqa: S101 (the list has a member, and each was passed over)
    return first  # all of them failed and none is served: the newest says why


def _follows_latest(document: ServiceDocument) -> bool:
    model = document.spec.serving.model if document.spec.serving is not None else None
    return model is not None and not isinstance(model.version, int)


def _faults(document: ServiceDocument, after: Json, wanted: DesiredServing, allowed: AllowLists) -> tuple[str, ...]:
    """Why what would be rendered is not to be written: what the spec may not name, and what lint finds in it."""
    refused = tuple(str(each)[:FAULT_LIMIT] for each in not_allowed(document.id, document.spec, allowed))
    return (*refused, *(faults(document.id, after) if wanted.own_entry is None else ()))[:MOST_FAULTS]


def _is_kept(document: ServiceDocument, state: ServiceState, seen: Json) -> bool:
    """Whether what serves is somebody else's template, which the spec has replaced only to repair it, and no repair replaces it."""
    serving = document.spec.serving
    if serving is None or serving.take_over is TakeOver.AT_ONCE:
        return False
    repair = state.repair
    if repair is not None and repair.takes_over and repair.phase in IN_FORCE and repair.basis == basis_of(serving):
        return False
    shares = [target.revision for target in traffic_of(seen) if target.percent]
    return bool(shares) and not any(read_revision_name(revision) for revision in shares)


def _desired(document: ServiceDocument, version: int | None, state: ServiceState) -> DesiredServing | Unknown:
    serving = document.spec.serving
    settings = settings_in_force(state, basis_of(serving)) if serving is not None else None
    try:
        return desired_serving(document.spec, version=version, settings=settings)
    except VersionUnknown as unknown:
        return Unknown(reason=str(unknown)[:500])
    except (TrimtabError, ValueError) as error:
        return Unknown(reason=f"the spec cannot be rendered: {error}"[:500])


def _has_the_traffic(document: ServiceDocument, state: ServiceState, seen: Json, version: int) -> bool:
    """Whether all traffic is on revisions that the spec, as it is, makes of this version."""
    wanted = _desired(document, version, state)
    if isinstance(wanted, Unknown):
        return False
    by_name = f"{document.id.name}-{template_hash(rendered_document(seen, wanted)['template'])}-"
    shares = [target.revision for target in traffic_of(seen) if target.percent]
    return bool(shares) and all(revision.startswith(by_name) for revision in shares)


def _template_version(document: ServiceDocument, seen: Json) -> int | None:
    """The version that the running template pins, if it is of the spec's model: `latest` never means an older one."""
    serving = document.spec.serving
    if serving is None or serving.model is None:
        return None
    try:
        running = read_document(seen).model
    except (TrimtabError, ValueError):
        return None  # somebody else's template: it pins nothing that can be read
    same = running is not None and (running.name, running.uri) == (serving.model.name, serving.model.uri)
    return running.version if same and running is not None else None


def _probe(
    document: ServiceDocument, rollout: Rollout | None, candidate: RevisionReading | None, seen: Json, prober: Prober | None
) -> Probe | None:
    serving = document.spec.serving
    if rollout is None or candidate is None or serving is None or serving.golden_request is None or serving.model is None:
        return None
    if rollout.phase not in {RolloutPhase.DEPLOYING, RolloutPhase.VERIFYING} or candidate.ready != "succeeded" or prober is None:
        return None
    uri = next((each.get("uri", "") for each in seen.get("trafficStatuses", []) if each.get("revision") == rollout.revision), "")
    if not uri:
        return Probe(ok=False, detail="the candidate has no address yet")
    return prober.predict(str(uri), model=serving.model.name, body=serving.golden_request)


def _memory_note(wanted: DesiredServing, versions: Mapping[int, int]) -> list[str]:
    """That the version may not fit into the instance. It is tried all the same: the size is an estimate, and a candidate has no traffic."""
    model = wanted.model
    size_bytes = versions.get(model.version or 0, 0) if model is not None else 0
    if model is None or wanted.memory is None or not size_bytes:
        return []
    copied = model.source is ModelSource.COPIED
    memory_bytes = int(quantity(wanted.memory) or 0) or None
    found = findings(None, size_bytes=size_bytes, batching_enabled=False, memory_bytes=memory_bytes, copied_into_memory=copied)
    return [f"version {model.version} may not fit: {each.text}"[:SHORT_LIMIT] for each in found]


def _shown(change: Difference) -> str:
    """A difference in a few words; long values (files, scripts, argument lists) are only named."""
    path = change.path.removeprefix("template.").replace("containers[(serving)].", "")
    before, after = ("unset" if value is None else str(value) for value in (change.before, change.after))
    if max(len(before), len(after)) > VALUE_SHOWN or "\n" in before + after:
        return f"{path} changed"[:SHORT_LIMIT]
    return f"{path} from {before} to {after}"[:SHORT_LIMIT]


def _short(name: str) -> str:
    return name.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class RolloutExecutor:
    """Performs announced writes of rollouts, fenced as those of the scaling bounds are."""

    store: Store
    platform: TemplatePlatform
    clock: Clock

    def perform(self, service: ServiceId, state: ServiceState, desired: DesiredServing | None, *, etag: str, token: str) -> str:
        """Write what the state's rollout announces and record what became of it; returns that in a word.

        Raises:
            Retry: the outcome could not be recorded; Cloud Run may have been written.
        """
        rollout = state.rollout
        assert rollout is not None  # noqa: S101 (only a state with an announced write gets here)
        for _ in range(WRITE_TRIES):
            if self.store.state_token(service) != token:
                return "overtaken: the state was committed by somebody else"
            try:
                self._write(service, rollout, desired, etag)
            except StaleEtag:
                fresh = self._etag_if_unmoved(service, rollout)
                if fresh is None:
                    return "overtaken: Cloud Run is not any more what was decided on"
                etag = fresh
                continue
            except Retry as lost:
                return f"not known to be written ({lost.reason}); the next look will tell"
            except (QuotaRefused, Refused, ServiceMissing) as refusal:
                return self._refused(service, state, refusal, token)
            self._record(service, state.model_copy(update={"rollout": sent(rollout)}), token)
            return "written"
        return "not written: the etag moved at every try"

    def _write(self, service: ServiceId, rollout: Rollout, desired: DesiredServing | None, etag: str) -> None:
        assert rollout.write is not None  # noqa: S101 (announced)
        if rollout.write.kind == "restore":
            self.platform.restore_template(service, etag=etag, revision=to_restore(rollout))
        elif rollout.write.kind == "promote":
            self.platform.update_service(service, etag=etag, traffic=traffic_when_promoted(rollout))
        else:
            traffic = traffic_while_starting(rollout)
            again = rollout.attempt > 1
            self.platform.update_service(service, etag=etag, serving=desired, revision=rollout.revision, traffic=traffic, again=again)

    def _refused(self, service: ServiceId, state: ServiceState, refusal: Answer, token: str) -> str:
        text = str(refusal)
        log.event("WARNING", "Cloud Run refused a write of a rollout", service=service, text=text)
        self._record(service, refused(state, text, self.clock.now(), no_room=isinstance(refusal, QuotaRefused)), token)
        return f"refused: {text}"

    def _etag_if_unmoved(self, service: ServiceId, rollout: Rollout) -> str | None:
        try:
            seen = self.platform.get_service(service)
        except (Retry, ServiceMissing, Refused) as unseen:
            log.event("WARNING", "could not look again before the write", service=service, reason=unseen)
            return None
        assert rollout.write is not None  # noqa: S101 (announced)
        return seen.etag if seen.generation == rollout.write.base_generation else None

    def _record(self, service: ServiceId, state: ServiceState, token: str) -> None:
        now: datetime = self.clock.now()
        try:
            self.store.commit(service, token=token, state=state.model_copy(update={"next_look_at": now}))
        except TokenConflict:
            log.event("WARNING", "outcome not recorded: somebody else looked meanwhile", service=service)
