"""Models and versions: what the listing lacks goes before the error that it causes."""

import pytest

from tests.unit.diagnose.questions import INSTANCES, ask, avoided, batching, confidence, first, remedies, served

WHOLE = (
    ("gs://acme/tag/3/saved_model.pb", 9000),
    ("gs://acme/tag/3/variables/variables.index", 400),
    ("gs://acme/tag/3/variables/variables.data-00000-of-00001", 70_000_000),
)
SHORT = (
    *WHOLE,
    ("gs://acme/tag/4/saved_model.pb", 9000),
    ("gs://acme/tag/4/variables/variables.index", 400),
    ("gs://acme/tag/4/variables/variables.data-00000-of-00001", 20_000_000),
)
FULL = (*SHORT[:-1], ("gs://acme/tag/4/variables/variables.data-00000-of-00001", 70_000_100))
FAILED = "Loading servable: {name: tag version: 4} failed: OUT_OF_RANGE: Read less bytes than requested"
GAVE_UP = "Retrying of Loading servable: {name: tag version: 4} exhausted max_num_retries: 5"


def test_a_copy_that_still_runs_is_waited_for_while_the_old_version_serves() -> None:
    answer = ask(FAILED, objects=SHORT, metrics={served("OK"): 80})
    assert answer.causes[0].cause == "partial-upload"
    assert any("20000000 bytes" in sentence for sentence in answer.causes[0].evidence)
    assert remedies(answer) == ["wait", "republish-version"]
    assert "pin-or-roll-back" in avoided(answer)


def test_a_version_loaded_without_variables_is_published_again() -> None:
    answer = ask(
        "client: FAILED_PRECONDITION: Could not find variable dense/kernel. This could mean that the variable has been deleted.",
        objects=(*WHOLE, ("gs://acme/tag/4/saved_model.pb", 9000)),
    )
    assert answer.causes[0].cause == "partial-upload"
    assert remedies(answer) == ["republish-version", "pin-or-roll-back"]
    assert "wait" in avoided(answer)


@pytest.mark.parametrize(
    "text",
    [
        "Attempting to use uninitialized value dense/bias",
        "Error while reading resource variable conv/kernel from Container: localhost. This could mean that the variable was uninitialized.",
        "DATA_LOSS: not an sstable (bad magic number)",
        "NOT_FOUND: /models/tag/4/variables/variables.data-00000-of-00001; No such file or directory",
    ],
)
def test_texts_of_half_a_version(text: str) -> None:
    assert first(text) == "partial-upload"


def test_a_version_given_up_is_not_tried_again_by_that_process() -> None:
    answer = ask(
        "Loading servable: {name: tag version: 4} failed: UNAVAILABLE: Error executing an HTTP request: HTTP response code 503",
        GAVE_UP,
        objects=FULL,
        metrics={served("OK"): 60},
    )
    assert answer.causes[0].cause == "version-load-gave-up"
    assert remedies(answer) == ["deploy-new-revision", "republish-version"]
    assert "wait" in avoided(answer)


def test_the_same_line_before_the_server_ends_is_a_failed_start() -> None:
    answer = ask(GAVE_UP, "Failed to start server. Error: UNKNOWN: 1 servable(s) did not become available: {{name: tag version: 4} x, }")
    assert answer.causes[0].cause == "model-load-failed"
    assert confidence(answer, "version-load-gave-up") == 0


def test_a_version_given_up_for_lack_of_files_is_half_an_upload() -> None:
    assert first(FAILED, GAVE_UP, objects=SHORT, metrics={served("OK"): 60}) == "partial-upload"


def test_end_with_ok_is_an_unloaded_version() -> None:
    answer = ask(
        "POST /v1/models/tag:predict -> 404 Servable not found for request: Latest(tag)",
        '{"version": "3", "state": "END", "status": {"error_code": "OK", "error_message": ""}}',
        models='model_config_list { config { name: "tag" base_path: "gs://acme/tag" model_platform: "tensorflow" '
        "model_version_policy { specific { versions: 3 } } } }",
        objects=FULL[3:],
    )
    assert answer.causes[0].cause == "version-unloaded"
    assert (answer.remedies[0].remedy, answer.remedies[0].after) == ("fix-server-config", "specific { versions: 4 }")


def test_end_with_an_error_is_a_failed_load() -> None:
    answer = ask('{"version": "4", "state": "END", "status": {"error_code": "UNKNOWN", "error_message": "x"}}')
    assert answer.causes[0].cause == "model-load-failed"


def test_a_reload_without_polling_never_returns() -> None:
    answer = ask("client: HandleReloadConfigRequest -> DEADLINE_EXCEEDED after 300 s", flags=["--file_system_poll_wait_seconds=0"])
    assert answer.causes[0].cause == "reload-not-effective"
    assert remedies(answer) == ["deploy-new-revision", "fix-server-config"]
    assert "raise-request-timeout" in avoided(answer)


def test_a_reload_reaches_one_instance_of_many() -> None:
    answer = ask("client: HandleReloadConfigRequest -> OK", "some instances still serve the old version", metrics={INSTANCES: 6})
    assert answer.causes[0].cause == "reload-not-effective"


def test_a_version_written_in_place_is_not_read_again() -> None:
    answer = ask("gcloud storage cp -r export/* gs://acme/tag/3/", "predictions unchanged after an hour")
    assert answer.causes[0].cause == "reload-not-effective"
    assert remedies(answer) == ["republish-version", "deploy-new-revision"]


@pytest.mark.parametrize(
    "text",
    [
        "Batching session Run() input tensors must have equal 0th-dimension size",
        "Batched output tensor has 0 dimensions",
        "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of the input tensors",
    ],
)
def test_a_model_without_a_batch_dimension(text: str) -> None:
    answer = ask(text)
    assert answer.causes[0].cause == "model-not-batchable"
    assert remedies(answer) == ["fix-signature", "disable-batching"]


def test_more_rows_than_a_batch_are_cut_not_scaled() -> None:
    answer = ask('{"error": "Task size 96 is larger than maximum input batch size 64"}', batching=batching(64), rows_per_request=96)
    assert answer.causes[0].cause == "request-rows-over-limit"
    assert remedies(answer) == ["enable-batch-splitting", "shrink-client-request"]
    assert "raise-max-instances" in avoided(answer)


def spikes(inside: float) -> dict[str, float | None]:
    """Slow requests before, while and after a version loads."""
    latencies = {"09:13": 41.0, "09:16": inside, "09:20": 43.0}
    return {f"run.googleapis.com/request_latencies p99{{minute={at}}} [ms]": value for at, value in latencies.items()}


LOAD = ("09:15:02 Loading servable: {name: b version: 4}", "09:17:40 Successfully loaded servable version {name: b version: 4}")


def test_latency_that_rises_with_a_load_and_falls_after_it() -> None:
    answer = ask(*LOAD, metrics=spikes(180))
    assert answer.causes[0].cause == "load-interference"
    assert remedies(answer) == ["deploy-new-revision", "add-warmup"]


def test_latency_that_does_not_rise_with_a_load() -> None:
    assert confidence(ask(*LOAD, metrics=spikes(50)), "load-interference") == 0
