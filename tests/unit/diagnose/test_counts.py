"""One page of counters since the start names candidates, with little confidence and what to look at next."""

import pytest

from tests.unit.diagnose.questions import QUEUE, ask, batching, confidence, cpu_service, gpu_service

OK = ":tensorflow:serving:request_count{model_name=ranker,status=OK} count [requests]"


def count(status: str) -> str:
    return OK.replace("OK", status)


def test_exhausted_requests_behind_a_long_queue_are_deadlines_before_they_are_memory() -> None:
    answer = ask(metrics={OK: 120_034, count("RESOURCE_EXHAUSTED"): 5_034, QUEUE: 80_000})
    assert [each.cause for each in answer.causes] == ["batch-queue-wait-timeout", "gpu-out-of-memory"]
    assert answer.causes[0].confidence < 0.5
    assert any("a minute later" in each for each in answer.missing)
    assert sum("gcloud logging read" in each for each in answer.missing) == 1


def test_exhausted_requests_behind_a_short_queue_are_memory_before_they_are_deadlines() -> None:
    answer = ask(metrics={OK: 120_034, count("RESOURCE_EXHAUSTED"): 5_034, QUEUE: 900})
    assert [each.cause for each in answer.causes] == ["gpu-out-of-memory", "batch-queue-wait-timeout"]


def test_unavailable_requests_name_the_queue() -> None:
    answer = ask(metrics={OK: 120_034, count("UNAVAILABLE"): 5_034})
    assert answer.causes[0].cause == "batch-queue-full"
    assert answer.causes[0].confidence <= 0.5


def test_invalid_arguments_are_named_low_and_leave_the_cause_open() -> None:
    answer = ask(metrics={OK: 120_034, count("INVALID_ARGUMENT"): 5_034})
    assert [each.cause for each in answer.causes] == ["insufficient-data", "request-rows-over-limit", "model-not-batchable"]
    assert "fits no cause" not in answer.causes[0].evidence[0]


@pytest.mark.parametrize("status", ["RESOURCE_EXHAUSTED", "UNAVAILABLE", "INVALID_ARGUMENT"])
def test_a_few_in_a_hundred_thousand_name_nothing(status: str) -> None:
    assert [each.cause for each in ask(metrics={OK: 120_034, count(status): 3, QUEUE: 900}).causes] == ["insufficient-data"]


def test_a_line_that_tells_the_cause_is_not_joined_by_guesses() -> None:
    line = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.20GiB"
    answer = ask(line, metrics={OK: 120_034, count("RESOURCE_EXHAUSTED"): 5_034, QUEUE: 80_000}, deploy=gpu_service())
    assert answer.causes[0].cause == "gpu-out-of-memory"
    assert confidence(answer, "batch-queue-wait-timeout") == 0


def test_the_log_s_memory_limit_wins_over_a_description_that_says_less() -> None:
    deploy = gpu_service().replace("--cpu=4 --memory=16Gi", "--cpu=2 --memory=4Gi")
    remedy = ask("Memory limit of 16384 MiB exceeded with 16500 MiB used.", deploy=deploy).remedies[0]
    assert (remedy.remedy, remedy.before, remedy.after) == ("raise-memory", "16Gi", "--cpu=8 --memory=32Gi")
    assert "the description says 4Gi" in remedy.why


def test_a_limit_that_agrees_contradicts_nothing() -> None:
    assert "description" not in ask("Memory limit of 8192 MiB exceeded with 8300 MiB used.", deploy=cpu_service()).remedies[0].why


@pytest.mark.parametrize(("threads", "after"), [(4, "2"), (2, "1")])
def test_a_gpu_keeps_two_threads_where_it_has_more(threads: int, after: str) -> None:
    line = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.20GiB"
    answer = ask(line, deploy=gpu_service(), batching=batching(32, threads=threads))
    assert next(each.after for each in answer.remedies if each.remedy == "lower-batch-threads") == after


def test_commands_name_the_service_and_region_and_come_once() -> None:
    alert = {"state": "open", "resource": {"labels": {"service_name": "ranker", "location": "europe-west1"}}}
    looks = ask(alert=alert).missing
    assert sum("gcloud logging read" in each for each in looks) == 1
    assert any('service_name="ranker"' in each for each in looks)
    assert any("describe ranker --region=europe-west1" in each for each in looks)
    assert any("describe SERVICE --region=REGION" in each for each in ask().missing)
