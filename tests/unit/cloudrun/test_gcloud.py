"""Every command is read back by gcloud's own parser and applied by gcloud's own code, offline."""

import subprocess
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.cloudrun.gcloud import GcloudCommand, deploy_command
from shared.cloudrun.gcloud_text import dictionary, listed
from shared.cloudrun.knative import to_v2
from tests.support.gcloud_parser import Reading, parse_all
from tests.support.v2_services import EVERYTHING, IMAGE, LATEST, MODELS_TEXT, NAME, REVISION, any_texts, texts

BATCHING = 'max_batch_size { value: 16 }\nallowed_batch_sizes: [1, 4, 16]\n# a,b@c|d;e "quoted" $HOME `id` \\ ^@^\n'

GPU_SERVICE: dict[str, Any] = {
    "name": NAME,
    "description": "ranks, offers",
    "labels": {"team": "search"},
    "annotations": {"acme.example/owner": "on-call, twice"},
    "client": "trimtab",
    "clientVersion": "0.1.0",
    "ingress": "INGRESS_TRAFFIC_INTERNAL_ONLY",
    "scaling": {"minInstanceCount": 1},
    "template": {
        "labels": {"team": "search"},
        "scaling": {"minInstanceCount": 1, "maxInstanceCount": 3},
        "vpcAccess": {"egress": "ALL_TRAFFIC", "networkInterfaces": [{"network": "default", "subnetwork": "gpu", "tags": ["a", "b"]}]},
        "timeout": "300s",
        "serviceAccount": "tfs@acme-ml.iam.gserviceaccount.com",
        "executionEnvironment": "EXECUTION_ENVIRONMENT_GEN2",
        "maxInstanceRequestConcurrency": 16,
        "sessionAffinity": True,
        "nodeSelector": {"accelerator": "nvidia-l4"},
        "gpuZonalRedundancyDisabled": True,
        "containers": [
            {
                "name": "tfs",
                "image": IMAGE,
                "command": ["/bin/sh", "-c"],
                "args": ["exec tensorflow_model_server --port=8500,", "--grpc_channel_arguments=a=1,b=2", "", "^@^"],
                "env": [
                    {"name": "MODELS", "value": MODELS_TEXT},
                    {"name": "BATCHING", "value": BATCHING},
                    {"name": "EMPTY", "value": ""},
                    {"name": "KEY", "valueSource": {"secretKeyRef": {"secret": "api-key", "version": "3"}}},
                ],
                "resources": {"limits": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}, "startupCpuBoost": True},
                "ports": [{"name": "h2c", "containerPort": 8500}],
                "volumeMounts": [{"name": "models", "mountPath": "/models"}, {"name": "scratch", "mountPath": "/tmp"}],
                "startupProbe": {"periodSeconds": 10, "failureThreshold": 90, "tcpSocket": {"port": 8500}},
                "livenessProbe": {"periodSeconds": 30, "timeoutSeconds": 5, "grpc": {"port": 8500, "service": "tfs"}},
            },
            {
                "name": "collector",
                "image": "gcr.io/acme/collector:1",
                "resources": {"limits": {"cpu": "1", "memory": "512Mi"}, "startupCpuBoost": True},
                "startupProbe": {"httpGet": {"path": "/liveness", "port": 13133}},
                "dependsOn": ["tfs"],
            },
        ],
        "volumes": [
            {"name": "scratch", "emptyDir": {"medium": "MEMORY", "sizeLimit": "1Gi"}},
            {"name": "models", "gcs": {"bucket": "acme-models", "readOnly": True}},
            {"name": "share", "nfs": {"server": "10.0.0.2", "path": "/models", "readOnly": True}},
        ],
    },
    "traffic": [{"type": LATEST, "percent": 100}],
}


def _command(service: dict[str, Any]) -> GcloudCommand:
    return deploy_command(service, project="acme-ml", region="europe-west1")


def _made_by(command: GcloudCommand) -> dict[str, Any]:
    (reading,) = parse_all([command.argv])
    return _service_of(reading)


def _service_of(reading: Reading) -> dict[str, Any]:
    assert reading.error is None
    made = to_v2(reading.service).document
    if made["client"] == "gcloud":  # which gcloud stamps where a command does not say
        del made["client"], made["clientVersion"]
    return made


def _settings(service: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """What gcloud would send: the short name, and no traffic, as all of it goes to the latest revision anyway."""
    return {**{name: value for name, value in service.items() if name != "traffic"}, "name": "ranker", **changes}


def _with_template(**fields: Any) -> dict[str, Any]:
    return {"name": NAME, "template": {"containers": [{"image": IMAGE, "ports": [{"containerPort": 8500}]}], **fields}}


def test_gcloud_makes_the_service_that_the_command_was_written_for() -> None:
    command = _command(GPU_SERVICE)
    assert command.not_expressible == ()
    assert command.notes == ()
    assert _made_by(command) == _settings(GPU_SERVICE)


def test_the_text_pasted_into_a_shell_is_the_same_command() -> None:
    command = _command(GPU_SERVICE)
    shell = 'gcloud() { printf "%s\\0" gcloud "$@"; }\n' + command.text
    pasted = subprocess.run(["sh"], input=shell, capture_output=True, text=True, check=True).stdout
    assert tuple(pasted.split("\0")[:-1]) == command.argv
    assert command.argv[:4] == ("gcloud", "run", "deploy", "ranker")
    assert "\n  --region=europe-west1 \\\n" in command.text
    assert "\n    --gpu=1 \\\n" in command.text


def test_every_kind_of_text_arrives_in_environment_and_arguments() -> None:
    (reading,) = parse_all([_command(GPU_SERVICE).argv])
    tfs = reading.flags["containers"]["tfs"]
    assert tfs["set_env_vars"] == {"MODELS": MODELS_TEXT, "BATCHING": BATCHING, "EMPTY": ""}
    assert tfs["args"] == ["exec tensorflow_model_server --port=8500,", "--grpc_channel_arguments=a=1,b=2", "", "^@^"]


def test_a_container_without_a_name_has_its_flags_among_the_services() -> None:
    command = _command(_with_template())
    assert not any(flag.startswith("--container") for flag in command.argv)
    assert _made_by(command) == _settings(_with_template())


def test_cpu_boost_is_always_said_because_gcloud_turns_it_on_for_new_services() -> None:
    assert "--no-cpu-boost" in _command(_with_template()).argv
    assert "--cpu-boost" in _command(GPU_SERVICE).argv


@pytest.mark.parametrize(
    ("resources", "flag"),
    [({"limits": {"cpu": "4"}}, "--no-cpu-throttling"), ({"limits": {"cpu": "4"}, "cpuIdle": True}, "--cpu-throttling")],
)
def test_resources_without_cpu_idle_are_billed_for_the_whole_life_of_an_instance(resources: dict[str, Any], flag: str) -> None:
    service = _with_template(containers=[{"image": IMAGE, "resources": resources}])
    assert flag in _command(service).argv
    assert _made_by(_command(service)) == _settings(service)


@pytest.mark.parametrize(
    ("field", "flag"),
    [
        ({"scaling": {"maxInstanceCount": 5, "minInstanceCount": 2}}, "--max=5"),
        ({"scaling": {"scalingMode": "MANUAL", "manualInstanceCount": 2}}, "--scaling=2"),
        ({"scaling": {"scalingMode": "AUTOMATIC", "minInstanceCount": 2}}, "--scaling=auto"),
        ({"defaultUriDisabled": True}, "--no-default-url"),
        ({"iapEnabled": True}, "--iap"),
    ],
)
def test_a_flag_that_only_the_beta_track_has_is_used_and_its_effect_named(field: dict[str, Any], flag: str) -> None:
    service = {**_with_template(), **field}
    command = _command(service)
    assert command.argv[:4] == ("gcloud", "beta", "run", "deploy")
    assert flag in command.argv
    assert command.notes == (f"uses gcloud beta because of {flag.partition('=')[0]}; that track sets the service's launch stage to BETA",)
    assert _made_by(command) == _settings(service, launchStage="BETA")


def test_the_launch_stage_chooses_the_track() -> None:
    assert _command({**_with_template(), "launchStage": "ALPHA"}).argv[:2] == ("gcloud", "alpha")
    assert _command({**_with_template(), "launchStage": "BETA"}).argv[:2] == ("gcloud", "beta")
    assert _command({**_with_template(), "launchStage": "GA"}).argv[:2] == ("gcloud", "run")


def test_a_setting_that_is_unspecified_is_no_flag() -> None:
    plain, unspecified = _with_template(), _with_template(executionEnvironment="EXECUTION_ENVIRONMENT_UNSPECIFIED")
    assert _command(unspecified) == _command(plain)


def test_secrets_become_environment_variables_and_files() -> None:
    service = _with_template(
        containers=[
            {
                "image": IMAGE,
                "env": [{"name": "KEY", "valueSource": {"secretKeyRef": {"secret": "api-key", "version": "latest"}}}],
                "volumeMounts": [{"name": "k", "mountPath": "/etc/key"}],
            }
        ],
        volumes=[{"name": "k", "secret": {"secret": "tls", "items": [{"path": "cert.pem", "version": "2"}]}}],
    )
    command = _command(service)
    assert command.not_expressible == ()
    (reading,) = parse_all([command.argv])
    assert reading.flags["set_secrets"] == {"KEY": "api-key:latest", "/etc/key/cert.pem": "tls:2"}
    made = _service_of(reading)["template"]
    assert made["volumes"][0]["secret"] == service["template"]["volumes"][0]["secret"]
    assert made["containers"][0]["volumeMounts"][0]["mountPath"] == "/etc/key"


def test_cloud_sql_instances_are_said_by_their_own_flag() -> None:
    mounted = {"image": IMAGE, "volumeMounts": [{"name": "cloudsql", "mountPath": "/cloudsql"}]}
    service = _with_template(containers=[mounted], volumes=[{"name": "cloudsql", "cloudSqlInstance": {"instances": ["p:r:a", "p:r:b"]}}])
    command = _command(service)
    assert "--set-cloudsql-instances=p:r:a,p:r:b" in command.argv
    assert _made_by(command) == _settings(service)


@pytest.mark.parametrize(
    ("service", "sentence"),
    [
        (_with_template(containers=[{"image": IMAGE, "args": ["-v", "-v"]}]), "/template/containers/0/args: '-v' is twice in it"),
        (_with_template(containers=[{"image": IMAGE, "workingDir": "/srv"}]), "/template/containers/0/workingDir: '/srv' has no flag"),
        (_with_template(containers=[{"image": IMAGE, "readinessProbe": {"grpc": {}}}]), "/template/containers/0/readinessProbe: "),
        (_with_template(containers=[{"image": IMAGE, "livenessProbe": {}}]), "/template/containers/0/livenessProbe: an empty probe"),
        (
            _with_template(containers=[{"image": IMAGE, "livenessProbe": {"periodSeconds": 5, "tcpSocket": {"port": 1}}}]),
            "/template/containers/0/livenessProbe: --liveness-probe takes no tcpSocket",
        ),
        (
            _with_template(containers=[{"image": IMAGE}, {"name": "b", "image": IMAGE, "ports": [{"containerPort": 1}]}]),
            "/template/containers/0/name: gcloud needs a name for each of several containers",
        ),
        (
            _with_template(containers=[{"image": IMAGE, "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}]),
            "/template/containers/0/env/1: 'A' is twice, or no name that gcloud takes",
        ),
        (
            _with_template(volumes=[{"name": "m", "gcs": {"bucket": "b", "mountOptions": ["a,b"]}}]),
            "/template/volumes/0/gcs/mountOptions: gcloud takes no option with a comma",
        ),
        (_with_template(volumes=[{"name": "m", "warp": {}}]), "/template/volumes/0: no kind of volume that gcloud adds"),
        (
            _with_template(encryptionKeyShutdownDuration="90s"),
            "/template/encryptionKeyShutdownDuration: 90s is not a whole number of hours",
        ),
        ({**_with_template(), "launchStage": "DEPRECATED"}, "/launchStage: 'DEPRECATED' has no gcloud track"),
        ({**_with_template(), "customAudiences": ["a", "a"]}, "/customAudiences: gcloud refuses a value that is twice in a list"),
        ({"template": {"containers": [{"image": IMAGE}]}}, "/name: the service has no name"),
        (_with_template(annotations={"a": "b"}), "/template/annotations/a: 'b' has no flag"),
        (_with_template(timeout="1.5s"), "/template/timeout: '1.5s' has no flag"),
        ({**_with_template(), "labels": {"team": "x"}}, "/template/labels: gcloud copies all labels"),
        ({**_with_template(), "ingress": "INGRESS_TRAFFIC_NONE"}, "/ingress: 'INGRESS_TRAFFIC_NONE' has no flag"),
        ({**_with_template(), "traffic": [{"type": REVISION, "revision": "ranker-1", "percent": 100}]}, "/traffic: deploy cannot split"),
        ({**_with_template(), "buildConfig": {"name": "b"}}, "/buildConfig: {'name': 'b'} has no flag"),
        (
            _with_template(volumes=[{"name": "d", "emptyDir": {"medium": "DISK"}}]),
            "/template/volumes/0/emptyDir/medium: 'DISK' has no flag",
        ),
        (
            _with_template(containers=[{"name": "a", "image": IMAGE}, {"name": "b", "image": IMAGE}]),
            "/template/containers: gcloud wants a port on exactly one of several containers, here on 0",
        ),
    ],
)
def test_what_no_flag_says_is_named(service: dict[str, Any], sentence: str) -> None:
    (said,) = _command(service).not_expressible
    assert said.startswith(sentence)


def test_a_start_up_probe_that_gcloud_would_move_is_named_and_gcloud_does_move_it() -> None:
    probed = {"image": IMAGE, "ports": [{"containerPort": 8500}], "startupProbe": {"tcpSocket": {"port": 8080}}}
    command = _command(_with_template(containers=[probed]))
    assert command.not_expressible == (
        "/template/containers/0/startupProbe/tcpSocket/port: gcloud changes it from 8080 to the container's --port",
    )
    assert _made_by(command)["template"]["containers"][0]["startupProbe"] == {"tcpSocket": {"port": 8500}}


def test_gcloud_refuses_an_argument_that_is_twice_in_a_list() -> None:
    (reading,) = parse_all([["gcloud", "run", "deploy", "x", f"--image={IMAGE}", "--args=-v,-v"]])
    assert reading.error is not None


def test_a_service_with_every_field_loses_only_what_is_named() -> None:
    command = _command(EVERYTHING)
    named = {sentence.partition(":")[0] for sentence in command.not_expressible}
    assert named == {
        "/buildConfig",
        "/multiRegionSettings",
        "/scaling/maxInstanceCount",
        "/scaling/minInstanceCount",
        "/template/containers",
        "/template/containers/0/readinessProbe",
        "/template/containers/0/volumeMounts/0/subPath",
        "/template/containers/0/workingDir",
        "/template/containers/1/baseImageUri",
        "/template/containers/1/sourceCode",
        "/template/volumes/0/secret/defaultMode",
        "/template/volumes/0/secret/items/0/mode",
        "/threatDetectionEnabled",
        "/traffic",
    }
    (reading,) = parse_all([command.argv])
    assert reading.error is None
    assert reading.service["spec"]["template"]["metadata"]["name"] == "ranker-00007-abc"


def test_environment_that_no_program_can_be_started_with_is_noted() -> None:
    large = [{"name": f"V{number}", "value": "x" * 32_000} for number in range(5)]
    command = _command(_with_template(containers=[{"image": IMAGE, "env": large}]))
    assert command.notes == (
        "--set-env-vars has 160,034 bytes; Linux starts no program with an argument above 131,071: use services replace",
    )


keys = st.lists(st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True), unique=True, max_size=4)
numbers = st.integers(1, 900)
probe_actions = st.one_of(
    st.builds(lambda port: {"tcpSocket": {"port": port}}, st.integers(9000, 9100)),
    st.builds(lambda port, path: {"httpGet": {"port": port, "path": path}}, numbers, texts),
    st.builds(lambda port, service: {"grpc": {"port": port, "service": service}}, numbers, texts),
)


@st.composite
def deployable(draw: st.DrawFn) -> dict[str, Any]:
    """A service that gcloud can say whole: texts of any kind in all the places that take them."""
    containers = []
    for number in range(draw(st.integers(1, 3))):
        container: dict[str, Any] = {
            "name": f"c{number}",
            "image": IMAGE,
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "startupCpuBoost": True},
            **({"ports": [{"name": "h2c", "containerPort": draw(st.integers(1, 65_535))}]} if number == 0 else {}),
        }
        for name in ("command", "args"):
            values = draw(st.lists(any_texts, unique=True, max_size=4))
            container |= {name: values} if values else {}
        environment = [{"name": key, "value": draw(any_texts)} for key in draw(keys)]
        container |= {"env": environment} if environment else {}
        container |= {"startupProbe": {"periodSeconds": draw(numbers), **draw(probe_actions)}} if draw(st.booleans()) else {}
        containers.append(container)
    labels = draw(st.dictionaries(st.sampled_from(["team", "env"]), any_texts, max_size=2))
    common = {"labels": labels} if labels else {}
    return {
        "name": NAME,
        "description": draw(texts),
        "customAudiences": draw(st.lists(texts, min_size=1, unique=True, max_size=3)),
        **common,
        "template": {"timeout": f"{draw(numbers)}s", "maxInstanceRequestConcurrency": draw(numbers), "containers": containers, **common},
    }


@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.large_base_example, HealthCheck.data_too_large, HealthCheck.too_slow]
)
@given(services=st.lists(deployable(), min_size=12, max_size=12))
def test_any_text_arrives_as_it_was(services: list[dict[str, Any]]) -> None:
    commands = [_command(service) for service in services]
    assert [command.not_expressible for command in commands] == [()] * len(commands)
    for service, reading in zip(services, parse_all([command.argv for command in commands]), strict=True):
        assert _service_of(reading) == _settings(service)


@pytest.mark.parametrize(
    ("items", "argument"),
    [
        (["a", "b"], "a,b"),
        (["a,b", "c"], "^@^a,b@c"),
        (["a,b@c|d", "e"], "^;^a,b@c|d;e"),
        ([""], ","),
        (["a", ""], "a,,"),
        (["^x^y", "z"], "^,^^x^y,z"),
        ([",@|;#%~!:+", "b"], "^¡^,@|;#%~!:+¡b"),
    ],
)
def test_a_list_is_split_at_a_character_that_is_in_none_of_its_items(items: list[str], argument: str) -> None:
    assert listed(items) == argument


def test_an_empty_dictionary_is_no_flag() -> None:
    assert dictionary({}) is None
    assert dictionary({"A": "1", "B": "x,y"}) == "^@^A=1@B=x,y"
