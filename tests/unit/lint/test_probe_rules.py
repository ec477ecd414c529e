"""Probes, and the time that a start has."""

import pytest

from tests.support.pasted_services import GPU_COMMAND, V1, V2, changed, findings, one, silent

REST = "gcloud run deploy a --image=tensorflow/serving:2.20.0 --port=8501 --set-env-vars=MODEL_NAME=rank"
CODES = (
    "startup-window-too-short",
    "startup-probe-single-attempt",
    "probe-path-not-served",
    "probe-grpc-health-disabled",
    "status-probe-blind",
    "probe-liveness-tcp",
)


def v2(probes: str) -> str:
    return changed(V2, ("    env:", f"    {probes}\n    env:"))


@pytest.mark.parametrize("text", [GPU_COMMAND, V1, V2, REST], ids=["gcloud", "v1", "v2", "rest"])
@pytest.mark.parametrize("code", CODES)
def test_a_service_without_probes_has_none_of_these(text: str, code: str) -> None:
    assert silent(text, code)


def test_a_start_longer_than_the_default_window() -> None:
    found = one(GPU_COMMAND, "startup-window-too-short", start_s=410)
    assert "waits 240 s" in found.message
    assert found.fix == "--startup-probe=tcpSocket.port=8500,initialDelaySeconds=0,periodSeconds=10,timeoutSeconds=1,failureThreshold=62"
    assert findings(GPU_COMMAND, "startup-window-too-short", start_s=240)
    assert silent(GPU_COMMAND, "startup-window-too-short", start_s=239)


def test_a_start_longer_than_the_probe_waits() -> None:
    text = v2("startupProbe: {tcpSocket: {port: 8500}, initialDelaySeconds: 60, periodSeconds: 20, failureThreshold: 20}")
    found = one(text, "startup-window-too-short", start_s=790)
    assert "60 + 20 x 20 = 460 s" in found.message
    assert found.fix == "startupProbe:\n  tcpSocket:\n    port: 8500\n  periodSeconds: 10\n  timeoutSeconds: 1\n  failureThreshold: 119"
    assert silent(text, "startup-window-too-short", start_s=459)


def test_no_more_than_cloud_run_allows() -> None:
    found = one(GPU_COMMAND, "startup-window-too-short", start_s=1_900)
    assert "failureThreshold=180" in found.fix
    assert "allows 1800 s" in found.message
    assert "failureThreshold=60" in one(REST, "startup-window-too-short", start_s=500).fix


def test_a_change_without_a_probe_keeps_the_services_own() -> None:
    assert silent("gcloud run services update a --cpu=8", "startup-window-too-short", start_s=900)
    assert silent("docker run tensorflow/serving:2.20.0", "startup-window-too-short", start_s=900)
    assert findings(
        "gcloud run services update a --startup-probe=tcpSocket.port=8500,failureThreshold=3", "startup-window-too-short", start_s=900
    )


@pytest.mark.parametrize("action", ["httpGet: {path: /v1/models/vision, port: 8501}", "grpc: {port: 8500}"])
def test_one_try_over_http_or_grpc(action: str) -> None:
    text = v2(f"startupProbe: {{{action}, timeoutSeconds: 240, periodSeconds: 240, failureThreshold: 1}}")
    assert one(text, "startup-probe-single-attempt").fix.startswith("startupProbe:\n  tcpSocket:\n")
    assert silent(text.replace("failureThreshold: 1}", "failureThreshold: 2}"), "startup-probe-single-attempt")
    assert silent(text.replace(", failureThreshold: 1}", "}"), "startup-probe-single-attempt")


def test_one_try_over_tcp_waits() -> None:
    text = v2("startupProbe: {tcpSocket: {port: 8500}, timeoutSeconds: 240, periodSeconds: 240, failureThreshold: 1}")
    assert silent(text, "startup-probe-single-attempt")


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/v1/models", "/v1/models/other", "/v1/models/rank:predict", "/v1/models/rank/versions/x"]
)
def test_paths_that_tf_serving_does_not_have(path: str) -> None:
    found = one(f"{REST} --liveness-probe=httpGet.path={path},httpGet.port=8501", "probe-path-not-served")
    assert found.fix == "--liveness-probe=httpGet.path=/v1/models/rank,httpGet.port=8501,periodSeconds=30"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/models/rank",
        "/v1/models/rank/versions/3",
        "/v1/models/rank/labels/stable/metadata",
        "/V1/Models/rank",
        "/v1/models/ran%6B/metadata",
    ],
)
def test_paths_that_it_has(path: str) -> None:
    assert silent(f"{REST} --liveness-probe=httpGet.path={path},httpGet.port=8501", "probe-path-not-served")


def test_http_on_the_grpc_port() -> None:
    found = one(v2("livenessProbe: {httpGet: {path: /v1/models/vision, port: 8500}}"), "probe-path-not-served")
    assert "speaks gRPC only" in found.message


def test_the_metrics_page_is_served_where_monitoring_is_on() -> None:
    probe = f"{REST} --startup-probe=httpGet.path=/monitoring/prometheus/metrics,httpGet.port=8501,failureThreshold=9"
    assert findings(probe, "probe-path-not-served")
    assert silent(f"{probe} --args=--monitoring_config_file=/etc/monitoring.config", "probe-path-not-served")


def test_names_from_a_file_that_is_not_here_may_be_any() -> None:
    probe = f"{REST} --liveness-probe=httpGet.path=/v1/models/anything,httpGet.port=8501"
    assert findings(probe, "probe-path-not-served")
    assert silent(f"{probe} --args=--model_config_file=/models.config", "probe-path-not-served")


def test_an_image_of_ones_own_may_serve_any_path() -> None:
    assert silent(
        "gcloud run deploy a --image=gcr.io/acme/a:1 --liveness-probe=httpGet.path=/healthz,httpGet.port=8080", "probe-path-not-served"
    )


def test_grpcs_health_service_is_off_by_itself() -> None:
    probe = "startupProbe: {grpc: {port: 8500}, periodSeconds: 10, failureThreshold: 60}"
    assert "--enable_grpc_healthcheck_service=true" in one(v2(probe), "probe-grpc-health-disabled").fix
    on = changed(v2(probe), ("    ports:", "    args: [--enable_grpc_healthcheck_service=true]\n    ports:"))
    assert silent(on, "probe-grpc-health-disabled")
    assert "since 2.15" in one(changed(on, ("2.20.0-gpu", "2.14.1-gpu")), "probe-grpc-health-disabled").message
    private = changed(v2(probe), ("docker.io/tensorflow/serving:2.20.0-gpu", "gcr.io/acme/tfs:1"))
    assert silent(private, "probe-grpc-health-disabled")


def test_the_status_page_as_liveness_is_blind() -> None:
    assert one(f"{REST} --liveness-probe=httpGet.path=/v1/models/rank,httpGet.port=8501", "status-probe-blind").severity == "info"
    assert silent(f"{REST} --startup-probe=httpGet.path=/v1/models/rank,httpGet.port=8501,failureThreshold=9", "status-probe-blind")


def test_retries_of_a_load_that_outlive_the_start() -> None:
    assert one(REST, "load-retries-outlive-probe").fix == "--max_num_load_retries=0 among the server's arguments"
    assert silent(f"{REST} --args=--max_num_load_retries=0", "load-retries-outlive-probe")
    assert silent(f"{REST} --startup-probe=tcpSocket.port=8501,periodSeconds=10,failureThreshold=60", "load-retries-outlive-probe")
    assert silent("gcloud run deploy a --image=gcr.io/acme/a:1", "load-retries-outlive-probe")


def test_tcp_is_for_the_start_only() -> None:
    found = one(v2("livenessProbe: {tcpSocket: {port: 8500}, periodSeconds: 60}"), "probe-liveness-tcp")
    assert found.where.field == "template.containers[0].livenessProbe.tcpSocket"
    assert found.fix.startswith("livenessProbe:\n  grpc:\n    port: 8500\n")
    assert findings(v2("readinessProbe: {tcpSocket: {port: 8500}}"), "probe-liveness-tcp")
    assert silent(v2("startupProbe: {tcpSocket: {port: 8500}}"), "probe-liveness-tcp")


def test_gclouds_refusal_of_a_tcp_liveness_probe_is_the_same_mistake() -> None:
    text = f"{REST} --liveness-probe=tcpSocket.port=8501"
    assert one(text, "probe-liveness-tcp").where.field == "--liveness-probe"
    assert silent(text, "gcloud-value-invalid")
    assert findings(f"{REST} --liveness-probe=tcp.prt=8501", "gcloud-value-invalid")
    for written in (
        "tcp.port=8501",
        "tcpSocket=8501",
        "tcpSocket.port=abc",
        "tcpSocket.port=8501,foo=3",
        "periodSeconds=3,tcpSocket.port=1",
    ):
        assert one(f"{REST} --liveness-probe={written}", "probe-liveness-tcp").where.field == "--liveness-probe"


def test_a_start_up_probe_that_does_not_say_how_long_it_waits_gets_the_default_window() -> None:
    found = one(f"{REST} --startup-probe=httpGet.path=/healthz", "probe-path-not-served")
    assert found.fix.endswith("periodSeconds=10,timeoutSeconds=1,failureThreshold=24")
    stated = one(f"{REST} --startup-probe=httpGet.path=/healthz,periodSeconds=5,failureThreshold=12", "probe-path-not-served")
    assert stated.fix.endswith("failureThreshold=6")


def test_retries_that_outlive_the_probe_are_said_once() -> None:
    found = one(f"{REST}\ngcloud run services update a --cpu=4", "load-retries-outlive-probe")
    assert found.fix == "--max_num_load_retries=0 among the server's arguments"
