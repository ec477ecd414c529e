"""What a remedy proposes can be had: legal pairs of CPU and memory, windows that are longer, risks of the service at hand."""

import pytest

from shared.cloudrun.shapes import memory_range_gib
from tests.unit.diagnose.questions import INSTANCES, ask, avoided, cpu_service, gpu_service, remedies

ENDED = "Memory limit of {limit} MiB exceeded with {used} MiB used."
LOADING = "Restoring SavedModel bundle."
FAILED = 'STARTUP TCP probe failed {times} times consecutively for container "m-1" on port 8500. Connection failed: DEADLINE_EXCEEDED.'


def probe(period: int, threshold: int) -> str:
    return f"--startup-probe=tcpSocket.port=8500,periodSeconds={period},failureThreshold={threshold}"


def test_more_memory_for_an_l4_takes_more_cpu() -> None:
    remedy = ask(ENDED.format(limit=16384, used=16500), deploy=gpu_service()).remedies[0]
    assert (remedy.remedy, remedy.before, remedy.after) == ("raise-memory", "--cpu=4 --memory=16Gi", "--cpu=8 --memory=32Gi")


@pytest.mark.parametrize(("cpu", "memory"), [(1, 1), (1, 4), (2, 8), (4, 8), (4, 16), (6, 24), (8, 16)])
def test_every_larger_pair_is_one_that_cloud_run_takes(cpu: int, memory: int) -> None:
    deploy = cpu_service().replace("--cpu=4 --memory=8Gi", f"--cpu={cpu} --memory={memory}Gi")
    after = str(ask(ENDED.format(limit=memory * 1024, used=memory * 1030), deploy=deploy).remedies[0].after)
    told = dict(part.removeprefix("--").split("=") for part in after.split()) if "=" in after else {"cpu": str(cpu), "memory": after}
    least, most = memory_range_gib(float(told["cpu"])) or (0.0, 0.0)
    assert memory < float(told["memory"].removesuffix("Gi")) <= most
    assert float(told["memory"].removesuffix("Gi")) >= least


def test_at_the_most_memory_there_is_fewer_requests_at_once_are_left() -> None:
    deploy = gpu_service("--concurrency=40").replace("--cpu=4 --memory=16Gi", "--cpu=8 --memory=32Gi")
    answer = ask(ENDED.format(limit=32768, used=33000), deploy=deploy)
    assert answer.causes[0].cause == "host-memory-exceeded"
    assert (answer.remedies[0].remedy, answer.remedies[0].after) == ("lower-concurrency", "20")


def test_the_limit_that_the_log_names_is_taken_where_nothing_describes_the_service() -> None:
    remedy = ask(ENDED.format(limit=512, used=520)).remedies[0]
    assert (remedy.before, remedy.after) == ("512Mi", "1Gi")


@pytest.mark.parametrize(("period", "threshold"), [(10, 30), (10, 72), (30, 40), (240, 5)])
def test_a_window_is_never_made_shorter(period: int, threshold: int) -> None:
    answer = ask(LOADING, FAILED.format(times=threshold), deploy=gpu_service(probe(period, threshold)))
    remedy = next(each for each in answer.remedies if each.remedy == "fix-probe")
    assert remedy.before == f"{period * threshold} s"
    assert period * threshold < int(str(remedy.after).rpartition("(")[2].removesuffix(" s)")) <= 1800


def test_a_window_that_is_the_longest_is_not_made_longer() -> None:
    answer = ask(LOADING, FAILED.format(times=180), deploy=gpu_service(probe(10, 180)))
    assert remedies(answer)[0] == "move-model-local"
    assert "fix-probe" in avoided(answer)


def test_without_a_gpu_a_window_ends_at_600_seconds() -> None:
    answer = ask(LOADING, FAILED.format(times=40), deploy=cpu_service(probe(10, 40), port="--port=8500"))
    assert str(answer.remedies[0].after).endswith("(600 s)")


def test_a_period_that_nobody_told_is_left_as_it_is() -> None:
    after = ask(LOADING, FAILED.format(times=20)).remedies[0].after
    assert after is not None
    assert "failureThreshold: 40 at the periodSeconds that it has" in after


def test_a_service_without_a_gpu_hears_nothing_of_gpu_cost() -> None:
    line = 'httpRequest.status=429 "The request was aborted because there was no available instance."'
    plain = ask(line, deploy=cpu_service("--max-instances=9"), metrics={INSTANCES: 2})
    assert remedies(plain)[0] == "raise-min-instances"
    assert all("GPU" not in each.risk for each in plain.remedies)
    assert "GPU" in ask(line, deploy=gpu_service("--max-instances=9"), metrics={INSTANCES: 2}).remedies[0].risk
