"""Which flags a container gives the server."""

from shared.lint.server_command import server_command
from shared.tfserving.command import COMMAND

ENTRY = ["--port=8500", "--rest_api_port=8501", "--model_name=model", "--model_base_path=/models/model"]


def _flags(command: list[str], args: list[str], env: dict[str, str] | None = None) -> list[str] | None:
    found = server_command(command, args, env or {})
    return None if found is None else [argument.text for argument in found.arguments]


def test_the_entry_point_puts_its_four_flags_first() -> None:
    assert _flags([], ["--enable_batching"]) == [*ENTRY, "--enable_batching"]


def test_the_entry_point_reads_the_model_from_the_environment() -> None:
    found = _flags([], [], {"MODEL_NAME": "rank", "MODEL_BASE_PATH": "gs://acme"})
    assert found is not None
    assert found[2:] == ["--model_name=rank", "--model_base_path=gs://acme/rank"]


def test_the_bare_server_has_its_own_flags_only() -> None:
    assert _flags(["/usr/bin/tensorflow_model_server", "--port=1"], ["--model_name=m"]) == ["--port=1", "--model_name=m"]


def test_a_script_that_passes_its_arguments_on() -> None:
    assert _flags(["/bin/sh", "-c", 'exec tensorflow_model_server --port=1 "$@"', "sh"], ["--model_name=m"]) == [
        "--port=1",
        "--model_name=m",
    ]


def test_trimtabs_own_script_passes_all_arguments_on() -> None:
    assert _flags(list(COMMAND), ["--port=8500", "--enable_batching=true"]) == ["--port=8500", "--enable_batching=true"]


def test_a_script_that_names_variables() -> None:
    script = "tensorflow_model_server --model_name=${NAME} \\\n  --rest_api_port=$PORT && echo done"
    assert _flags(["bash", "-c", script], [], {"NAME": "m"}) == ["--model_name=m", "--rest_api_port=$PORT"]


def test_a_script_given_as_the_argument() -> None:
    assert _flags(["/bin/bash"], ["-c", "tensorflow_model_server --port=1"]) == ["--port=1"]


def test_an_own_program_is_not_known() -> None:
    assert _flags(["/app/start.sh"], ["--port=1"]) is None
    assert _flags(["sh", "-c", "python serve.py"], []) is None
    assert _flags(["sh", "-c", "tensorflow_model_server 'unbalanced"], []) is None


def test_a_reference_is_the_variables_value() -> None:
    assert _flags(["tensorflow_model_server"], ["--model_name=$(NAME)", "--port=$(NONE)"], {"NAME": "m"}) == [
        "--model_name=m",
        "--port=$(NONE)",
    ]
