"""Cloud Run's limits of a service, its template, its containers and its probes: both sides of each line."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.cloudrun import limits
from shared.cloudrun.containers import args_faults, container_count_faults, dependency_faults, env_faults, port_faults
from shared.cloudrun.limits import Found, LimitFault, MadeWith, TrafficShare
from shared.cloudrun.probes import DEFAULT_STARTUP_TIMING, ProbeAction, ProbeKind, Timing, probe_faults
from shared.cloudrun.server_texts import ServerText

HTTP, TCP, GRPC = ProbeAction.HTTP_GET, ProbeAction.TCP_SOCKET, ProbeAction.GRPC


def texts(found: Iterator[LimitFault]) -> list[ServerText | None]:
    return [fault.text for fault in found]


def only(found: Iterator[LimitFault]) -> LimitFault:
    (fault,) = found
    return fault


def test_a_fault_reads_as_one_sentence_with_field_value_limit_and_fix() -> None:
    assert str(only(limits.concurrency_faults(1_001))) == (
        "template.max_instance_request_concurrency is 1001, allowed is 0 to 1000 requests: an instance takes no more requests at once. "
        "Fix: use 1 to 1000; for a GPU model, what its batching was measured to take."
    )


@pytest.mark.parametrize(("value", "ok"), [(-1, False), (0, True), (1, True), (1_000, True), (1_001, False)])
def test_concurrency(value: int, ok: bool) -> None:
    assert texts(limits.concurrency_faults(value, cpu=4)) == ([] if ok else [ServerText.CONCURRENCY])


def test_below_one_vcpu_there_is_one_request_at_a_time() -> None:
    assert texts(limits.concurrency_faults(2, cpu=0.5)) == [ServerText.FRACTIONAL_CPU_CONCURRENCY]
    assert texts(limits.concurrency_faults(1, cpu=0.5)) == texts(limits.concurrency_faults(2)) == []


@pytest.mark.parametrize(
    ("cpu", "made_with", "concurrency"),
    [
        (0.5, MadeWith.API, 1),
        (0.5, MadeWith.GCLOUD, 1),
        (1, MadeWith.API, 80),
        (8, MadeWith.API, 80),
        (8, MadeWith.CONSOLE, 80),
        (1, MadeWith.GCLOUD, 80),
        (4, MadeWith.GCLOUD, 320),
        (8, MadeWith.TERRAFORM, 640),
        (20, MadeWith.GCLOUD, 1_000),
    ],
)
def test_the_default_concurrency_hangs_on_the_tool(cpu: float, made_with: MadeWith, concurrency: int) -> None:
    assert limits.default_concurrency(cpu, made_with=made_with) == concurrency


@pytest.mark.parametrize(("seconds", "found"), [(0, []), (300, []), (3_600, []), (3_600.5, [ServerText.TIMEOUT]), (-1, [None])])
def test_timeout(seconds: float, found: list[ServerText | None]) -> None:
    assert texts(limits.timeout_faults(seconds)) == found


@pytest.mark.parametrize(
    ("name", "ok"), [("r", True), ("ranker-2", True), ("a" * 49, True), ("a" * 50, False)] + [(n, False) for n in ("", "2r", "r-", "R")]
)
def test_service_names(name: str, ok: bool) -> None:
    assert (list(limits.service_name_faults(name)) == []) == ok


@pytest.mark.parametrize(
    ("revision", "ok"),
    [
        ("", True),
        ("ranker-00001", True),
        ("ranker-" + "a" * 56, True),
        ("ranker-" + "a" * 57, False),
        ("ranker", False),
        ("ranker-", False),
        ("ranker2-1", False),
        ("other-00001", False),
        ("ranker-A", False),
    ],
)
def test_revision_names_begin_with_the_service(revision: str, ok: bool) -> None:
    assert (list(limits.revision_name_faults(revision, service="ranker")) == []) == ok


def test_descriptions_have_512_characters() -> None:
    assert list(limits.description_faults("ü" * 512)) == []
    assert only(limits.description_faults("ü" * 513)).value == "513 characters"


@pytest.mark.parametrize(
    "labels", [{}, {"team": "ranking"}, {"team": ""}, {"a_b-c": "9_x-"}, {"équipe": "été"}, {"goog-terraform-provisioned": "true"}]
)
def test_these_labels_are_taken(labels: dict[str, str]) -> None:
    assert list(limits.label_faults(labels)) == []


@pytest.mark.parametrize(
    "labels",
    [{"": "x"}, {"Team": "x"}, {"team": "X"}, {"9a": "x"}, {"-a": "x"}, {"a.b": "x"}, {"a": "x y"}, {"a" * 64: "x"}, {"a": "x" * 64}],
)
def test_these_labels_are_not(labels: dict[str, str]) -> None:
    assert len(list(limits.label_faults(labels))) == 1


def test_a_resource_has_64_labels() -> None:
    assert list(limits.label_faults({f"k{n}": "" for n in range(64)})) == []
    assert only(limits.label_faults({f"k{n}": "" for n in range(65)}, field="template.labels")).field == "template.labels"


@pytest.mark.parametrize(
    "key",
    [
        "run.googleapis.com/launch-stage",
        "cloud.googleapis.com/location",
        "serving.knative.dev/creator",
        "autoscaling.knative.dev/maxScale",
        "x.run.googleapis.com/y",
    ],
)
def test_system_keys_are_for_v1_only(key: str) -> None:
    assert texts(limits.label_faults({key: "x"})) == [ServerText.SYSTEM_METADATA]
    assert texts(limits.annotation_faults([key])) == [ServerText.SYSTEM_METADATA]


def test_other_annotations_are_free() -> None:
    assert list(limits.annotation_faults(["trimtab.dev/owner", "notrun.googleapis.com.example/x", "client"])) == []


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (0, 0, []),
        (5, 0, []),
        (3, 3, []),
        (4, 3, [ServerText.SCALING_ORDER]),
        (-1, 3, [ServerText.SCALING_NEGATIVE]),
        (0, -1, [ServerText.SCALING_NEGATIVE]),
    ],
)
def test_scaling_bounds(low: int, high: int, found: list[ServerText]) -> None:
    assert texts(limits.scaling_faults(min_instance_count=low, max_instance_count=high)) == found


@pytest.mark.parametrize(
    ("count", "manual", "found"),
    [
        (None, False, []),
        (0, True, []),
        (0, False, [ServerText.SCALING_MODE]),
        (-1, True, [ServerText.SCALING_NEGATIVE]),
        (-1, False, [ServerText.SCALING_NEGATIVE, ServerText.SCALING_MODE]),
    ],
)
def test_manual_scaling(count: int | None, manual: bool, found: list[ServerText]) -> None:
    assert texts(limits.manual_scaling_faults(manual_instance_count=count, manual_mode=manual)) == found


LATEST = TrafficShare(percent=100, latest=True)


@pytest.mark.parametrize(
    ("shares", "found"),
    [
        ([], []),
        ([LATEST], []),
        ([TrafficShare(90, "ranker-1"), TrafficShare(10, "ranker-2", tag="canary"), TrafficShare(0, "ranker-3", tag="next")], []),
        ([TrafficShare(90, "ranker-1")], [ServerText.TRAFFIC_TOTAL]),
        ([TrafficShare(101, "ranker-1"), TrafficShare(-1, "ranker-2")], [ServerText.TRAFFIC_PERCENT, ServerText.TRAFFIC_PERCENT]),
        ([TrafficShare(100)], [ServerText.TRAFFIC_REVISION]),
        ([TrafficShare(100, "ranker-1", latest=True)], [ServerText.TRAFFIC_REVISION]),
        ([LATEST, TrafficShare(0, "ranker-1", tag="a"), TrafficShare(0, "ranker-2", tag="a")], [ServerText.TRAFFIC_TAG]),
    ],
)
def test_traffic(shares: list[TrafficShare], found: list[ServerText]) -> None:
    assert texts(limits.traffic_faults(shares)) == found


@pytest.mark.parametrize(
    ("stage", "ok"), [("", True), ("GA", True), ("BETA", True), ("ALPHA", True), ("EARLY_ACCESS", False), ("beta", False)]
)
def test_launch_stages(stage: str, ok: bool) -> None:
    assert texts(limits.launch_stage_faults(stage)) == ([] if ok else [ServerText.LAUNCH_STAGE])


@pytest.mark.parametrize("name", ["PORT", "K_SERVICE", "K_REVISION", "K_CONFIGURATION"])
def test_cloud_run_sets_these_variables_itself(name: str) -> None:
    assert texts(env_faults([[(name, "x")]])) == [ServerText.ENV_RESERVED]


def test_environments() -> None:
    assert list(env_faults([[("MODEL_NAME", "ranker"), ("TOKEN", None)], [("MODEL_NAME", "sidecar")]])) == []
    assert texts(env_faults([[(f"A{n}", "") for n in range(600)], [(f"B{n}", "") for n in range(401)]])) == [ServerText.ENV_COUNT]
    assert texts(env_faults([[("A", "é" * 16_384)]])) == []
    assert texts(env_faults([[("A", "é" * 16_385)]])) == [ServerText.ENV_VALUE]


@pytest.mark.parametrize("env", [[("9A", "x")], [("A-B", "x")], [("", "x")], [("A", "1"), ("A", "2")]])
def test_what_cloud_run_takes_of_an_environment_and_should_not(env: Sequence[tuple[str, str]]) -> None:
    assert only(env_faults([env])).found == Found.NEVER


@pytest.mark.parametrize(
    ("value", "caught"), [("$(PORT)", True), ("--port=$(PORT)", True), ("$PORT", False), ("${PORT}", False), ("$()", False)]
)
def test_references_are_not_expanded(value: str, caught: bool) -> None:
    for found in (args_faults([[value]]), env_faults([[("A", value)]]), args_faults([[value]], field="command")):
        assert [fault.found for fault in found] == ([Found.NEVER] if caught else [])


def test_arguments_are_counted_over_all_containers() -> None:
    assert texts(args_faults([["x"] * 500, ["x"] * 500])) == []
    assert texts(args_faults([["x"] * 500, ["x"] * 501])) == [ServerText.ARGS_COUNT]


@pytest.mark.parametrize(("count", "found"), [(1, []), (10, []), (11, [ServerText.CONTAINER_COUNT]), (0, [None])])
def test_containers(count: int, found: list[ServerText | None]) -> None:
    assert texts(container_count_faults(count)) == found


@pytest.mark.parametrize(
    ("ports", "found"),
    [
        ([[]], []),
        ([[("h2c", 8500)]], []),
        ([[("http1", 8501)], []], []),
        ([[("h2c", 8500), ("http1", 8501)]], [ServerText.PORT_COUNT]),
        ([[("grpc", 8500)]], [ServerText.PORT_NAME]),
        ([[("", 65_536)]], [ServerText.PORT_RANGE]),
        ([[], []], [ServerText.INGRESS_CONTAINER]),
        ([[("", 1)], [("", 2)]], [ServerText.INGRESS_CONTAINER]),
    ],
)
def test_ports(ports: list[list[tuple[str, int]]], found: list[ServerText]) -> None:
    assert texts(port_faults(ports)) == found


@pytest.mark.parametrize(
    ("depends_on", "found"),
    [
        ({"tfs": [], "collector": ["tfs"]}, []),
        ({"a": ["b", "c"], "b": ["c"], "c": []}, []),
        ({"tfs": ["gone"]}, [ServerText.DEPENDENCY_UNKNOWN]),
        ({"a": ["a"]}, [ServerText.DEPENDENCY_CYCLE]),
        ({"a": ["b"], "b": ["a"], "c": []}, [ServerText.DEPENDENCY_CYCLE]),
    ],
)
def test_the_order_of_starts(depends_on: dict[str, list[str]], found: list[ServerText]) -> None:
    assert texts(dependency_faults(depends_on)) == found


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.sampled_from("abcd"), max_size=3)))
def test_containers_that_can_be_put_in_order_are_taken(depends_on: dict[str, list[str]]) -> None:
    started: set[str] = set()
    for _ in depends_on:
        started |= {name for name, needs in depends_on.items() if set(needs) <= started}
    assert (list(dependency_faults(depends_on)) == []) == (started == set(depends_on))


def startup(timing: Timing, *, action: ProbeAction = TCP, gpu: bool = False, port: int = 0) -> list[LimitFault]:
    return list(probe_faults(ProbeKind.STARTUP, timing, actions=frozenset({action}), gpu=gpu, port=port))


@pytest.mark.parametrize(
    "timing",
    [
        Timing(),
        DEFAULT_STARTUP_TIMING,
        Timing(period_seconds=1, timeout_seconds=1, failure_threshold=600),
        Timing(initial_delay_seconds=240),
    ],
)
def test_these_start_up_probes_are_taken(timing: Timing) -> None:
    assert startup(timing) == []


def test_the_defaults_of_a_probe() -> None:
    assert (Timing().timeout_in_force_seconds, Timing().period_in_force_seconds, Timing().window_seconds) == (1, 10, 30)
    assert DEFAULT_STARTUP_TIMING.window_seconds == 240


@pytest.mark.parametrize(
    ("timing", "gpu", "ok"),
    [
        (Timing(period_seconds=10, failure_threshold=60), False, True),
        (Timing(period_seconds=10, failure_threshold=61), False, False),
        (Timing(period_seconds=10, failure_threshold=61), True, True),
        (Timing(period_seconds=1, failure_threshold=1_800), True, True),
        (Timing(period_seconds=240, failure_threshold=8), True, False),
    ],
)
def test_the_start_up_window_is_longer_with_a_gpu_and_not_checked_by_the_api(timing: Timing, gpu: bool, ok: bool) -> None:
    assert [(fault.found, fault.text) for fault in startup(timing, gpu=gpu)] == ([] if ok else [(Found.START, None)])


def test_a_timeout_above_the_period_is_taken_and_wrong() -> None:
    assert [fault.found for fault in startup(Timing(timeout_seconds=11))] == [Found.START]


@pytest.mark.parametrize(
    ("timing", "found"),
    [
        (Timing(initial_delay_seconds=241), [ServerText.PROBE_INITIAL_DELAY]),
        (Timing(period_seconds=241, failure_threshold=1), [ServerText.PROBE_RANGE]),
        (Timing(timeout_seconds=241, period_seconds=241, failure_threshold=1), [ServerText.PROBE_RANGE, ServerText.PROBE_RANGE]),
        (Timing(failure_threshold=-1), [ServerText.PROBE_THRESHOLD]),
        (Timing(timeout_seconds=-1), [ServerText.PROBE_RANGE]),
    ],
)
@pytest.mark.parametrize("gpu", [False, True])
def test_each_time_of_a_start_up_probe_ends_at_240_s_with_a_gpu_too(timing: Timing, found: list[ServerText], gpu: bool) -> None:
    assert [fault.text for fault in startup(timing, gpu=gpu)] == found


def test_liveness_may_be_slow_and_readiness_has_no_delay() -> None:
    slow = Timing(initial_delay_seconds=3_600, timeout_seconds=3_600, period_seconds=3_600)
    assert list(probe_faults(ProbeKind.LIVENESS, slow, actions=frozenset({HTTP}))) == []
    assert texts(probe_faults(ProbeKind.LIVENESS, Timing(period_seconds=3_601), actions=frozenset({HTTP}))) == [ServerText.PROBE_RANGE]
    assert texts(probe_faults(ProbeKind.READINESS, Timing(initial_delay_seconds=1), actions=frozenset({GRPC}))) == [
        ServerText.PROBE_READINESS_DELAY
    ]
    late = Timing(timeout_seconds=301, period_seconds=400)
    assert texts(probe_faults(ProbeKind.READINESS, late, actions=frozenset({GRPC}))) == [ServerText.PROBE_RANGE] * 2


def test_a_probe_does_one_thing() -> None:
    assert texts(probe_faults(ProbeKind.STARTUP, Timing(), actions=frozenset())) == [ServerText.PROBE_ACTION]
    assert texts(probe_faults(ProbeKind.STARTUP, Timing(), actions=frozenset({HTTP, TCP}))) == [ServerText.PROBE_ACTION]


@pytest.mark.parametrize("kind", [ProbeKind.LIVENESS, ProbeKind.READINESS])
def test_tcp_is_for_the_start_only(kind: ProbeKind) -> None:
    assert texts(probe_faults(kind, Timing(), actions=frozenset({TCP}))) == [ServerText.PROBE_TCP]


def test_probe_ports() -> None:
    assert startup(Timing(), port=65_535) == []
    assert [fault.text for fault in startup(Timing(), port=65_536)] == [ServerText.PROBE_PORT]
