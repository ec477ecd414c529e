"""What the simulated Cloud Run answers at the address of a service and of its tags."""

import json
from typing import Any

import pytest
from google.cloud import run_v2

from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_behaviour import Behaviour, Outcome, environment_of
from shared.simulation.cloud_run_serving import Reply
from tests.support.simulated_service import PARENT, RANKER, StandingClock

NAME = RANKER.resource_name
REVISION = run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION
CONFIG = 'model_config_list { config { name: "ranker" base_path: "gs://m/ranker" model_version_policy { specific { versions: %s } } } }'


def outcome_of_version(template: run_v2.RevisionTemplate) -> Behaviour:
    broken = "versions: 2" in environment_of(template).get("TRIMTAB_MODEL_CONFIG", "")
    return Behaviour(Outcome.FAILS_TO_PREDICT if broken else Outcome.OK)


def template(version: int, *, port: str = "http1") -> run_v2.RevisionTemplate:
    return run_v2.RevisionTemplate(
        revision=f"ranker-v{version}",
        containers=[
            {
                "name": "tfs",
                "image": "tensorflow/serving:2.19.0",
                "env": [{"name": "TRIMTAB_MODEL_CONFIG", "value": CONFIG % version}],
                "ports": [{"name": port, "container_port": 8501}],
            }
        ],
    )


def pinned(*targets: tuple[str, int, str]) -> list[run_v2.TrafficTarget]:
    return [run_v2.TrafficTarget(type_=REVISION, revision=name, percent=percent, tag=tag) for name, percent, tag in targets]


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def cloud_run(clock: StandingClock) -> SimulatedCloudRun:
    """Version 1 serves everything and version 2, whose variables are missing, has the tag `candidate`."""
    made = SimulatedCloudRun(now=clock.now, behaviour=outcome_of_version)
    made.create_service(PARENT, "ranker", run_v2.Service(template=template(1), traffic=pinned(("ranker-v1", 100, ""))), settled=True)
    roll_out(made, template(2), ("ranker-v1", 100, ""), ("ranker-v2", 0, "candidate"))
    clock.pass_seconds(60)
    return made


def roll_out(cloud_run: SimulatedCloudRun, wanted: run_v2.RevisionTemplate, *targets: tuple[str, int, str]) -> None:
    def edit(service: run_v2.Service) -> None:
        service.template, service.traffic = wanted, pinned(*targets)

    cloud_run.change_by(NAME, "sam@example.com", edit=edit)


def predict(cloud_run: SimulatedCloudRun, *, tag: str = "", model: str = "ranker", body: Any = None) -> Reply:
    text = json.dumps({"instances": [1.0, 2.0]} if body is None else body)
    return cloud_run.request(NAME, tag=tag, method="POST", path=f"/v1/models/{model}:predict", body=text)


def test_every_instance_gets_a_prediction_and_the_same_one_each_time(cloud_run: SimulatedCloudRun) -> None:
    reply = predict(cloud_run)
    predictions = json.loads(reply.body)["predictions"]
    assert (reply.status, len(predictions)) == (200, 2)
    assert all(0 <= each <= 1 for each in predictions)
    assert predict(cloud_run).body == reply.body


def test_columns_get_outputs(cloud_run: SimulatedCloudRun) -> None:
    assert len(json.loads(predict(cloud_run, body={"inputs": {"x": [1, 2, 3]}}).body)["outputs"]) == 3


def test_a_model_without_its_variables_starts_and_fails_to_predict(cloud_run: SimulatedCloudRun) -> None:
    revision = cloud_run.get_revision(f"{NAME}/revisions/ranker-v2")
    assert next(each for each in revision.conditions if each.type_ == "Ready").state == run_v2.Condition.State.CONDITION_SUCCEEDED
    reply = predict(cloud_run, tag="candidate")
    assert reply.status == 400
    assert json.loads(reply.body)["error"].startswith("Could not find variable ")


def test_the_status_of_a_model_is_that_of_tf_serving(cloud_run: SimulatedCloudRun) -> None:
    reply = cloud_run.request(NAME, tag="candidate", method="GET", path="/v1/models/ranker")
    assert json.loads(reply.body) == {
        "model_version_status": [{"version": "2", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}]
    }


@pytest.mark.parametrize(
    ("method", "path", "status", "text"),
    [
        ("GET", "/v1/models/other", 404, "Could not find any versions of model other"),
        ("GET", "/v1/models/ranker/versions/7", 404, "Could not find version 7 of model ranker"),
        ("POST", "/v1/models/other:predict", 404, "Servable not found for request: Latest(other)"),
        ("POST", "/v1/models/ranker/versions/7:predict", 404, "Servable not found for request: Specific(ranker, 7)"),
        ("POST", "/v1/nothing", 400, "Malformed request: POST /v1/nothing"),
        ("GET", "/v1/models/ranker:predict", 400, "Malformed request: GET /v1/models/ranker:predict"),
        ("GET", "/healthz", 404, "Not Found"),
        ("POST", "/v1/models/ranker:predict", 400, "JSON Parse error"),
    ],
)
def test_what_tf_serving_does_not_know(cloud_run: SimulatedCloudRun, method: str, path: str, status: int, text: str) -> None:
    reply = cloud_run.request(NAME, method=method, path=path)
    assert reply.status == status
    assert text in reply.body


def test_a_predict_without_instances_says_what_is_missing(cloud_run: SimulatedCloudRun) -> None:
    reply = predict(cloud_run, body={"rows": []})
    assert (reply.status, json.loads(reply.body)) == (400, {"error": "Missing 'inputs' or 'instances' key"})


def test_an_unknown_tag_is_no_address(cloud_run: SimulatedCloudRun) -> None:
    assert predict(cloud_run, tag="nothing").status == 404


def test_a_service_that_is_not_there_is_no_address(cloud_run: SimulatedCloudRun) -> None:
    assert cloud_run.request(f"{PARENT}/services/nobody", method="GET", path="/v1/models/m").status == 404


def test_a_tag_whose_revision_is_not_ready_is_unavailable(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    cloud_run.set_start_up(NAME, outcome=Outcome.DOES_NOT_LOAD)
    roll_out(cloud_run, template(3), ("ranker-v1", 100, ""), ("ranker-v3", 0, "next"))
    clock.pass_seconds(10)
    assert predict(cloud_run, tag="next").status == 503
    clock.pass_seconds(240)
    assert predict(cloud_run, tag="next").status == 503


def test_the_traffic_decides_who_answers_the_services_own_address(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    roll_out(cloud_run, template(2), ("ranker-v1", 75, ""), ("ranker-v2", 25, ""))
    clock.pass_seconds(60)
    answers = [predict(cloud_run).status for _ in range(100)]
    assert (answers.count(200), answers.count(400)) == (75, 25)


def test_a_grpc_port_breaks_the_connection_of_an_http_1_client(cloud_run: SimulatedCloudRun, clock: StandingClock) -> None:
    roll_out(cloud_run, template(3, port="h2c"), ("ranker-v1", 100, ""), ("ranker-v3", 0, "grpc"))
    clock.pass_seconds(60)
    reply = predict(cloud_run, tag="grpc")
    assert reply.status == 503
    assert "connection to the instance had an error" in reply.body


def test_a_template_that_names_no_model_serves_any(clock: StandingClock) -> None:
    cloud_run = SimulatedCloudRun(now=clock.now)
    service = run_v2.Service(template={"containers": [{"image": "tensorflow/serving:2.19.0"}]})
    cloud_run.create_service(PARENT, "ranker", service, settled=True)
    assert predict(cloud_run, model="anything").status == 200


def test_the_flag_names_the_model_too(clock: StandingClock) -> None:
    cloud_run = SimulatedCloudRun(now=clock.now)
    service = run_v2.Service(template={"containers": [{"image": "tensorflow/serving:2.19.0", "args": ["--model_name=ranker"]}]})
    cloud_run.create_service(PARENT, "ranker", service, settled=True)
    assert predict(cloud_run).status == 200
    assert predict(cloud_run, model="other").status == 404
