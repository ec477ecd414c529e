"""Which command a line of gcloud's runs, and which was meant where gcloud knows none of that name."""

import pytest

from shared.cloudrun.described import Described, Problem, ReadingProblem
from shared.cloudrun.gcloud_command_names import GROUP_FLAGS, OF_RUN, OF_SERVICES
from shared.cloudrun.gcloud_reading import read_commands
from tests.support import gcloud_parser

UPDATE = "gcloud run services update"


def read(text: str) -> Described:
    found = read_commands(text)
    assert found is not None
    return found


def only(text: str) -> Problem:
    problems = read(text).problems
    assert len(problems) == 1, problems
    assert problems[0].kind is ReadingProblem.VALUE_INVALID
    return problems[0]


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("gcloud run services updte a", f"{UPDATE} a"),
        ("gcloud run services updat a --cpu=4", f"{UPDATE} a ..."),
        ("gcloud run serivces update a --cpu=4", f"{UPDATE} a ..."),
        ("gcloud run update a --cpu=4", f"{UPDATE} a ..."),
        ("gcloud run services rank --cpu=4", f"{UPDATE} rank ..."),
        ("gcloud run services updaterank --cpu=4", f"{UPDATE} ..."),
        ("gcloud beta run services updat a --cpu=4", "gcloud beta run services update a ..."),
        ("gcloud run services deploy a --image=b:1", "gcloud run deploy a ..."),
        ("gcloud run deplyo a --image=b:1", "gcloud run deploy a ..."),
        ("gcloud run rank --image=b:1", "gcloud run deploy rank ..."),
        ("gcloud deploy a --image=b:1", "gcloud run deploy a ..."),
        ("gcloud urn deploy a --image=b:1", "gcloud run deploy a ..."),
        ("gcloud rundeploy a --image=b:1", "gcloud run deploy a ..."),
        ("gcloud run services updat-traffic a --to-latest", "gcloud run services update-traffic a ..."),
    ],
)
def test_a_command_that_gcloud_does_not_have_is_said_with_the_one_that_was_meant(text: str, fix: str) -> None:
    assert only(text).fix == fix


def test_what_was_meant_is_read_on() -> None:
    found = read("gcloud run services updte rank --concurrency=8")
    assert (found.service["name"], found.service["template"]["maxInstanceRequestConcurrency"], found.complete) == ("rank", 8, False)
    assert read("gcloud run deplyo rank --image=b:1 --concurrency=8").complete


@pytest.mark.parametrize(
    "text",
    [
        "gcloud run services describe a --format=export",
        "gcloud run services logs read a --limit=5",
        "gcloud run services update-traffic a --to-latest",
        "gcloud run services $VERB a --cpu=4",
        f"{UPDATE} a --cpu=4",
        "gcloud --quiet run --verbosity=debug deploy a --image=b:1",
        "gcloud run services --region us-east4 update a --cpu=4",
    ],
)
def test_commands_that_gcloud_has_are_no_mistake(text: str) -> None:
    assert read(text).problems == ()


@pytest.mark.parametrize(
    "text",
    [
        "gcloud run jobs deploy a --image=b:1",
        "gcloud run worker-pools deploy a --image=b:1",
        "gcloud alpha run newer a --image=b:1",
        "gcloud deploy releases create a --region=us-east4",
        "gcloud run makes services of images",
        "gcloud functions deploy a --memory=1Gi",
    ],
)
def test_commands_of_other_kinds_are_not_read(text: str) -> None:
    assert read_commands(text) is None


def test_a_flag_in_front_of_the_commands_name_is_refused_and_read_as_meant() -> None:
    text = "gcloud run services --timeout=5 update a"
    problem = only(text)
    assert (problem.field, problem.fix) == ("--timeout", f"{UPDATE} ... --timeout=5")
    assert read(text).service["template"]["timeout"] == "5s"
    assert only("gcloud run --cpu 4 deploy a --image=b:1").field == "--cpu"


def test_a_flag_that_no_command_has_is_unknown_wherever_it_stands() -> None:
    problems = read("gcloud run --max-concurrency 60 deploy a --image=b:1").problems
    assert [each.kind for each in problems] == [ReadingProblem.UNKNOWN_FLAG]


def test_the_groups_flags_are_heard_in_front_of_the_name() -> None:
    assert read("gcloud run services --region=us-east4 --project acme update a --cpu=4").region == "us-east4"


@pytest.mark.skipif(not gcloud_parser.installed(), reason="gcloud is not installed: its own parser cannot be asked")
def test_the_words_are_gclouds() -> None:
    known = [["gcloud", "run", word, "--no-such-flag"] for word in sorted(OF_RUN - {"exec", "instances", "compose", "integrations"})]
    known += [["gcloud", "run", "services", word, "--no-such-flag"] for word in sorted(OF_SERVICES)]
    refusals = [reading.error or "" for reading in gcloud_parser.parse_all(known)]
    assert [words for words, error in zip(known, refusals, strict=True) if f"Invalid choice: '{words[-2]}'" in error] == [
        ["gcloud", "run", "multi-region-services", "--no-such-flag"],
        ["gcloud", "run", "worker-pools", "--no-such-flag"],
        ["gcloud", "run", "workers", "--no-such-flag"],
    ]
    run, services = gcloud_parser.flag_tables([["run"], ["run", "services"]])
    assert {name.removeprefix("--") for name in set(services["flags"]) - set(run["flags"])} == GROUP_FLAGS
