"""Commands of every kind, right and wrong: read as gcloud itself reads them, refused where it refuses them, and never a traceback."""

import json
import shlex
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from shared.cloudrun.gcloud import deploy_command
from shared.cloudrun.gcloud_reading import read_commands
from shared.cloudrun.terraform_reading import alert_policies, read_plan
from tests.support.gcloud_commands import random_command
from tests.support.gcloud_parser import parse_all
from tests.support.gcloud_services import plain, sent
from tests.support.v2_services import PROJECT, REGION, services

COMMANDS = 600
LEAST_RECALL = 0.99
MOST_FALSE_ERRORS = 0.01
SERVICES = 60

_PIECES = st.sampled_from(
    [
        "gcloud run deploy ",
        "gcloud beta run services update x ",
        "gcloud run services update-traffic ",
        "docker run ",
        "--args",
        "--args=--a_b=1,2",
        "--set-env-vars",
        "--container",
        "--startup-probe=",
        "--timeout=",
        "--update-secrets=/a/b=",
        "--to-revisions=a=50,LATEST=50",
        "tcpSocket.port=",
        "^;^",
        "=",
        "'",
        '"',
        "`",
        "$(",
        "${X",
        "}",
        ")",
        "\\",
        "\\\n",
        "\n",
        "\r\n",
        " ",
        "#",
        "<<EOF",
        "EOF",
        "<NAME>",
        "X=$X$X",
        "$X",
        "--",
        "s:1",
        "&&",
        ";",
        "9" * 40,
        "\u00b2",
        "\ue000",
    ]
)
_TEXTS = st.lists(st.one_of(_PIECES, st.text(max_size=5)), max_size=25).map("".join)


@settings(max_examples=400, deadline=None)
@given(_TEXTS)
def test_no_text_is_too_odd_to_be_read(text: str) -> None:
    found = read_commands(text)
    if found is not None:
        json.dumps(found.service)
        assert all(problem.message for problem in found.problems)


_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["template", "spec", "metadata", "containers", "env", "limits", "resources", "name"]), inner, max_size=4
        ),
    ),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(_json, st.sampled_from(["google_cloud_run_v2_service", "google_cloud_run_service", "google_monitoring_alert_policy"]))
def test_no_plan_is_too_odd_to_be_read(values: Any, kind: str) -> None:
    document = {"planned_values": {"root_module": {"resources": [{"address": "a", "type": kind, "values": values}]}}}
    read_plan(document)
    alert_policies(document)


def test_what_gcloud_refuses_is_a_problem_and_what_it_takes_is_none() -> None:
    commands = [random_command(seed, mistakes=seed % 3) for seed in range(COMMANDS)]
    refused = [reading.error is not None for reading in parse_all(commands)]
    told = []
    for argv in commands:
        found = read_commands(shlex.join(argv))
        assert found is not None
        told.append(bool(found.problems))
    missed = [shlex.join(argv) for argv, no, said in zip(commands, refused, told, strict=True) if no and not said]
    false = [shlex.join(argv) for argv, no, said in zip(commands, refused, told, strict=True) if said and not no]
    assert 1 - len(missed) / sum(refused) >= LEAST_RECALL, missed
    assert len(false) / (COMMANDS - sum(refused)) <= MOST_FALSE_ERRORS, false


def test_the_service_read_is_the_one_that_gcloud_would_send() -> None:
    commands: list[tuple[str, ...]] = []

    @settings(
        max_examples=SERVICES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(services)
    def gather(service: dict[str, Any]) -> None:
        commands.append(deploy_command(service, project=PROJECT, region=REGION).argv)

    gather()
    taken = [(argv, reading) for argv, reading in zip(commands, parse_all(commands), strict=True) if reading.error is None]
    assert len(taken) >= SERVICES // 2
    for argv, reading in taken:
        if "--image" not in " ".join(argv) and "cloudsql" in " ".join(argv):
            continue  # Without a container there is nothing that gcloud could mount Cloud SQL in.
        found = read_commands(shlex.join(argv))
        assert found is not None
        assert found.problems == ()
        assert plain(found.service) == sent(reading.service)
