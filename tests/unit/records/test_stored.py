"""Stored records: the times in them, what newer and older code may find, and how large they can get."""

import base64
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.control.fold import fold
from shared.events.alert import RoutedAlert, parse_alert
from shared.records.base import Record, UtcTime
from shared.records.decision import Decision, DecisionInputs
from shared.records.facts import AlertFact
from shared.records.fleet import ActSlot, Fleet, FleetUsage
from shared.records.metric import Unknown
from shared.records.observed import Bounds, Observed
from shared.records.parked import ATTRIBUTE_LIMIT, BODY_LIMIT_BYTES, ParkCode, Parked
from shared.records.service import Autonomy, Hold, OwnedField, ScaleBounds, ServiceDocument
from shared.records.signals import Signal
from shared.records.state import (
    KEPT_INCIDENTS,
    KEPT_POLICY_NAME_BYTES,
    KEPT_TOMBSTONES,
    KEPT_URL_BYTES,
    STATE_LIMIT_BYTES,
    STATE_TEXT_LIMIT,
    Act,
    Attempts,
    Condition,
    Desired,
    Episode,
    Floor,
    ForeignChange,
    Incident,
    LastAct,
    QuotaCeiling,
    ServiceState,
    Tombstone,
)
from tests.support.builders import NOW, RANKER, alert, at, document, observed, page, stored

BERLIN = timezone(timedelta(hours=1))


class Moment(Record):
    at: UtcTime


def decision() -> Decision:
    return Decision(
        decision_id="01",
        subject=RANKER,
        decided_at=NOW,
        trigger="t",
        generation=1,
        mode=Autonomy.ACT,
        signals=(Signal.LATENCY,),
        inputs=DecisionInputs(
            bounds=None,
            cloud_run_generation=None,
            instance_count=Unknown(reason="r"),
            quota_instances=Unknown(reason="r"),
            open_incidents=0,
            usd_per_instance_hour=None,
        ),
        changes=(),
        denials=(),
        explanation="e",
    )


def parked(body: bytes = b"{}", **fields: Any) -> Parked:
    return Parked.of(**{"code": ParkCode.UNPARSABLE, "reason": "r", "source": "alert", "body": body, "now": NOW, **fields})


RECORDS: list[Record] = [alert(), document(), ServiceState(id=RANKER), Fleet(), parked(), decision(), observed()]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_stored_record_is_json_and_is_read_back_the_same(record: Record) -> None:
    assert type(record).from_stored(json.loads(json.dumps(record.to_stored()))) == record


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_with_a_field_of_newer_code_is_refused_not_half_read(record: Record) -> None:
    with pytest.raises(ValidationError, match="a_new_field"):
        type(record).from_stored({**record.to_stored(), "a_new_field": 1})


@pytest.mark.parametrize("record", [record for record in RECORDS if "schema_version" in type(record).model_fields])
def test_a_record_of_a_newer_schema_is_refused(record: Record) -> None:
    with pytest.raises(ValidationError, match="schema_version"):
        type(record).from_stored({**record.to_stored(), "schema_version": 2})


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_cannot_be_changed(record: Record) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(record, next(iter(type(record).model_fields)), None)


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        (ServiceState, {"id": RANKER.to_stored()}),
        (ServiceDocument, {"id": RANKER.to_stored(), "spec": {"scale": {"max_instance_count": 4}}}),
        (Fleet, {}),
        (AlertFact, {"incident_id": "0.1", "state": "open", "signal": "latency", "signal_source": "label"}),
        (Parked, {"key": "k", "code": "unparsable", "reason": "r", "source": "alert", "parked_at": "2026-11-30T03:00:00Z"}),
    ],
)
def test_a_record_of_older_code_without_the_newer_fields_still_loads(kind: type[Record], least: dict[str, Any]) -> None:
    assert kind.from_stored(least).to_stored().items() >= {}.items()


def test_an_autonomy_that_was_never_set_observes_only() -> None:
    stored_form = {"id": RANKER.to_stored(), "spec": {"scale": {"max_instance_count": 4}}}
    assert ServiceDocument.from_stored(stored_form).spec.autonomy == Autonomy.OBSERVE


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValidationError, match="timezone"):
        Moment(at=datetime(2026, 11, 30, 3, 0))  # noqa: DTZ001 (that is the point)
    with pytest.raises(ValidationError, match="timezone"):
        Moment.from_stored({"at": "2026-11-30T03:00:00"})


@given(st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)), st.integers(-12 * 60, 14 * 60))  # noqa: DTZ001 (bounds of hypothesis)
def test_a_time_of_any_zone_is_kept_in_utc(local: datetime, minutes: int) -> None:
    moment = local.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    kept = Moment(at=moment).at
    assert (kept, kept.tzinfo) == (moment, UTC)
    assert Moment.from_stored(Moment(at=moment).to_stored()).at == kept


def test_times_are_stored_as_text_in_utc() -> None:
    assert Moment(at=datetime(2026, 11, 30, 4, 0, tzinfo=BERLIN)).to_stored() == {"at": "2026-11-30T03:00:00Z"}


def test_a_minimum_above_the_maximum_is_refused_with_what_to_do() -> None:
    with pytest.raises(ValidationError, match=r"min_instance_count 5 is above scale\.max_instance_count 4: lower the first or raise"):
        ScaleBounds(min_instance_count=5, max_instance_count=4)


def test_a_fact_is_known_by_its_incident_and_its_state() -> None:
    assert (alert("0.1").key, alert("0.1", "closed").key) == ("0.1:open", "0.1:closed")


def test_the_bounds_in_force_are_the_tightest_that_are_set() -> None:
    assert observed(high=0).max_in_force == 100
    assert observed(high=8, revision_max_instance_count=5).max_in_force == 5
    assert observed(high=0, revision_max_instance_count=5).max_in_force == 5
    assert observed(low=1, revision_min_instance_count=3).min_in_force == 3


def test_two_readings_are_the_same_whatever_their_etags_and_times() -> None:
    assert observed(etag="1", read_at=NOW).same_as(observed(etag="2", read_at=at(60)))
    assert not observed().same_as(observed(high=5))
    assert not observed().same_as(None)


def test_the_places_of_a_minute_are_taken_one_after_the_other() -> None:
    slot = ActSlot.next_of(FleetUsage(minute=ActSlot.minute_of(NOW), acts_this_minute=3))
    assert slot.document_id == "202611300300-0003"


def test_a_parked_body_is_cut_and_its_size_and_digest_are_of_the_whole() -> None:
    entry = parked(b"x" * (BODY_LIMIT_BYTES + 5))
    assert (len(entry.body), entry.body_bytes, entry.body_encoding) == (BODY_LIMIT_BYTES, BODY_LIMIT_BYTES + 5, "utf-8")
    assert entry.body_sha256 != parked(b"x" * BODY_LIMIT_BYTES).body_sha256


def test_a_character_that_the_limit_cuts_in_two_is_left_out_and_the_rest_stays_text() -> None:
    entry = parked(b"x" + "é".encode() * BODY_LIMIT_BYTES)
    assert (entry.body_encoding, entry.body[:3], len(entry.body.encode())) == ("utf-8", "xéé", BODY_LIMIT_BYTES - 1)


def test_a_body_that_ends_in_half_a_character_is_no_text() -> None:
    entry = parked("é".encode()[:1])
    assert (entry.body_encoding, base64.b64decode(entry.body)) == ("base64", b"\xc3")


def test_a_parked_entrys_attributes_are_bounded_in_number_and_length() -> None:
    entry = parked(attributes={f"{number:04d}" + "n" * 500: "v" * 5_000 for number in range(100)})
    assert len(entry.attributes) == ATTRIBUTE_LIMIT
    assert {(len(name), len(value)) for name, value in entry.attributes.items()} == {(256, 1_024)}


def test_a_parked_entrys_texts_are_bounded() -> None:
    entry = parked(reason="r" * 5_000, source="s" * 500, subject="u" * 500, message_id="m" * 500)
    assert [len(text or "") for text in (entry.reason, entry.source, entry.subject, entry.message_id)] == [1_024, 256, 256, 256]


@pytest.mark.parametrize("key", [None, "alert:7", "a/b", "x" * 5_000])
def test_a_parked_entrys_key_is_its_document_id(key: str | None) -> None:
    assert len(parked(key=key).key) <= 1_400
    assert parked(key=key).key == parked(key=key).key


@given(st.binary(max_size=200))
def test_no_byte_of_a_small_body_is_lost(body: bytes) -> None:
    entry = parked(body)
    assert body == (entry.body.encode() if entry.body_encoding == "utf-8" else base64.b64decode(entry.body))


def full(short: str, long: str, *, incident: Incident, tombstone: Tombstone) -> ServiceState:
    """A state with every list at its bound and every text as given."""
    act = Act(
        act_id=short,
        decision_id=short,
        signals=tuple(Signal),
        announced_at=NOW,
        lease_expires_at=NOW,
        base_generation=1,
        before=Bounds(),
        after=Bounds(),
        min_in_force=0,
        max_in_force=0,
        generation=1,
        unknown_signals=tuple(Signal),
        operation=short,
    )
    return ServiceState(
        id=RANKER,
        cursor="9" * 40,
        desired=Desired(bounds=Bounds(), generation=1, set_at=NOW),
        observed=Observed.model_validate(
            {
                **observed().model_dump(),
                "ready_reason": short,
                "ready_message": long,
                "latest_ready_revision": short,
                "last_modifier": short,
            }
        ),
        incidents=(incident,) * KEPT_INCIDENTS,
        incidents_not_kept=10**6,
        incidents_not_kept_until=NOW,
        tombstones=(tombstone,) * KEPT_TOMBSTONES,
        episodes=tuple(
            Episode(signal=signal, started_at=NOW, ended_at=NOW, anchor_min=1_000, anchor_max=1_000, anchored_at=NOW) for signal in Signal
        ),
        attempts=tuple(Attempts(signal=signal, at=(NOW,) * 4) for signal in Signal),
        floor=Floor(base=0, min_instance_count=1, expires_at=NOW, signal=Signal.NO_INSTANCE),
        act=act,
        last_act=LastAct(act_id=short, decision_id=short, outcome="not-written", detail=long, at=NOW),
        quota_ceiling=QuotaCeiling(max_instance_count=1, message=long, seen_at=NOW, expires_at=NOW),
        foreign_changes=tuple(ForeignChange(field=field, ours=1, theirs=2, modifier=short, seen_at=NOW) for field in OwnedField),
        conditions=tuple(
            Condition(type=kind, status="Unknown", reason=short, message=long, last_transition_at=NOW, observed_generation=1)
            for kind in ("Observed", "Converged", "Quiet", "Unlimited")
        ),
        last_decision_id=short,
        decision_fingerprints=(short,) * 8,
    )


def size(state: ServiceState) -> int:
    """In bytes of UTF-8, as a document store counts texts."""
    return len(json.dumps(state.to_stored(), ensure_ascii=False).encode())


def an_incident(**texts: str) -> Incident:
    return Incident.model_validate(
        {
            "signal": Signal.CPU_HIGH_GPU_LOW,
            "started_at": NOW,
            "first_seen_at": NOW,
            "expires_at": NOW,
            "observed_value": 1 / 3,
            "threshold_value": 1 / 3,
            **texts,
        }
    )


def test_a_state_full_of_what_cloud_monitoring_really_sends_stays_below_its_limit() -> None:
    url = "https://console.cloud.google.com/monitoring/alerting/alerts/0.mtdi83m6w8ao?channelType=cloud-pubsub&project=" + "p" * 30
    incident = an_incident(incident_id="0.mtdi83m6w8ao", policy_name="ranker: " + "p" * 90, url=url)
    tombstone = Tombstone(incident_id="0.mtdi83m6w8ao", closed_at=NOW)
    assert size(full("s" * 64, "m" * STATE_TEXT_LIMIT, incident=incident, tombstone=tombstone)) < STATE_LIMIT_BYTES


def longest(number: int, state: str) -> AlertFact:
    """What is read of a notification with texts longer than anything takes."""
    labels = {"trimtab_service": "ranker", "trimtab_region": "europe-west1", "trimtab_signal": "cpu-high-gpu-low"}
    incident = {
        "incident_id": f"{number}" + "i" * 5_000,
        "scoping_project_id": "acme-ml",
        "state": state,
        "started_at": 1_795_000_000 + number,
        "url": "https://" + "u" * (KEPT_URL_BYTES - 8) + "u" * (number % 2),
        "policy_name": "é" * 5_000,
        "observed_value": 1 / 3,
        "threshold_value": 1 / 3,
        "policy_user_labels": labels,
    }
    read = parse_alert(json.dumps({"version": "1.2", "incident": incident}).encode(), published_at=NOW)
    assert isinstance(read, RoutedAlert)
    return read.fact


def test_a_state_full_of_the_longest_alerts_and_texts_stays_below_its_limit() -> None:
    opens = [stored(longest(number, "open"), number + 1) for number in range(300)]
    closes = [stored(longest(number, "closed"), number + 1) for number in range(1_000, 1_300)]
    state, _ = fold(ServiceState(id=RANKER), page(*opens, *closes), {})
    most = max(state.incidents, key=lambda incident: len(incident.model_dump_json()))
    assert (len(state.incidents), len(state.tombstones), len(most.url)) == (KEPT_INCIDENTS, KEPT_TOMBSTONES, KEPT_URL_BYTES)
    assert size(full("s" * 256, "m" * STATE_TEXT_LIMIT, incident=most, tombstone=state.tombstones[0])) < STATE_LIMIT_BYTES


def test_of_an_incidents_evidence_a_long_name_is_cut_and_a_long_link_left_out() -> None:
    state, _ = fold(ServiceState(id=RANKER), page(stored(longest(1, "open"), 1)), {})
    assert (state.incidents[0].policy_name, state.incidents[0].url) == ("é" * (KEPT_POLICY_NAME_BYTES // 2), "")


@pytest.mark.parametrize("field", ["incidents", "tombstones", "episodes", "attempts", "foreign_changes", "conditions"])
def test_a_state_with_a_list_beyond_its_bound_is_refused(field: str) -> None:
    state = full("s", "m", incident=an_incident(incident_id="i"), tombstone=Tombstone(incident_id="i", closed_at=NOW))
    entries = state.to_stored()[field]
    with pytest.raises(ValidationError, match="at most"):
        ServiceState.from_stored({**state.to_stored(), field: entries * 20})


def test_a_hold_names_who_and_why() -> None:
    with pytest.raises(ValidationError, match="author"):
        Hold.from_stored({"hold_id": "h", "reason": "r", "created_at": "2026-11-30T03:00:00Z"})
