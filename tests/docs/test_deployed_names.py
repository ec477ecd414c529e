"""The guides name what is deployed: each topic, subscription, function and account in them is one of shared/deployment.py."""

import re
from pathlib import Path

import pytest

from shared.deployment import (
    ACCOUNTS,
    CHANGES_SINK,
    EVENTS_TOPIC,
    FUNCTIONS,
    TICK_JOB,
    dead_letter_subscription,
    dead_letter_topic,
    service_name,
    topic_name,
)

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs/operations.md", *sorted((ROOT / "docs/guides").glob("*.md"))]
TOPICS = {topic_name(each) for each in (*FUNCTIONS, EVENTS_TOPIC)} | {dead_letter_topic(each) for each in FUNCTIONS}
SERVICES = {service_name(each) for each in FUNCTIONS}
SUBSCRIPTIONS = SERVICES | {dead_letter_subscription(each) for each in FUNCTIONS}
SERVED = {"ranker", "scorer"}
OTHER = {"trimtab-demo", "trimtab-manifest", "trimtab-profiler", "trimtab-serving", "trimtab-serving-ranker"}
"""Files, and accounts of served models."""
NAME = r"([a-z][\w-]+)"
NAMED = (
    (TOPICS, rf"projects/[a-z0-9-]+/topics/{NAME}"),
    (TOPICS, rf"pubsub topics \w+ {NAME}"),
    (TOPICS, rf'topic_path\("[^"]+", "{NAME}"\)'),
    (TOPICS, rf"\btopics? `{NAME}`"),
    (SUBSCRIPTIONS, rf"projects/[a-z0-9-]+/subscriptions/{NAME}"),
    (SUBSCRIPTIONS, rf"pubsub subscriptions \w+ {NAME}"),
    (SUBSCRIPTIONS, rf"\bsubscriptions? `{NAME}`"),
    (SERVICES, rf"\bfunctions? `{NAME}`"),
    (SERVICES, rf"gcloud functions \w+ {NAME}"),
    (SERVICES | SERVED, rf"run services [\w-]+ {NAME}"),
)
"""What may stand there, and where."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_is_deployed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    wrong = [(name, pattern) for known, pattern in NAMED for name in re.findall(pattern, text) if name not in known]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_name_of_ours_in_a_page_is_one_that_there_is(page: Path) -> None:
    known = TOPICS | SUBSCRIPTIONS | {f"trimtab-{each}" for each in ACCOUNTS} | {TICK_JOB, CHANGES_SINK} | OTHER
    used = set(re.findall(r"\btrimtab-[a-z]+(?:-[a-z]+)*\b", page.read_text(encoding="utf-8")))
    assert used - known == set()


def test_the_guide_to_commands_is_read() -> None:
    """So that the two above do not pass because their patterns find nothing."""
    text = (ROOT / "docs/guides/send-a-command.md").read_text(encoding="utf-8")
    assert {name for _, pattern in NAMED for name in re.findall(pattern, text)} == {"trimtab-commands", "trimtab-command"}
