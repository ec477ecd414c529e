"""The way of a request into the server: port, protocol, reserved variables, timeouts."""

import pytest

from tests.support.pasted_services import GPU_COMMAND, V1, V2, changed, findings, one, silent

REST = "gcloud run deploy a --image=tensorflow/serving:2.20.0 --port=8501"
CODES = ("port-not-listening", "h2c-mismatch", "env-reserved", "timeout-order")
UPDATE = "gcloud run services update a --image=tensorflow/serving:2.20.0 --timeout=20"


@pytest.mark.parametrize("text", [GPU_COMMAND, V1, V2, REST], ids=["gcloud", "v1", "v2", "rest"])
@pytest.mark.parametrize("code", CODES)
def test_a_sound_service_has_none_of_these(text: str, code: str) -> None:
    assert silent(text, code)


def test_the_default_port() -> None:
    found = one(changed(REST, (" --port=8501", "")), "port-not-listening")
    assert "port 8080, its default" in found.message
    assert found.fix == "--port=8500 --use-http2 (gRPC) or --port=8501 (REST)"
    assert found.where.field == "--port"


def test_the_ports_of_the_servers_own_flags() -> None:
    assert silent(changed(REST, ("8501", "9000")) + " --args=--rest_api_port=9000", "port-not-listening")
    assert one(f"{REST} --args=--rest_api_port=9000", "port-not-listening").fix == "--port=8500 --use-http2 (gRPC) or --port=9000 (REST)"


def test_the_fix_of_a_document_is_yaml() -> None:
    fix = one(changed(V1, ("containerPort: 8500", "containerPort: 8080")), "port-not-listening").fix
    assert fix.startswith("ports:\n- name: h2c\n  containerPort: 8500 (gRPC)\nor\n")


def test_a_probe_on_a_port_where_nothing_listens() -> None:
    probe = "    startupProbe: {tcpSocket: {port: 8080}, periodSeconds: 5, failureThreshold: 20}\n"
    found = one(V2 + probe, "port-not-listening")
    assert "The startupProbe asks port 8080" in found.message
    assert found.fix == "use port 8500 in the startupProbe"
    assert (found.where.line, found.where.field) == (12, "template.containers[0].startupProbe.tcpSocket.port")
    assert silent(V2 + probe.replace("8080", "8501"), "port-not-listening")


def test_an_image_of_ones_own_may_listen_anywhere() -> None:
    assert silent("gcloud run deploy a --image=gcr.io/acme/a:1 --port=8080", "port-not-listening")


def test_a_container_alone_and_a_change_have_no_port_to_judge() -> None:
    assert silent("docker run -p 8500:8500 tensorflow/serving:2.20.0", "port-not-listening")
    assert silent("gcloud run services update a --image=tensorflow/serving:2.20.0", "port-not-listening")


def test_a_server_behind_a_proxy_has_no_port_of_cloud_runs() -> None:
    text = """\
template:
  containers:
  - {name: proxy, image: 'envoyproxy/envoy:v1.31.0', args: ['--concurrency', '2'], ports: [{containerPort: 8080}]}
  - {name: tfs, image: 'tensorflow/serving:2.20.0'}
"""
    assert silent(text, "port-not-listening")
    assert silent(text, "h2c-mismatch")


def test_grpc_without_http2_and_rest_with_it() -> None:
    assert one(changed(GPU_COMMAND, (" --use-http2", "")), "h2c-mismatch").fix == "--use-http2"
    assert one(f"{REST} --use-http2", "h2c-mismatch").fix == "--no-use-http2"
    assert one(changed(V1, ("name: h2c, ", "")), "h2c-mismatch").fix == "ports:\n- name: h2c\n  containerPort: 8500"
    assert one(changed(V2, ("name: h2c, containerPort: 8500", "name: h2c, containerPort: 8501")), "h2c-mismatch").where.line == 10


def test_protocols_are_not_judged_where_the_port_is_neither() -> None:
    assert silent(changed(REST, ("8501", "8080")), "h2c-mismatch")


@pytest.mark.parametrize("name", ["PORT", "K_SERVICE", "K_REVISION", "K_CONFIGURATION"])
def test_variables_that_cloud_run_sets(name: str) -> None:
    assert one(f"{REST} --set-env-vars=MODEL_NAME=a,{name}=8501", "env-reserved").where.field == "--set-env-vars"
    assert len(findings(V2.replace("MODEL_NAME", name), "env-reserved")) == 1
    assert one(None, "env-reserved", env={name: "8501"}, flags=["--port=8500"]).where.part == "env"


def test_port_is_an_ordinary_variable_elsewhere() -> None:
    assert silent("docker run -e PORT=8501 tensorflow/serving:2.20.0", "env-reserved")
    assert silent(f"{REST} --set-env-vars=REPORT=1", "env-reserved")
    assert one(f"{REST} --set-env-vars=PORT=8501", "env-reserved").fix == "take PORT out"
    wrong = f"{REST.replace('8501', '8080')} --set-env-vars=PORT=8080"
    assert one(wrong, "env-reserved").fix == ("take PORT out; the port is chosen with --port=8500 --use-http2 (gRPC) or --port=8501 (REST)")


def test_cloud_run_gives_up_before_the_server() -> None:
    found = one(f"{REST} --timeout=20", "timeout-order")
    assert found.where.field == "--timeout"
    assert found.fix == "--rest_api_timeout_in_ms=16000 among the server's arguments, or --timeout=35"
    assert findings(f"{REST} --timeout=30s", "timeout-order")
    longer = one(f"{REST} --args=--rest_api_timeout_in_ms=400000", "timeout-order")
    assert "after 300 s" in longer.message


def test_timeouts_in_the_right_order_or_of_grpc_or_unknown() -> None:
    assert silent(f"{REST} --timeout=31", "timeout-order")
    assert silent(f"{REST} --timeout=20 --args=--rest_api_timeout_in_ms=10000", "timeout-order")
    assert silent(f"{GPU_COMMAND} --timeout=20", "timeout-order")
    assert silent("gcloud run services update a --timeout=20", "timeout-order")
    assert findings(UPDATE, "timeout-order")


def test_a_port_variable_that_the_server_listens_on_is_kept_as_the_flag() -> None:
    text = changed(GPU_COMMAND, (" --port=8500 --use-http2", ""), ("MODEL_NAME=vision", "MODEL_NAME=vision,PORT=8500"))
    assert one(text, "env-reserved").fix == "take PORT out; the port is chosen with --port=8500 --use-http2"
