"""What the simulated Cloud Run fills in, so that what is read back is more than what was written."""

from typing import Any

from google.cloud import run_v2

from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_defaults import with_defaults
from shared.simulation.cloud_run_json import to_json
from tests.support.simulated_service import PARENT, StandingClock, gpu_service

IMAGE = "tensorflow/serving:2.19.0"


def filled(template: dict[str, Any]) -> dict[str, Any]:
    written: dict[str, Any] = to_json(with_defaults(run_v2.Service(template=template)))["template"]
    return written


def test_a_bare_container_gets_a_port_limits_and_a_probe() -> None:
    assert filled({"containers": [{"image": IMAGE}]}) == {
        "timeout": "300s",
        "maxInstanceRequestConcurrency": 80,
        "containers": [
            {
                "image": IMAGE,
                "ports": [{"name": "http1", "containerPort": 8080}],
                "resources": {"limits": {"cpu": "1000m", "memory": "512Mi"}, "cpuIdle": True},
                "startupProbe": {"tcpSocket": {"port": 8080}, "timeoutSeconds": 240, "periodSeconds": 240, "failureThreshold": 1},
            }
        ],
    }


def test_resources_that_are_there_do_not_get_cpu_only_during_requests() -> None:
    (container,) = filled({"containers": [{"image": IMAGE, "resources": {"limits": {"cpu": "2"}}}]})["containers"]
    assert container["resources"] == {"limits": {"cpu": "2", "memory": "512Mi"}}


def test_below_one_cpu_an_instance_takes_one_request_at_a_time() -> None:
    assert filled({"containers": [{"image": IMAGE, "resources": {"limits": {"cpu": "500m"}}}]})["maxInstanceRequestConcurrency"] == 1


def test_for_the_concurrency_the_cpus_of_all_containers_count() -> None:
    serving = {"name": "tfs", "image": IMAGE, "ports": [{"container_port": 8501}], "resources": {"limits": {"cpu": "500m"}}}
    sidecar = {"name": "collector", "image": "otel", "resources": {"limits": {"cpu": "500m"}}}
    assert filled({"containers": [serving, sidecar]})["maxInstanceRequestConcurrency"] == 80


def test_a_probe_gets_its_numbers() -> None:
    template = {"containers": [{"image": IMAGE, "startup_probe": {"tcp_socket": {"port": 8501}}}]}
    assert filled(template)["containers"][0]["startupProbe"] == {
        "tcpSocket": {"port": 8501},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "failureThreshold": 3,
    }


def test_with_health_checks_off_no_probe_is_added() -> None:
    assert "startupProbe" not in filled({"health_check_disabled": True, "containers": [{"image": IMAGE}]})["containers"][0]


def test_a_sidecar_gets_limits_and_neither_port_nor_probe() -> None:
    serving = {"name": "tfs", "image": IMAGE, "ports": [{"container_port": 8501}]}
    sidecar = filled({"containers": [{"name": "collector", "image": "otel"}, serving]})["containers"][0]
    assert set(sidecar) == {"name", "image", "resources"}


def test_a_service_gets_ingress_stage_and_traffic() -> None:
    service = to_json(with_defaults(run_v2.Service()))
    assert service["ingress"] == "INGRESS_TRAFFIC_ALL"
    assert service["launchStage"] == "GA"
    assert service["traffic"] == [{"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST", "percent": 100}]


def test_filling_in_again_changes_nothing() -> None:
    once = with_defaults(gpu_service())
    # Not by their bytes: a map has no order in them.
    assert run_v2.Service.pb(with_defaults(once)) == run_v2.Service.pb(once)


def test_writing_again_what_was_written_first_makes_no_revision() -> None:
    cloud_run = SimulatedCloudRun(now=StandingClock().now)
    service = run_v2.Service(template={"containers": [{"image": IMAGE}]})
    cloud_run.create_service(PARENT, "ranker", service, settled=True)
    service.name = f"{PARENT}/services/ranker"
    cloud_run.update_service(service)
    assert cloud_run.get_service(service.name).generation == 1
    assert len(cloud_run.list_revisions(service.name)) == 1


def test_validating_alone_shows_the_defaults() -> None:
    cloud_run = SimulatedCloudRun(now=StandingClock().now)
    service = run_v2.Service(template={"containers": [{"image": IMAGE}]})
    answer = cloud_run.create_service(PARENT, "ranker", service, validate_only=True)
    assert answer.service.template.max_instance_request_concurrency == 80
