"""What gcloud refuses of a command is a problem with its place and a fix; what only Cloud Run refuses is none."""

import pytest

from shared.cloudrun.described import Problem, ReadingProblem
from shared.cloudrun.gcloud_reading import read_commands

UNKNOWN = ReadingProblem.UNKNOWN_FLAG
EQUALS = ReadingProblem.ARGS_NEEDS_EQUALS
SPLIT = ReadingProblem.ARGS_COMMA_SPLIT
INVALID = ReadingProblem.VALUE_INVALID
TRACK = ReadingProblem.OTHER_TRACK


def problems(flags: str, command: str = "run deploy x") -> tuple[Problem, ...]:
    found = read_commands(f"gcloud {command} {flags}")
    assert found is not None
    return found.problems


def only(flags: str, command: str = "run deploy x") -> Problem:
    found = problems(flags, command)
    assert len(found) == 1, found
    return found[0]


def args(flags: str) -> list[str] | None:
    found = read_commands(f"gcloud run deploy x {flags}")
    assert found is not None
    result: list[str] | None = found.service["template"]["containers"][0].get("args")
    return result


@pytest.mark.parametrize(
    ("flag", "fix"),
    [
        ("--max-concurrency=60", "--concurrency=60"),
        ("--max-concurrency 60", "--concurrency=60"),
        ("--gpu-count=1", "--gpu=1"),
        ("--gpu-runtime=nvidia-l4", "--gpu-type=nvidia-l4"),
        ("--accelerator nvidia-l4", "--gpu-type=nvidia-l4"),
        ("--max_instances=3", "--max-instances=3"),
        ("--concurency=8", "--concurrency=8"),
        ("--env=A=1", "--set-env-vars=A=1"),
        ("--enable-http2", "--use-http2"),
        ("-p 8500", "--port=8500"),
        ("--zonal-redundancy", "--gpu-zonal-redundancy"),
        ("--no-zonal-redundancy", "--no-gpu-zonal-redundancy"),
        ("--gpu-zonal-redundancy-disabled", "--no-gpu-zonal-redundancy"),
        ("--gpu-zonal-redundancy-disabled=false", "--gpu-zonal-redundancy"),
        ("--disable-cpu-throttling", "--no-cpu-throttling"),
        ("--enable-cpu-throttling", "--cpu-throttling"),
        ("--zone us-west1-a", "--region=us-west1"),
        ("--zone=europe-west4-b", "--region=europe-west4"),
    ],
)
def test_a_flag_that_no_track_has_is_unknown_and_the_fix_is_the_real_one(flag: str, fix: str) -> None:
    problem = only(flag)
    assert (problem.kind, problem.fix, problem.field) == (UNKNOWN, fix, flag.partition("=")[0].partition(" ")[0])


def test_a_service_has_no_retries_of_requests() -> None:
    problem = only("--max-retries=0")
    assert problem.kind is UNKNOWN
    assert "jobs" in problem.message
    assert problem.fix == "leave --max-retries out"


def test_a_flag_of_deploy_only_is_unknown_to_update() -> None:
    assert only("--allow-unauthenticated", "run services update x").kind is UNKNOWN
    assert problems("--allow-unauthenticated") == ()


def test_a_flag_of_the_server_beside_args_is_unknown_to_gcloud_and_read_as_an_argument() -> None:
    problem = only("--args=--enable_batching=true, --grpc_max_threads=8")
    assert (problem.kind, problem.fix) == (UNKNOWN, "--args=--grpc_max_threads=8")
    assert args("--args=--enable_batching=true, --grpc_max_threads=8") == ["--enable_batching=true", "--grpc_max_threads=8"]


@pytest.mark.parametrize("flag", ["--max=3", "--scaling=auto", "--iap", "--service-max-instances=4"])
def test_a_flag_of_another_track_is_not_unknown(flag: str) -> None:
    problem = only(flag)
    assert (problem.kind, problem.fix) == (TRACK, f"gcloud beta run deploy ... {flag.partition('=')[0]}")
    assert problems(flag, "beta run deploy x") == ()


@pytest.mark.parametrize(
    ("flags", "fix", "meant"),
    [
        (
            "--args --enable_batching=true,--port=8500",
            "--args=--enable_batching=true,--port=8500",
            ["--enable_batching=true", "--port=8500"],
        ),
        (
            "--args --enable_batching --grpc_max_threads=8",
            "--args=--enable_batching,--grpc_max_threads=8",
            ["--enable_batching", "--grpc_max_threads=8"],
        ),
        ('--args "--enable_batching=true" --cpu=4', "--args=--enable_batching=true", ["--enable_batching=true"]),
        ("--args --a_b=x=1,y=2", "--args='^;^--a_b=x=1,y=2'", ["--a_b=x=1,y=2"]),
        ("--args --port=8500 --region=us-east4", "--args=--port=8500", ["--port=8500"]),
        ("--args '--port=8500' '--model_name=m'", "--args=--port=8500,--model_name=m", ["--port=8500", "--model_name=m"]),
        ("--args --enable_batching --port=8500", "--args=--enable_batching", ["--enable_batching"]),
        ("--args --cpu=4", "--args=...", None),
    ],
)
def test_args_and_a_blank_before_a_dash_want_an_equals_sign(flags: str, fix: str, meant: list[str] | None) -> None:
    problem = only(flags)
    assert (problem.kind, problem.field, problem.fix) == (EQUALS, "--args", fix)
    assert args(flags) == meant


def test_command_and_a_blank_before_a_dash_want_an_equals_sign() -> None:
    assert only("--command -c").kind is EQUALS


@pytest.mark.parametrize(
    "flags", ["--args=--port=8500", "--args serve", "--args '-c sleep 5'", "--args ''", "--command tensorflow_model_server"]
)
def test_a_value_that_gcloud_takes_is_no_such_problem(flags: str) -> None:
    assert problems(flags) == ()


@pytest.mark.parametrize(
    ("flags", "fix", "meant"),
    [
        (
            "--args=--grpc_max_threads=8,--grpc_channel_arguments=a=1,b=2",
            "--args='^;^--grpc_max_threads=8;--grpc_channel_arguments=a=1,b=2'",
            ["--grpc_max_threads=8", "--grpc_channel_arguments=a=1,b=2"],
        ),
        ("--args='^;^--a_b=x;y;--c_d=1'", "--args='--a_b=x;y,--c_d=1'", ["--a_b=x;y", "--c_d=1"]),
        ('--args="--port=8500, --model_name=m"', "--args=--port=8500,--model_name=m", ["--port=8500", "--model_name=m"]),
        ("--args=--a_b=1,2,3", "--args='^;^--a_b=1,2,3'", ["--a_b=1,2,3"]),
        (
            "--args=--model_name,m,--model_base_path,/models/m",
            "--args=--model_name=m,--model_base_path=/models/m",
            ["--model_name=m", "--model_base_path=/models/m"],
        ),
        ("--args=--enable_batching,true", "--args=--enable_batching=true", ["--enable_batching=true"]),
        ("--image=tensorflow/serving:2.20.0 --args=--foo,bar", "--args=--foo=bar", ["--foo=bar"]),
        ("--image=gcr.io/acme/tfs:7 --args=--model_name,m", "--args=--model_name=m", ["--model_name=m"]),
    ],
)
def test_a_comma_inside_a_value_is_split(flags: str, fix: str, meant: list[str]) -> None:
    problem = only(flags)
    assert (problem.kind, problem.fix) == (SPLIT, fix)
    assert args(flags) == meant


@pytest.mark.parametrize(
    "flags",
    [
        "--args='^;^--grpc_channel_arguments=a=1,b=2;--port=8500'",
        "--args=serve,foo",
        "--args=--enable_batching,--port=8500",
        "--args=--model_name=m,$EXTRA",
        "--image=gcr.io/acme/vllm --args=--model,m",
        "--command=bash --args=--model_name,m",
        "--command=python --args=--verbose=1,serve",
        "--command=sh,-c --args='exec tensorflow_model_server --port=8500'",
        "--args=-c,x",
    ],
)
def test_a_list_that_says_what_is_meant_is_not_split(flags: str) -> None:
    assert SPLIT not in {problem.kind for problem in problems(flags)}


def test_a_delimiter_without_quotes_ends_the_shells_command() -> None:
    problem = only("--args=^;^--a_b=1,2;--c_d=3 --cpu=4")
    assert (problem.kind, problem.fix) == (SPLIT, "--args='^;^--a_b=1,2;--c_d=3'")
    assert args("--args=^;^--a_b=1,2;--c_d=3 --cpu=4") == ["--a_b=1,2", "--c_d=3"]


@pytest.mark.parametrize(
    ("flags", "field"),
    [
        ("--concurrency=abc", "--concurrency"),
        ("--concurrency=0", "--concurrency"),
        ("--concurrency", "--concurrency"),
        ("--cpu --memory=4Gi", "--cpu"),
        ("--port=x", "--port"),
        ("--port=70000", "--port"),
        ("--timeout=abc", "--timeout"),
        ("--timeout=0", "--timeout"),
        ("--timeout=5x", "--timeout"),
        ("--timeout=1.5", "--timeout"),
        ("--min-instances=-1", "--min-instances"),
        ("--max-instances=many", "--max-instances"),
        ("--execution-environment=gen3", "--execution-environment"),
        ("--ingress=public", "--ingress"),
        ("--set-env-vars=A", "--set-env-vars"),
        ("--set-env-vars=A=1,,B=2", "--set-env-vars"),
        ("--set-env-vars=X_GOOGLE_A=1", "--set-env-vars"),
        ("--set-env-vars=A=1 --set-env-vars=A=2", "--set-env-vars"),
        ("--set-env-vars=A=1 --update-env-vars=B=2", "--update-env-vars"),
        ("--network=n --clear-network", "--clear-network"),
        ("--use-http2=true", "--use-http2"),
        ("--args=--a_b=1,--a_b=1", "--args"),
        ("--args=^^a", "--args"),
        ("--startup-probe=path=/", "--startup-probe"),
        ("--startup-probe=periodSeconds=ten", "--startup-probe"),
        ("--liveness-probe=initialDelay=8500", "--liveness-probe"),
        ("--add-volume=name=v", "--add-volume"),
        ("--add-volume=name=v,type=disk", "--add-volume"),
        ("--add-volume=name=v,type=cloud-storage", "--add-volume"),
        ("--add-volume=name=v,type=nfs,location=x", "--add-volume"),
        ("--add-volume-mount=volume=v", "--add-volume-mount"),
        ("--add-volume-mount=volume=v,path=/x", "--add-volume-mount"),
        ("--set-secrets=K=s", "--set-secrets"),
        ("--set-secrets=/file=s:1", "--set-secrets"),
        ("--set-env-vars=K=v --set-secrets=K=s:1", "--set-secrets"),
        ("--set-cloudsql-instances=a:b", "--set-cloudsql-instances"),
        ("--project='Acme ML'", "--project"),
        ("y", "SERVICE"),
        ("-- --port=8500", "--"),
        ("\u2013cpu=4", "SERVICE"),
        ("--container=a --image=i --region=us-east4 --port=1", "--region"),
        ("--cpu=4 --container=a --image=i --port=1", "--cpu"),
        ("--container=a --image=i --container=b --image=j", "--container"),
    ],
)
def test_what_gclouds_parser_refuses_of_a_value(flags: str, field: str) -> None:
    problem = only(flags)
    assert (problem.kind, problem.field) == (INVALID, field)
    assert problem.line == 1


@pytest.mark.parametrize(
    "flags",
    [
        "--concurrency=2000",
        "--timeout=90m",
        "--gpu=2 --gpu-type=nvidia-tesla-t4",
        "--cpu=3 --memory=1Ti",
        "--port=default --concurrency=default",
        "--set-env-vars=",
        "--set-env-vars=A=1, --args=a,",
        "--update-env-vars=A=1 --remove-env-vars=B",
        "--cpu -5",
        "--liveness-probe=",
        "--region=mars",
        "--quiet --verbosity=debug --format=json",
        "--set-secrets=K=projects/123/secrets/s",
        "--container=a --image=i --port=1 --container=b --image=j",
    ],
)
def test_what_gcloud_takes_is_no_problem_whatever_cloud_run_says(flags: str) -> None:
    assert problems(flags) == ()


def test_a_value_that_is_split_at_a_comma_gets_a_fix_with_another_delimiter() -> None:
    assert only("--set-env-vars=TAGS=a,b").fix == "--set-env-vars='^;^TAGS=a,b'"


def test_a_tcp_liveness_probe_is_read_for_the_rule_that_is_about_it() -> None:
    found = read_commands("gcloud run deploy x --liveness-probe=tcpSocket.port=8500")
    assert found is not None
    assert found.problems == ()
    assert found.service["template"]["containers"] == [{"livenessProbe": {"tcpSocket": {"port": 8500}}}]


def test_the_key_of_a_probe_that_was_meant_is_in_the_fix() -> None:
    assert only("--startup-probe=path=/v1/models/m").fix == "httpGet.path=/v1/models/m"
    assert only("--startup-probe=failure_threshold=30").fix == "failureThreshold=30"


def test_the_value_that_was_meant_as_a_switch_is_in_the_fix() -> None:
    assert only("--use-http2=false").fix == "--no-use-http2"
    assert only("--use-http2 true").fix == "--use-http2"


def test_a_quote_that_is_never_closed_is_a_problem_and_leaves_the_rest_open() -> None:
    found = read_commands("gcloud run deploy x --cpu=4 --set-env-vars='A=1\n")
    assert found is not None
    assert [problem.kind for problem in found.problems] == [INVALID]
    assert not found.complete
    assert found.service["template"]["containers"] == [{"resources": {"limits": {"cpu": "4"}}}]


def test_a_missing_backslash_is_a_problem_and_the_flags_are_read() -> None:
    found = read_commands("gcloud run deploy x --cpu=4\n  --concurrency=8\n")
    assert found is not None
    assert [(problem.kind, problem.line) for problem in found.problems] == [(INVALID, 2)]
    assert found.service["template"]["maxInstanceRequestConcurrency"] == 8


def test_a_value_that_nobody_gave_is_never_wrong() -> None:
    assert problems("--port=$PORT --timeout=$T --ingress=$I --set-env-vars=$VARS --add-volume=$V --set-secrets=K=$S $MORE") == ()


def test_an_empty_image_is_no_image() -> None:
    problem = only("--image=")
    assert (problem.kind, problem.field) == (INVALID, "--image")
    assert problems("") == ()
    assert only("--image= --cpu=2", "run services update x").field == "--image"


def test_an_unknown_flag_is_left_out_where_the_flag_that_it_means_is_there() -> None:
    assert only("--region=us-east4 --zone=us-west1-a").fix == "leave --zone out: --region says it"
    assert only("--set-env-vars=A=1 --env=B=2").fix == "--set-env-vars=B=2"


def test_of_many_unknown_flags_the_first_are_compared_with_the_real_ones() -> None:
    found = problems(" ".join(f"--concurency{number}=8" for number in range(60)))
    assert found[0].fix == "--concurrency=8"
    assert found[-1].fix == "leave --concurency59 out"
