"""What is certain is put right, and nothing else."""

import pytest

from shared.lint.asking import ask
from shared.lint.fixing import fixed

DEPLOY = "gcloud run deploy digits --region=us-west1 --image=tensorflow/serving:2.20.0 --cpu=2 --memory=4Gi --concurrency=6 --port=8501 "


def _fixed(text: str) -> str | None:
    found = fixed(ask("file", text), text)
    return None if found is None else found.text


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (DEPLOY.replace("--concurrency=6", "--max-concurrency=6"), DEPLOY),
        (DEPLOY + "--max-retries=0", DEPLOY),
        (DEPLOY + "--max-retries 0 --timeout=60", DEPLOY + "--timeout=60"),
        (DEPLOY + "--args --rest_api_num_threads=16", DEPLOY + "--args=--rest_api_num_threads=16"),
        (
            DEPLOY + "--args=--rest_api_num_threads=16,--grpc_channel_arguments=a=1,b=2",
            DEPLOY + "--args='^;^--rest_api_num_threads=16;--grpc_channel_arguments=a=1,b=2'",
        ),
        ("--model_base_path=/m\n--enable_batching true\n", "--model_base_path=/m\n--enable_batching=true\n"),
        ("max_batch_size = 32\n", "max_batch_size { value: 32 }\n"),
        ("max_batch_size: 32  # rows\n", "max_batch_size { value: 32 }  # rows\n"),
    ],
)
def test_a_certain_mistake_is_put_right(wrong: str, right: str) -> None:
    assert _fixed(wrong) == right


@pytest.mark.parametrize(
    "text",
    [
        DEPLOY,
        DEPLOY + "--port=eight",
        "max_batch_size { value: 64 }\nallowed_batch_sizes: 32\n",
        "max_batch_size { value: 32 }\nbatch_timeout_micros { value: 5000000 }\n",
        "deploy: 'gcloud run deploy digits --max-concurrency=6'\n",
    ],
)
def test_what_is_right_or_not_certain_stays_as_it_is(text: str) -> None:
    assert _fixed(text) is None


def test_a_fixed_text_has_nothing_more_to_fix() -> None:
    once = _fixed(DEPLOY + "--max-retries=0 --args --port=8501")
    assert once is not None
    assert _fixed(once) is None


def test_the_codes_that_are_gone_are_named() -> None:
    text = "max_batch_size: 32\n"
    found = fixed(ask("file", text), text)
    assert found is not None
    assert found.codes == ("batching-wrapper-syntax",)
    assert not found.answer.has_errors
