"""Asking a revision over HTTP: the real prober against the simulated Cloud Run's addresses."""

import pytest
from google.auth import exceptions as auth

from shared.gcp.prober import HttpProber
from shared.local.cloud_run_rest import CloudRunRest
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_behaviour import Outcome
from tests.support.desired import desired, rendered
from tests.support.simulated_service import PARENT, RANKER, StandingClock

GOLDEN = {"instances": [[1.0], [2.0]]}


def cloud_run(protocol: str = "rest") -> SimulatedCloudRun:
    made = SimulatedCloudRun(now=StandingClock().now)
    made.set_gpu_quota(RANKER.project, RANKER.region, 8)
    made.create_service(PARENT, RANKER.name, rendered(desired(protocol=protocol)), settled=True)
    return made


def test_a_model_that_answers_is_told_so() -> None:
    world = cloud_run()
    with CloudRunRest(world):
        probe = HttpProber().predict(world.get_service(RANKER.resource_name).uri, model="ranker", body=GOLDEN)
    assert (probe.ok, probe.detail) == (True, "a prediction")


def test_a_model_that_cannot_predict_is_told_in_its_own_words() -> None:
    world = cloud_run()
    world.set_start_up(RANKER.resource_name, outcome=Outcome.FAILS_TO_PREDICT)
    with CloudRunRest(world):
        probe = HttpProber().predict(world.get_service(RANKER.resource_name).uri, model="ranker", body=GOLDEN)
    assert not probe.ok
    assert "Could not find variable" in probe.detail


def test_nobody_at_the_address_is_no_answer() -> None:
    probe = HttpProber(timeout_seconds=1).predict("http://127.0.0.1:1/urls/p/r/s", model="ranker", body=GOLDEN)
    assert not probe.ok
    assert probe.detail.startswith("no answer")


@pytest.mark.parametrize("uri", ["http://ranker.example.com", "ftp://127.0.0.1/x", "", "file:///etc/passwd"])
def test_an_address_without_tls_is_not_asked(uri: str) -> None:
    probe = HttpProber().predict(uri, model="ranker", body=GOLDEN)
    assert not probe.ok
    assert "want https" in probe.detail


def test_missing_credentials_are_told_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise auth.DefaultCredentialsError("none here")  # type: ignore[no-untyped-call]

    monkeypatch.setattr("google.oauth2.id_token.fetch_id_token", fail)
    probe = HttpProber().predict("https://ranker.example.com", model="ranker", body=GOLDEN)
    assert not probe.ok
    assert "none here" in probe.detail
