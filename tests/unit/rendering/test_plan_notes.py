"""What a plan says beside the fields: how far, when, with what quota and money, and what of the owner's command would be lost."""

from typing import Any

import pytest

from shared.records.service import ServiceSpec
from shared.records.serving import DesiredServing
from shared.records.subject import ServiceId
from shared.rendering.messages import Json, service_to_json
from shared.rendering.plan_notes import plan_notes
from shared.rendering.service_plan import plan_service
from tests.support.desired import desired, own_entry, rendered
from tests.support.specs import TYPICAL

SERVICE = ServiceId(project="acme-ml", region="europe-west1", name="ranker")
CHANGED = {"timeout_seconds": 90}
BESIDE = (
    "during the rollout the new revision runs beside the old one: up to 10 more nvidia-l4 GPUs of quota until the old instances are gone"
)


def pinned(wanted: DesiredServing | None = None) -> Json:
    """A service as it runs, its traffic on a revision by name, so that the plan itself has nothing to note."""
    traffic = [{"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION", "revision": "ranker-1", "percent": 100}]
    return {**service_to_json(rendered(wanted)), "traffic": traffic}


def notes(now: Json | None, wanted: DesiredServing, *, serving: dict[str, Any] | None = None, **top: Any) -> list[str]:
    """Of a spec that may do everything at any time, unless it says otherwise."""
    given = {"scale": {"max_instance_count": 10}, "autonomy": "act", **top, "serving": {**TYPICAL, **(serving or {})}}
    spec = ServiceSpec.model_validate(given)
    return list(plan_notes(now, spec, wanted, plan_service(now, wanted, service=SERVICE, bounds=spec.scale)))


def test_where_nothing_differs_there_is_nothing_to_know() -> None:
    assert notes(pinned(), desired(), autonomy="observe") == []


def test_a_change_under_act_is_told_with_when_what_is_asked_and_the_quota() -> None:
    assert notes(pinned(), desired(**CHANGED)) == [
        "no windows are set: a new revision may start at any time",
        "no golden_request is set: that the new revision is ready is all that is asked before it gets the traffic",
        BESIDE,
    ]


@pytest.mark.parametrize(
    ("autonomy", "said"),
    [
        ("observe", "autonomy is observe: Trimtab records what happens and writes nothing of this"),
        ("recommend", "autonomy is recommend: Trimtab decides and explains, and writes nothing of this"),
    ],
)
def test_that_nothing_will_be_written_is_said_first(autonomy: str, said: str) -> None:
    assert notes(pinned(), desired(**CHANGED), autonomy=autonomy)[0] == said


def test_the_windows_are_told_with_their_times_and_the_golden_request_where_there_is_one() -> None:
    windows = [{"days": ["monday", "friday"], "start": "08:00", "end": "15:00"}, {"days": ["sunday"], "start": "22:00", "end": "02:00"}]
    found = notes(
        pinned(),
        desired(**CHANGED, protocol="rest"),
        windows=windows,
        serving={"protocol": "rest", "golden_request": {"instances": [1]}},
    )
    assert "a new revision starts only inside the windows (UTC): monday, friday 08:00 to 15:00; sunday 22:00 to 02:00" in found
    assert "before it gets traffic the new revision must be ready and answer the golden request" in found


def test_what_takes_no_revision_needs_no_window_and_no_quota() -> None:
    assert notes(pinned(), desired(ingress="internal")) == []


def test_without_an_account_of_its_own_the_projects_default_one_is_named() -> None:
    said = "service_account is not set: instances get the project's default account"
    bare = desired(service_account=None)
    assert any(each.startswith(said) for each in notes(None, bare))
    assert any(each.startswith(said) for each in notes(pinned(bare), desired(service_account=None, **CHANGED)))
    # The service has one of its own already, which stays.
    assert not any(each.startswith(said) for each in notes(pinned(), desired(service_account=None, **CHANGED)))


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (11.15, []),
        (8, ["10 instances would cost 11.15 an hour, objective.usd_per_hour is 8: Trimtab stops at 7"]),
        (1, ["10 instances would cost 11.15 an hour, objective.usd_per_hour is 1: Trimtab stops at 0"]),
    ],
)
def test_a_budget_that_the_scale_exceeds_is_told_with_where_it_stops(budget: float, said: list[str]) -> None:
    assert notes(pinned(), desired(), objective={"usd_per_hour": budget}) == said


def test_a_budget_whose_price_decisions_do_not_know_is_told() -> None:
    wanted = desired(accelerator=None, gpu_zonal_redundancy=None)
    assert notes(pinned(wanted), wanted, objective={"usd_per_hour": 8}) == [
        "objective.usd_per_hour is 8, but decisions do not know the price of such an instance: Trimtab raises no bound"
    ]


OWN_ARGS = (
    "--port=8500",
    "--enable_batching=true",
    "--batching_parameters_file=/etc/serving/batching.config",
    "--grpc_channel_arguments=grpc.max_connection_age_ms=2000",
    "--enable_profiler=false",
)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": ("/usr/bin/tensorflow_model_server",), "args": OWN_ARGS, "port": 8500},
        {"command": ("/usr/bin/tensorflow_model_server", *OWN_ARGS), "args": (), "port": 8500},
        {"command": ("/bin/sh", "-c"), "args": (f"exec tensorflow_model_server {' '.join(OWN_ARGS)}",), "port": 8500},
    ],
    ids=["arguments", "command", "shell"],
)
def test_taking_the_command_over_names_the_owners_flags_and_files_that_would_go(entry: dict[str, Any]) -> None:
    now = pinned(own_entry(own_entry=entry))
    flags = "the owner's flags {} would go: those that shall stay belong into extra_flags"
    lost = flags.format("--grpc_channel_arguments=grpc.max_connection_age_ms=2000 --enable_profiler=false")
    file = (
        "/etc/serving/batching.config, the file of --batching_parameters_file, would no longer be read: copy its numbers to batching first"
    )
    assert {lost, file} <= set(notes(now, desired()))
    kept = notes(now, desired(extra_flags={"grpc_channel_arguments": "grpc.max_connection_age_ms=2000"}))
    assert flags.format("--enable_profiler=false") in kept


def test_a_command_that_stays_the_owners_loses_nothing() -> None:
    now = pinned(own_entry())
    assert not [each for each in notes(now, own_entry(**CHANGED)) if "would go" in each or "no longer be read" in each]


@pytest.mark.parametrize(
    ("batching", "said"),
    [
        ({"batch_timeout_micros": 1_000_000}, "batch_timeout_micros 1000000 is 1 s: a request alone in its batch waits that long"),
        (
            {"batch_timeout_micros": 2_000, "max_batch_size": 1_024, "num_batch_threads": 1, "max_enqueued_batches": 4},
            "with max_instance_request_concurrency 80 an instance holds at most 80 rows, a batch is full with 1024: none fills",
        ),
        ({"max_enqueued_batches": 101}, "max_enqueued_batches 101: a queue that long never pushes back"),
    ],
)
def test_batching_that_is_seldom_meant_is_told_and_not_refused(batching: dict[str, Any], said: str) -> None:
    concurrency = {"max_instance_request_concurrency": 80}
    (found,) = notes(pinned(), desired(), serving={"batching": batching, **concurrency})
    assert found.startswith("spec.serving.batching")
    assert said in found


@pytest.mark.parametrize(
    "batching",
    [
        "auto",
        "off",
        {"batch_timeout_micros": 999_999, "max_enqueued_batches": 100},
        {"max_batch_size": 1_024},
        {"max_batch_size": 80, "batch_timeout_micros": 2_000},
        {"max_batch_size": 1_024, "max_execution_batch_size": 80, "enable_large_batch_splitting": True, "batch_timeout_micros": 2_000},
    ],
)
def test_batching_within_these_bounds_needs_no_word(batching: object) -> None:
    assert notes(pinned(), desired(), serving={"batching": batching, "max_instance_request_concurrency": 80}) == []
