"""From a notification to a fact: hostile content, bounds, routing and meaning beyond what the fixtures show."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.errors import Park
from shared.events.alert import Ignored, RoutedAlert, parse_alert
from shared.events.alert_reading import read_alert
from shared.records.facts import AlertFact
from shared.records.signals import Signal
from shared.records.subject import ServiceId

AT = datetime(2026, 11, 1, 8, tzinfo=UTC)
LABELS = {"project_id": "northwind-vision", "location": "us-east4", "service_name": "classify-images"}


def notification(**incident: Any) -> bytes:
    usual = {
        "incident_id": "0.bb01",
        "state": "open",
        "resource": {"type": "cloud_run_revision", "labels": LABELS},
        "metric": {"type": "run.googleapis.com/request_latencies", "labels": {}},
        "policy_name": "classify-images p99",
    }
    return json.dumps({"version": "1.2", "incident": {**usual, **incident}}).encode()


def fact_of(payload: bytes) -> AlertFact:
    found = parse_alert(payload, published_at=AT)
    assert isinstance(found, RoutedAlert)
    return found.fact


def refusal(payload: bytes) -> Park:
    with pytest.raises(Park) as caught:
        parse_alert(payload, published_at=AT)
    assert caught.value.reason.isprintable()
    assert len(caught.value.reason) < 1_024
    return caught.value


def labelled(**labels: Any) -> bytes:
    return notification(policy_user_labels=labels)


def count_with_filter(condition: str) -> bytes:
    return notification(
        metric={"type": "run.googleapis.com/request_count"},
        condition={"conditionThreshold": {"filter": f'metric.type = "run.googleapis.com/request_count" AND {condition}'}},
    )


@pytest.mark.parametrize(
    "payload",
    [b"", b"\x00", b"null", b"[]", b'"text"', b"{}", b'{"incident": []}', b'{"version":"1.2","incident":{}}', b"[" * 100_000, b"\xff\xfe{"],
    ids=repr,
)
def test_what_is_no_notification_is_parked_as_unparsable(payload: bytes) -> None:
    assert refusal(payload).code == "unparsable"


@pytest.mark.parametrize("version", [None, 1.2, 12, "", "2.0", "v1.2", "12", [], {}, "1"])
def test_a_version_other_than_1_is_parked_as_unsupported(version: object) -> None:
    payload = json.loads(notification())
    assert refusal(json.dumps({**payload, "version": version}).encode()).code == "unsupported"


def test_a_test_message_without_incident_is_ignored() -> None:
    assert parse_alert(b'{"version": "test"}', published_at=None) == Ignored("console test notification")


def test_the_natural_key_is_the_incident_and_its_state() -> None:
    assert fact_of(notification(state="Closed")).key == "0.bb01:closed"


def test_the_publish_time_of_the_envelope_is_kept() -> None:
    assert fact_of(notification()).published_at == AT


@pytest.mark.parametrize("incident_id", [None, "", "   ", [], {}, True, 1.5])
def test_an_incident_without_id_is_parked(incident_id: object) -> None:
    park = refusal(notification(incident_id=incident_id))
    assert (park.code, "incident_id" in park.reason) == ("unparsable", True)


@pytest.mark.parametrize(
    "incident_id", ["x" * 5_000, "a\x00b", "\ud800", "a\nb", "\u202e"], ids=["long", "nul", "surrogate", "line", "bidi"]
)
def test_an_odd_incident_id_becomes_its_digest_the_same_for_open_and_closed(incident_id: str) -> None:
    opened = fact_of(notification(incident_id=incident_id))
    closed = fact_of(notification(incident_id=incident_id, state="closed"))
    assert opened.incident_id == closed.incident_id
    assert opened.incident_id.startswith("sha256:")
    assert len(opened.incident_id) == 71


def test_a_number_is_taken_for_an_incident_id() -> None:
    assert fact_of(notification(incident_id=12345)).key == "12345:open"


@pytest.mark.parametrize("state", [None, "", "acknowledged", 1, ["open"], {"open": 1}, "open\x00closed"])
def test_a_state_that_is_neither_open_nor_closed_is_parked(state: object) -> None:
    assert "incident.state" in refusal(notification(state=state)).reason


@pytest.mark.parametrize(
    "value", ["nan", "inf", "-Infinity", "1e999", "1_0", "0x1f", "12 %", "", [], {}, True, None, 10**400, "٣", "9" * 5_000]
)
def test_a_value_that_is_no_finite_number_is_unknown(value: object) -> None:
    fact = fact_of(notification(observed_value=value, threshold_value=value))
    assert (fact.observed_value, fact.threshold_value) == (None, None)


@pytest.mark.parametrize("literal", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"9" * 5_000])
def test_a_number_that_json_does_not_know_is_unknown(literal: bytes) -> None:
    assert fact_of(notification(observed_value=0.25).replace(b"0.25", literal)).observed_value is None


@pytest.mark.parametrize(("value", "number"), [("0.790", 0.79), (" 7 ", 7.0), ("-1.5e3", -1500.0), (".5", 0.5), (12, 12.0), ("+3.", 3.0)])
def test_a_number_is_read_from_a_number_or_from_text(value: object, number: float) -> None:
    assert fact_of(notification(observed_value=value)).observed_value == number


@pytest.mark.parametrize("seconds", [0, -5, None, "null", "", 10**12, 10**400, "soon", [], {}, True])
def test_a_time_that_no_calendar_holds_is_unknown(seconds: object) -> None:
    fact = fact_of(notification(started_at=seconds, ended_at=seconds))
    assert (fact.started_at, fact.ended_at) == (None, None)


@pytest.mark.parametrize("seconds", [1793520000, "1793520000", 1793520000.0, "2026-11-01T08:00:00Z"])
def test_a_time_is_read_from_seconds_or_from_text(seconds: object) -> None:
    assert fact_of(notification(started_at=seconds)).started_at == AT


def test_texts_are_cut_to_the_record_and_lose_control_characters() -> None:
    fact = fact_of(notification(summary="a\x00b\x1b[31m\nc " + "x" * 5_000, policy_name="\ud800p", condition_name=["no text"]))
    assert fact.summary.startswith("ab[31m c xxx")
    assert (len(fact.summary), fact.policy_name, fact.condition_name) == (1_024, "p", "")


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://x/" + "y" * 2_000, "https://x/\x00", "https://x/a b", 7, None])
def test_a_link_that_cannot_be_shown_as_one_is_dropped(url: object) -> None:
    assert fact_of(notification(url=url)).url == ""


@pytest.mark.parametrize("odd", [None, 7, "text", [], [[]], True], ids=repr)
@pytest.mark.parametrize("name", ["metadata", "documentation", "condition", "metric", "policy_user_labels", "severity"])
def test_an_odd_type_beside_what_is_needed_does_not_lose_the_alert(name: str, odd: object) -> None:
    payload = notification(**{"policy_user_labels": {"trimtab_signal": "idle"}, name: odd})
    if name == "policy_user_labels":
        assert fact_of(payload).signal is Signal.LATENCY
    else:
        assert fact_of(payload).signal is Signal.IDLE


def test_a_key_that_stands_twice_is_parked() -> None:
    payload = notification().replace(b'"state": "open"', b'"state": "open", "state": "closed"')
    assert "'state' stands twice" in refusal(payload).reason


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"service_name": None}, ["no service name", "trimtab_service"]),
        ({"location": None}, ["no region", "trimtab_region"]),
        ({"project_id": None}, ["no project", "project_id"]),
        ({"service_name": "Classify_Images"}, ["'Classify_Images'", "resource.labels.service_name", "trimtab_service"]),
        ({"service_name": "x" * 50}, ["at most 49"]),
        ({"location": "global"}, ["'global'", "trimtab_region"]),
        ({"project_id": "P"}, ["'P'", "resource.labels.project_id"]),
        ({"service_name": "a\n\x00b" * 500}, ["trimtab_service"]),
    ],
    ids=["name", "region", "project", "odd name", "long name", "no region", "odd project", "hostile name"],
)
def test_an_alert_that_names_no_service_is_unroutable_and_says_what_helps(change: dict[str, Any], says: list[str]) -> None:
    park = refusal(notification(resource={"labels": {name: value for name, value in {**LABELS, **change}.items() if value is not None}}))
    assert park.code == "unroutable"
    for text in says:
        assert text in park.reason


def test_a_malformed_routing_label_is_not_passed_over_for_the_resource() -> None:
    park = refusal(labelled(trimtab_region="us_east4"))
    assert park.code == "unroutable"
    assert "user label trimtab_region" in park.reason


def test_an_empty_routing_label_says_nothing() -> None:
    found = parse_alert(labelled(trimtab_service="", trimtab_region=""), published_at=AT)
    assert isinstance(found, RoutedAlert)
    assert str(found.service) == "northwind-vision:us-east4:classify-images"


def test_the_scoping_project_stands_in_for_the_project_of_the_resource() -> None:
    labels = {name: value for name, value in LABELS.items() if name != "project_id"}
    found = parse_alert(notification(resource={"labels": labels}, scoping_project_id="example.com:northwind"), published_at=AT)
    assert isinstance(found, RoutedAlert)
    assert found.service == ServiceId(project="example.com:northwind", region="us-east4", name="classify-images")


@pytest.mark.parametrize("signal", list(Signal))
def test_each_of_the_ten_signals_can_be_said_by_label(signal: Signal) -> None:
    fact = fact_of(labelled(trimtab_signal=signal.value))
    assert (fact.signal, fact.signal_source) == (signal, "label")


@pytest.mark.parametrize("label", ["LATENCY", "too-slow", "x" * 900, "\ud800?"])
def test_a_label_that_is_none_of_the_ten_is_parked_with_the_ten(label: str) -> None:
    park = refusal(labelled(trimtab_signal=label))
    assert park.code == "no-signal"
    assert all(signal.value in park.reason for signal in Signal)


@pytest.mark.parametrize(
    ("condition", "signal"),
    [
        ('metric.labels.response_code = "429"', Signal.NO_INSTANCE),
        ('metric.label."response_code" = "429"', Signal.NO_INSTANCE),
        ("metric.labels.response_code=429", Signal.NO_INSTANCE),
        ('metric.labels.response_code_class = "5xx"', Signal.ERROR_RATIO),
        ('metric.labels.response_code = monitoring.regex.full_match("5..")', Signal.ERROR_RATIO),
        ('metric.labels.response_code = monitoring.regex.full_match("^500|503$")', Signal.ERROR_RATIO),
        ('metric.labels.response_code = starts_with("5")', Signal.ERROR_RATIO),
    ],
)
def test_the_response_code_is_found_in_the_filter(condition: str, signal: Signal) -> None:
    assert fact_of(count_with_filter(condition)).signal is signal


@pytest.mark.parametrize(
    "condition",
    [
        'metric.labels.response_code_class != "5xx"',
        'NOT metric.labels.response_code = "429"',
        '-metric.labels.response_code = "503"',
        'metric.labels.response_code = "429" OR metric.labels.response_code_class = "5xx"',
        'metric.labels.response_code = monitoring.regex.full_match("429|503")',
        'metric.labels.response_code_class = "4xx"',
        'metric.labels.response_code = "4290"',
        "true",
    ],
)
def test_a_filter_that_does_not_say_one_thing_plainly_needs_the_label(condition: str) -> None:
    assert refusal(count_with_filter(condition)).code == "no-signal"


@pytest.mark.parametrize(
    ("query", "signal"),
    [
        ("rate(run_googleapis_com:request_latencies_bucket[5m])", Signal.LATENCY),
        ('{"run.googleapis.com/container/gpu/memory_usages"} > 20e9', Signal.GPU_MEMORY),
        (
            'rate(run_googleapis_com:request_count{response_code=~"5.."}[5m]) / rate(run_googleapis_com:request_count[5m])',
            Signal.ERROR_RATIO,
        ),
        ("rate(run_googleapis_com:request_latencies_count[5m])", None),
        ("rate(run_googleapis_com:request_latency_pending_count[5m])", None),
        ("run_googleapis_com:request_latencies_sum and run_googleapis_com:pending_queue_pending_requests", None),
        ("run_googleapis_com:container_cpu_utilizations_bucket", None),
        ("up == 0", None),
    ],
)
def test_a_promql_query_gives_a_signal_only_where_it_watches_one_thing(query: str, signal: Signal | None) -> None:
    payload = notification(metric={"type": "__missing__"}, condition={"conditionPrometheusQueryLanguage": {"query": query}})
    if signal is None:
        assert refusal(payload).code == "no-signal"
    else:
        assert fact_of(payload).signal is signal


@pytest.mark.parametrize(
    "metric",
    [
        "compute.googleapis.com/instance/cpu/utilization",
        "prometheus.googleapis.com/:tensorflow:serving:request_latency/histogram",
        "run.googleapis.com/request_latencies_of_another_kind",
        "evil.example.com/run.googleapis.com/request_latencies",
        "run.googleapis.com/container/instance_count",
    ],
)
def test_a_metric_that_can_mean_more_than_one_thing_needs_the_label(metric: str) -> None:
    park = refusal(notification(metric={"type": metric}))
    assert (park.code, repr(metric) in park.reason) == ("no-signal", True)


def test_reading_keeps_what_it_can_of_an_alert_that_cannot_be_used() -> None:
    reading = read_alert(notification(incident_id=None, state="acknowledged", observed_value="3"))
    assert (reading.incident_id, reading.state, reading.observed) == (None, "acknowledged", 3.0)
    assert reading.resource_labels["service_name"] == "classify-images"


def test_a_log_match_without_label_has_no_meaning_whatever_metric_it_mentions() -> None:
    condition = {"conditionMatchedLog": {"filter": "run.googleapis.com/request_latencies"}}
    assert refusal(notification(metric={"type": ""}, condition=condition)).code == "no-signal"
