"""Flags of tensorflow_model_server that stop it, mean nothing, or do not fit the concurrency."""

from collections.abc import Sequence
from typing import Any

import pytest

from shared.cloudrun.described import Form
from shared.lint.deployment import Deployment
from shared.lint.flag_rules import (
    RULES,
    batching_off_rules,
    batching_switch_rules,
    conflict_rules,
    grpc_thread_rules,
    memory_fraction_rules,
    model_source_rules,
    rest_thread_rules,
)
from shared.lint.flag_spelling import invalid_flag_rules
from shared.lint.polling_rules import poll_costly_rules, poll_wait_rules
from shared.lint.served_batching import per_model_rules
from tests.support.lint_deployments import codes, deployed, found, service

BATCHING = "max_batch_size { value: 16 }\nbatch_timeout_micros { value: 1000 }\nnum_batch_threads { value: 1 }"
ON = ("--enable_batching=true", "--batching_parameters_file=/b.txt")
LISTED = ("--port=8500", "--rest_api_port=8501", "--model_name=m", "--model_base_path=/models/m")
PRIVATE = "europe-west1-docker.pkg.dev/acme/serving/tfs:3.1.0"


def listed(*flags: str, **rest: Any) -> Deployment:
    return deployed(flags=[*LISTED, *flags], **rest)


def gpu(*args: str, **container: Any) -> Deployment:
    return deployed(service(args=args or None, **container))


# --- Batching switched on ----------------------------------------------------------------------------------------------------------


def test_a_batching_file_without_the_switch_stops_the_start() -> None:
    (finding,) = found(batching_switch_rules, listed("--batching_parameters_file=/etc/batching.txt", batching=BATCHING))
    assert finding.code == "batching-not-enabled"
    assert "refuses to start" in finding.message
    assert finding.fix == "--enable_batching=true --batching_parameters_file=/etc/batching.txt"
    assert (finding.where.part, finding.where.line) == ("flags", 5)


def test_a_batching_file_that_no_flag_passes_has_no_effect() -> None:
    (finding,) = found(batching_switch_rules, deployed(service(args=["--enable_batching=true"], gpu=False), batching=BATCHING))
    assert "no effect" in finding.message


def test_a_batching_file_without_any_flag_has_no_effect() -> None:
    (finding,) = found(batching_switch_rules, deployed(service(), batching=BATCHING))
    assert "batching is off" in finding.message


@pytest.mark.parametrize(
    "deployment",
    [
        listed(*ON, batching=BATCHING),
        listed("--enable_batching", "--batching_parameters_file=/b.txt", batching=BATCHING),
        deployed(batching=BATCHING),
        deployed(service(args=["--concurrency=48"], image=PRIVATE), batching=BATCHING, complete=False),
        listed("--enable_batching", "--enable_per_model_batching_parameters", batching=BATCHING),
    ],
    ids=["both", "bare", "no flags known", "an update", "the version's own file"],
)
def test_a_file_that_is_passed_or_of_which_nothing_is_known_is_fine(deployment: Deployment) -> None:
    assert found(batching_switch_rules, deployment) == []


def test_a_switch_with_a_value_after_a_space_is_on() -> None:
    deployment = listed("--enable_batching", "true", "--batching_parameters_file=/b.txt", batching=BATCHING)
    assert codes(RULES, deployment) == ["server-flag-invalid"]


def test_a_switch_spelt_wrong_is_one_mistake() -> None:
    deployment = listed("--enable-batching=true", "--batching_parameters_file=/b.txt", batching=BATCHING)
    (finding,) = [each for rule in RULES for each in rule(deployment)]
    assert finding.code == "server-flag-invalid"
    assert finding.fix == "--enable_batching=true"


# --- Batching off on a GPU ---------------------------------------------------------------------------------------------------------


def test_a_gpu_service_without_batching_runs_requests_one_by_one() -> None:
    (finding,) = found(batching_off_rules, gpu(concurrency=80))
    assert finding.code == "batching-off-on-gpu"
    assert finding.fix == "--enable_batching=true --batching_parameters_file=/etc/batching.txt"


def test_batching_switched_off_by_name_is_off() -> None:
    assert codes([batching_off_rules], gpu("--enable_batching=false", concurrency=80)) == ["batching-off-on-gpu"]


@pytest.mark.parametrize(
    "deployment",
    [
        gpu("--enable_batching=true"),
        gpu(concurrency=1),
        gpu(gpu=False),
        deployed(service(concurrency=80), rows_per_request=8),
        deployed(service(concurrency=80), batching=BATCHING),
        deployed(service(concurrency=80), complete=False),
        deployed(service(image=PRIVATE, concurrency=80)),
        gpu("--batching_parameters_file=/b.txt"),
        gpu("--platform_config_file=/p.txt"),
    ],
    ids=["on", "one request", "no gpu", "eight rows", "a file", "an update", "unknown image", "switch forgotten", "platform file"],
)
def test_batching_off_is_no_finding_where_it_is_on_useless_or_not_known(deployment: Deployment) -> None:
    assert found(batching_off_rules, deployment) == []


def test_seven_rows_do_not_fill_a_gpu() -> None:
    assert codes([batching_off_rules], deployed(service(concurrency=80), rows_per_request=7)) == ["batching-off-on-gpu"]


# --- Per-model batching ------------------------------------------------------------------------------------------------------------

PER_MODEL = "--enable_per_model_batching_parameters=true"


def test_per_model_batching_needs_the_switch() -> None:
    (finding,) = found(per_model_rules, listed(PER_MODEL))
    assert finding.code == "per-model-batching-incomplete"
    assert finding.fix == "--enable_batching=true --enable_per_model_batching_parameters=true"


def test_a_version_without_its_own_file_is_not_batched() -> None:
    objects = ["/models/m/7/saved_model.pb", "/models/m/7/assets.extra/batching_params.pbtxt"]
    (finding,) = found(per_model_rules, listed("--enable_batching=true", PER_MODEL, objects=objects))
    assert "/models/m/7 has no batching_params.pbtxt" in finding.message
    assert finding.where.part == "objects"


def test_only_the_versions_that_are_served_need_the_file() -> None:
    objects = ["/models/m/7/saved_model.pb", "/models/m/8/saved_model.pb", "/models/m/8/batching_params.pbtxt"]
    assert found(per_model_rules, listed("--enable_batching=true", PER_MODEL, objects=objects)) == []
    pinned = (
        'model_config_list { config { name: "m" base_path: "/models/m" model_platform: "tensorflow" '
        "model_version_policy { specific { versions: 7 } } } }"
    )
    flags = ["--enable_batching", PER_MODEL, "--model_config_file=/m.config"]
    assert codes([per_model_rules], deployed(flags=flags, models=pinned, objects=objects)) == ["per-model-batching-incomplete"]


def test_numbers_of_the_common_file_that_nobody_reads_are_named() -> None:
    (finding,) = found(per_model_rules, listed(*ON, PER_MODEL, batching=BATCHING))
    assert "max_batch_size, batch_timeout_micros are ignored" in finding.message
    assert finding.where.line == 1


def test_a_common_file_with_threads_alone_is_right() -> None:
    assert found(per_model_rules, listed(*ON, PER_MODEL, batching="num_batch_threads { value: 2 }")) == []


def test_without_the_flag_the_common_file_is_the_only_one() -> None:
    assert found(per_model_rules, listed(*ON, batching=BATCHING, objects=["/models/m/7/saved_model.pb"])) == []


# --- Spelling ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "fixes"),
    [
        (["--max_batch_size=10"], ["`max_batch_size { value: 10 }` in the batching file"]),
        (["--allowed_batch_sizes=8"], ["`allowed_batch_sizes: 8` in the batching file"]),
        (["--max_batch_size", "10", "--num_batch_threads=6"], ["`max_batch_size { value: 10 }`", "`num_batch_threads { value: 6 }`"]),
        (["--model_name", "m"], ["--model_name=m"]),
        (["--enable_batching", "true"], ["--enable_batching=true"]),
        (["--enable_batching", "false"], ["--enable_batching=false"]),
        (["--enable_batching=yes"], ["--enable_batching=true"]),
        (["--enable_batching=off"], ["--enable_batching=false"]),
        (["--rest_api_port=http"], ["--rest_api_port=N"]),
        (["--http_port=8080"], ["--rest_api_port=8080"]),
        (["--grpc_port=9000"], ["--port=9000"]),
        (["-port=8500"], ["--port=8500"]),
        (["--model-base-path=/models/m"], ["--model_base_path=/models/m"]),
        (["--file_system_poll_wait_second=0"], ["--file_system_poll_wait_seconds=0"]),
        (["--allow_growth=true"], ["TF_FORCE_GPU_ALLOW_GROWTH=true"]),
        (["--gpus=all"], ["leave --gpus out"]),
        (["stray"], ["leave it out"]),
        (["--", "--port=1", "--rest_api_port=2"], ["leave it out"]),
    ],
)
def test_what_the_server_takes_for_no_flag_is_one_finding_with_its_right_form(flags: list[str], fixes: list[str]) -> None:
    said = found(invalid_flag_rules, listed(*flags))
    assert [finding.code for finding in said] == ["server-flag-invalid"] * len(fixes)
    for finding, fix in zip(said, fixes, strict=True):
        assert fix in finding.fix


def test_arguments_of_the_container_and_listed_ones_have_their_own_places() -> None:
    deployment = deployed(service(args=["--port=8500", "--prot=8501"]), flags=["--enable_batching=true", "--rest_api=8502"])
    first, second = found(invalid_flag_rules, deployment)
    assert (first.where.part, first.where.field) == ("deploy", "--prot=8501")
    assert (second.where.part, second.where.line, second.where.field) == ("flags", 2, "--rest_api=8502")


def test_a_name_longer_than_any_flag_is_left_out() -> None:
    (finding,) = found(invalid_flag_rules, listed("--rest_api_port" + "_x" * 100 + "=1"))
    assert finding.fix.startswith("leave --rest_api_port_x_x")


def test_a_switch_spelt_wrong_behind_many_unknown_flags_is_still_known_by_its_letters() -> None:
    unknown = [f"--setting_{number}=1" for number in range(80)]
    deployment = listed(*unknown, "--Enable-Batching=true", "--batching_parameters_file=/b.txt", batching=BATCHING)
    assert codes(RULES, deployment) == ["server-flag-invalid"]


@pytest.mark.parametrize(
    "flags",
    [
        ["--enable_batching"],
        ["--enable_batching=1", "--flush_filesystem_caches=False"],
        ["--grpc_channel_arguments=grpc.max_concurrent_streams=1000"],
        ["--rest_api_port=$PORT"],
        ["--rest_api_num_threads=<threads>"],
        ["--per_process_gpu_memory_fraction=.5"],
        [],
    ],
)
def test_what_the_server_reads_is_fine_and_what_only_the_container_knows_is_not_judged(flags: list[str]) -> None:
    assert found(invalid_flag_rules, listed(*flags)) == []


def test_the_programs_own_name_at_the_head_of_the_list_is_no_argument() -> None:
    assert found(invalid_flag_rules, deployed(flags=["/usr/bin/tensorflow_model_server", *LISTED])) == []


def test_a_flag_that_is_missing_is_named_where_it_would_stand() -> None:
    (finding,) = found(batching_off_rules, gpu(concurrency=80))
    assert finding.where.field == "--enable_batching"


def test_a_value_after_a_space_says_how_it_is_written() -> None:
    (finding,) = found(invalid_flag_rules, listed("--grpc_max_threads", "64"))
    assert finding.message.startswith("--grpc_max_threads 64:")
    assert "--grpc_max_threads=" in finding.message


def test_arguments_of_another_program_are_not_tf_servings() -> None:
    assert found(invalid_flag_rules, gpu("--model=llama", "--host=0.0.0.0", "--port=8000", image="vllm/vllm-openai:v0.6.0")) == []


def test_arguments_of_a_private_image_are_judged_if_one_is_tf_servings() -> None:
    assert codes([invalid_flag_rules], gpu("--enable_batching=true", "--max_batch_size=8", image=PRIVATE)) == ["server-flag-invalid"]


def test_a_flag_given_with_a_space_is_not_reported_again_as_missing() -> None:
    container = service(
        command=["tensorflow_model_server"], args=["--model_base_path", "/models/m", "--grpc_max_threads", "96"], concurrency=80
    )
    assert codes(RULES, deployed(container)) == ["batching-off-on-gpu", "server-flag-invalid"]


# --- Conflicts ---------------------------------------------------------------------------------------------------------------------


def test_a_platform_file_makes_the_batching_switch_mean_nothing() -> None:
    (finding,) = found(conflict_rules, listed("--platform_config_file=/p.config", *ON))
    assert finding.code == "server-flag-conflict"
    assert codes(RULES, listed("--platform_config_file=/p.config", *ON, batching=BATCHING)) == ["server-flag-conflict"]


def test_all_three_flags_of_the_session_pools_stop_the_start() -> None:
    pools = ["--tensorflow_session_parallelism=2", "--tensorflow_intra_op_parallelism=2", "--tensorflow_inter_op_parallelism=2"]
    (finding,) = found(conflict_rules, listed(*pools))
    assert "You cannot configure all." in finding.message
    for left_out in pools:
        assert found(conflict_rules, listed(*(pool for pool in pools if pool != left_out))) == []


@pytest.mark.parametrize(("args", "said"), [(["--port=8501"], 1), (["--rest_api_port=8500"], 1), (["--rest_api_port=0"], 0), ([], 0)])
def test_rest_on_the_port_of_grpc_is_left_out_silently(args: list[str], said: int) -> None:
    assert len(found(conflict_rules, gpu(*args))) == said


def test_a_value_that_cannot_be_read_is_no_conflict() -> None:
    assert codes(RULES, listed("--enable_batching=maybe", "--rest_api_port=http")) == ["server-flag-invalid"]


# --- Threads -----------------------------------------------------------------------------------------------------------------------


def test_every_call_that_cloud_run_lets_in_needs_a_thread_and_eight_are_for_the_server() -> None:
    (finding,) = found(grpc_thread_rules, gpu("--grpc_max_threads=87", concurrency=80))
    assert finding.code == "grpc-threads-below-concurrency"
    assert finding.fix == "--grpc_max_threads=88, or --concurrency=79"
    assert found(grpc_thread_rules, gpu("--grpc_max_threads=88", concurrency=80)) == []


def test_threads_left_out_are_four_for_each_vcpu() -> None:
    assert found(grpc_thread_rules, gpu(concurrency=24, cpu="8")) == []
    (finding,) = found(grpc_thread_rules, gpu(concurrency=25, cpu="8"))
    assert "32 threads (--grpc_max_threads left out: 4 for each vCPU)" in finding.message


@pytest.mark.parametrize(
    "deployment",
    [
        gpu(concurrency=80, port=8501),
        gpu(concurrency=80, port=8080),
        gpu(concurrency=80, cpu=None),
        gpu(),
        gpu(concurrency=2000),
        deployed(service(concurrency=80, args=["--port=8500"], image=PRIVATE), complete=False),
    ],
    ids=["REST", "no port of the server", "vCPU not known", "no concurrency", "concurrency refused", "an update"],
)
def test_grpc_threads_are_not_judged_where_a_number_is_missing(deployment: Deployment) -> None:
    assert found(grpc_thread_rules, deployment) == []


def test_over_rest_two_threads_more_than_requests_are_needed() -> None:
    assert found(rest_thread_rules, gpu("--rest_api_num_threads=62", concurrency=60, port=8501)) == []
    (finding,) = found(rest_thread_rules, gpu("--rest_api_num_threads=61", concurrency=60, port=8501))
    assert finding.code == "rest-threads-below-concurrency"
    assert finding.fix == "--rest_api_num_threads=62, or --concurrency=59"


def test_a_single_rest_thread_freezes_rest_whatever_the_port_that_cloud_run_uses() -> None:
    (finding,) = found(rest_thread_rules, gpu("--rest_api_num_threads=1", concurrency=4))
    assert "freezes" in finding.message
    assert found(rest_thread_rules, gpu("--rest_api_num_threads=2", concurrency=4)) == []
    assert found(rest_thread_rules, gpu("--rest_api_num_threads=1", "--rest_api_port=0", concurrency=4)) == []


def test_rest_threads_do_not_count_over_grpc() -> None:
    assert found(rest_thread_rules, gpu(concurrency=600)) == []


# --- Polling -----------------------------------------------------------------------------------------------------------------------

BUCKET = ("--model_name=m", "--model_base_path=gs://acme/m")


@pytest.mark.parametrize(
    "flags", [["--file_system_poll_wait_seconds=-1"], ["--file_system_poll_wait_seconds=0", "--model_config_file_poll_wait_seconds=60"]]
)
def test_polls_that_load_nothing_or_hang(flags: Sequence[str]) -> None:
    assert codes([poll_wait_rules], listed(*flags)) == ["poll-wait-invalid"]


@pytest.mark.parametrize(
    "flags", [["--file_system_poll_wait_seconds=0"], ["--file_system_poll_wait_seconds=60", "--model_config_file_poll_wait_seconds=60"], []]
)
def test_a_poll_that_is_off_or_slow_works(flags: Sequence[str]) -> None:
    assert found(poll_wait_rules, listed(*flags)) == []


def test_a_bucket_is_listed_each_second_unless_a_flag_says_otherwise() -> None:
    (finding,) = found(poll_costly_rules, deployed(flags=BUCKET))
    assert finding.code == "poll-costly"
    assert "each second" in finding.message


@pytest.mark.parametrize(("wait", "said"), [(1, 1), (59, 1), (60, 0), (0, 0), (-1, 0)])
def test_from_a_minute_on_a_poll_is_cheap(wait: int, said: int) -> None:
    assert len(found(poll_costly_rules, deployed(flags=[*BUCKET, f"--file_system_poll_wait_seconds={wait}"]))) == said


def test_the_entry_points_base_path_is_that_of_the_environment() -> None:
    assert codes([poll_costly_rules], gpu(env={"MODEL_NAME": "m", "MODEL_BASE_PATH": "gs://acme"})) == ["poll-costly"]
    assert found(poll_costly_rules, gpu(env={"MODEL_NAME": "m", "MODEL_BASE_PATH": "/mnt/models"})) == []
    assert found(poll_costly_rules, gpu("--model_base_path=/models/m", env={"MODEL_BASE_PATH": "gs://acme"})) == []


def test_the_models_file_says_where_the_models_are() -> None:
    models = 'model_config_list {{ config {{ name: "a" base_path: "{}" model_platform: "tensorflow" }} }}'
    flags = [*BUCKET, "--model_config_file=/etc/models.config"]
    assert codes([poll_costly_rules], deployed(flags=flags, models=models.format("s3://acme/a"))) == ["poll-costly"]
    assert found(poll_costly_rules, deployed(flags=flags, models=models.format("/models/a"))) == []
    assert found(poll_costly_rules, deployed(flags=flags)) == []  # the file is not given: its paths are not known


def test_of_an_update_only_a_stated_poll_is_judged() -> None:
    def update(*args: str) -> Deployment:
        return deployed(service(image=PRIVATE, args=[*BUCKET, *args]), complete=False)

    assert found(poll_costly_rules, update()) == []
    assert codes([poll_costly_rules], update("--file_system_poll_wait_seconds=5")) == ["poll-costly"]


# --- The card's memory, and the model ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fraction", "said"), [("0.3", 1), ("0.89", 1), ("0.9", 0), ("1", 0), ("0", 0)])
def test_the_instance_has_the_whole_card(fraction: str, said: int) -> None:
    assert len(found(memory_fraction_rules, gpu(f"--per_process_gpu_memory_fraction={fraction}"))) == said


def test_without_a_gpu_the_fraction_means_nothing() -> None:
    assert found(memory_fraction_rules, gpu("--per_process_gpu_memory_fraction=0.3", gpu=False)) == []


def test_an_own_command_does_not_read_the_entry_points_environment() -> None:
    container = service(
        command=["/usr/bin/tensorflow_model_server"], args=["--port=8500"], env={"MODEL_NAME": "lost", "MODEL_BASE_PATH": "/models"}
    )
    (finding,) = found(model_source_rules, deployed(container))
    assert finding.code == "model-source-missing"
    assert finding.fix == "--model_name=lost --model_base_path=/models/lost"


@pytest.mark.parametrize(
    "deployment",
    [
        gpu(),
        gpu("--model_base_path=/models/m", command=["tensorflow_model_server"]),
        gpu("--model_config_file=/m.config", command=["/usr/bin/tensorflow_model_server"]),
        gpu("--port=8500", command=["/usr/bin/tf_serving_entrypoint.sh"]),
        deployed(service(command=["tensorflow_model_server"], image=PRIVATE), complete=False),
        deployed(flags=["--port=8500", "--enable_batching"]),
        gpu("serve", command=["/app/run"], image=PRIVATE),
    ],
    ids=["entry point", "base path", "models file", "entry point by name", "an update", "flags alone", "another program"],
)
def test_a_model_that_is_named_or_may_be_is_no_finding(deployment: Deployment) -> None:
    assert found(model_source_rules, deployment) == []


def test_docker_alone_describes_the_whole_container() -> None:
    container = service(args=["--port=8500"], command=["tensorflow_model_server"], gpu=False, port=None)
    assert codes([model_source_rules], deployed(container, complete=False, form=Form.DOCKER)) == ["model-source-missing"]
