"""What a `docker run` line says about its container."""

import shlex

import pytest

from shared.cloudrun.docker_reading import DockerRun, read_docker
from shared.cloudrun.gcloud_reading import read_commands


def read(line: str) -> DockerRun:
    words = shlex.split(line)
    found = read_docker(words, [1] * len(words))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "options",
    [
        "",
        "-d",
        "-it --rm",
        "-dp 8500:8500",
        "-p8500:8500",
        "--publish=8500:8500",
        "--name tfs --gpus all",
        "--mount type=bind,source=/a,target=/models/m -t",
        "--read-only --init",
    ],
)
def test_the_image_is_the_first_word_that_no_option_takes(options: str) -> None:
    found = read(f"docker run {options} tensorflow/serving:2.20.0 --port=8500 x")
    assert found.image == ("tensorflow/serving:2.20.0", "docker run", 1)
    assert [text for text, _, _ in found.args] == ["--port=8500", "x"]


@pytest.mark.parametrize(
    "program", ["docker run", "docker container run", "docker --context far run", "podman --remote run", "docker -D run"]
)
def test_the_program_may_have_options_of_its_own(program: str) -> None:
    assert read(f"{program} img").image == ("img", "docker run", 1)


@pytest.mark.parametrize("line", ["docker ps", "docker build -t x .", "docker", "docker compose up", "docker exec x run"])
def test_another_command_starts_no_container(line: str) -> None:
    words = shlex.split(line)
    assert read_docker(words, [1] * len(words)) is None


@pytest.mark.parametrize("option", ["-e A=1", "-eA=1", "--env A=1", "--env=A=1"])
def test_a_variable(option: str) -> None:
    assert [text for text, _, _ in read(f"docker run {option} img").env] == ["A=1"]


def test_an_entry_point_is_not_the_image() -> None:
    found = read("docker run --entrypoint /bin/sh img -c 'a b'")
    assert found.entrypoint == ("/bin/sh", "--entrypoint", 1)
    assert [text for text, _, _ in found.args] == ["-c", "a b"]


def test_a_line_that_ends_in_an_option_has_no_image() -> None:
    assert read("docker run --name").image is None


def test_nvidia_docker_is_docker() -> None:
    found = read_commands("nvidia-docker run -it --rm -p 8500:8500 tensorflow/serving:latest-gpu --model_name=m")
    assert found is not None
    assert found.service["template"]["containers"][0] == {"image": "tensorflow/serving:latest-gpu", "args": ["--model_name=m"]}
