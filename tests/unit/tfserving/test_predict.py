"""What counts as a prediction."""

import re

import pytest

from shared.tfserving.predict import is_prediction, predict_path


def test_the_path_is_tf_servings_own() -> None:
    assert predict_path("ranker") == "/v1/models/ranker:predict"


@pytest.mark.parametrize("body", ['{"predictions": [[0.5]]}', '{"outputs": {"score": 1}}', '{"predictions": []}'])
def test_an_answer_with_predictions_or_outputs_is_one(body: str) -> None:
    assert is_prediction(200, body)[0]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (400, '{"error": "Could not find variable dense/kernel."}', "HTTP 400: .*Could not find variable"),
        (503, "upstream connect error", "HTTP 503"),
        (200, "<html>welcome</html>", "no JSON"),
        (200, '{"status": "fine"}', "no prediction in it"),
        (200, '["predictions"]', "no prediction in it"),
        (200, "", "no JSON"),
    ],
)
def test_anything_else_is_none_and_says_what_came(status: int, body: str, said: str) -> None:
    ok, detail = is_prediction(status, body)
    assert not ok
    assert re.search(said, detail)


def test_a_long_answer_is_cut() -> None:
    assert len(is_prediction(500, "x" * 100_000)[1]) < 400
