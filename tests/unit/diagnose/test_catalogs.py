"""The catalogs of causes and remedies: complete, consistent with each other, with commands that gcloud takes."""

import ast
import re
from pathlib import Path

import pytest

from shared.diagnose.cause_catalog import CAUSE_GROUPS, CAUSES
from shared.diagnose.known import KnownCause, KnownRemedy
from shared.diagnose.remedy_catalog import REMEDIES, REMEDY_GROUPS
from shared.lint.catalog import CODES
from shared.tfserving.batching import parse_batching
from shared.tfserving.flags import parse_flags
from tests.support.gcloud_parser import parse_updates
from tests.support.pasted import server_flags, service_updates

ROOT = Path(__file__).parents[3]
EACH_CAUSE = [pytest.param(cause, id=cause.name) for cause in CAUSES.values()]
EACH_REMEDY = [pytest.param(remedy, id=remedy.name) for remedy in REMEDIES.values()]
SYMBOLS = re.compile(r"(?<![\w'`/.-])[B-HJ-Z](?![\w'+-])|\b(?:Nmax|Qe|tau)\b|\bs\(B\)|\[(?:S|D|L|R|G|E|I \d+)\]")
SERVICE = {
    "apiVersion": "serving.knative.dev/v1",
    "kind": "Service",
    "metadata": {"name": "ranker"},
    "spec": {"template": {"spec": {"containers": [{"image": "tensorflow/serving:2.20.0-gpu"}]}}},
}


def sentence(text: str) -> bool:
    return bool(re.match(r"[A-Z0-9`(]", text) or re.match(r"(?:gRPC|queuing_latency|p99|container/)", text)) and "\n" not in text


def test_there_are_fifty_one_causes_and_fifty_remedies_each_in_one_group() -> None:
    assert (len(CAUSES), sum(len(group.causes) for group in CAUSE_GROUPS)) == (51, 51)
    assert (len(REMEDIES), sum(len(group.remedies) for group in REMEDY_GROUPS)) == (50, 50)
    names = [*CAUSES, *REMEDIES]
    assert all(re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name) for name in names)
    assert set(CAUSES).isdisjoint(REMEDIES)


def test_causes_that_share_a_name_with_a_lint_code_are_the_two_that_mean_the_same() -> None:
    assert set(CAUSES) & set(CODES) == {"startup-window-too-short", "queue-too-deep"}
    assert set(REMEDIES).isdisjoint(CODES)


@pytest.mark.parametrize("cause", EACH_CAUSE)
def test_a_cause_names_causes_and_remedies_that_exist(cause: KnownCause) -> None:
    others = [other.cause for other in cause.not_to_be_confused_with]
    wrong = [name for harm in cause.wrong_answers for name in harm.remedies]
    assert set(others) <= set(CAUSES) - {cause.name}
    assert set(cause.remedies) <= set(REMEDIES)
    assert set(wrong) <= set(REMEDIES)
    assert len({*others}) == len(others)
    assert len({*wrong}) == len(wrong)
    assert len({*cause.remedies}) == len(cause.remedies)


@pytest.mark.parametrize("cause", EACH_CAUSE)
def test_no_remedy_of_a_cause_is_also_its_wrong_answer(cause: KnownCause) -> None:
    assert set(cause.remedies).isdisjoint(name for harm in cause.wrong_answers for name in harm.remedies)


@pytest.mark.parametrize("cause", EACH_CAUSE)
def test_a_cause_has_every_text(cause: KnownCause) -> None:
    assert 10 < len(cause.title) <= 75
    assert not cause.title.endswith(".")
    for text in (cause.seen, cause.where_visible, *(harm.why for harm in cause.wrong_answers)):
        assert sentence(text), text
        assert re.search(r"[.`]$", text), text
        assert text.count("`") % 2 == 0, text
    assert cause.remedies
    assert cause.wrong_answers
    assert cause.not_to_be_confused_with
    assert all(other.tell and not other.tell.endswith(".") for other in cause.not_to_be_confused_with)


@pytest.mark.parametrize("remedy", EACH_REMEDY)
def test_a_remedy_has_every_text(remedy: KnownRemedy) -> None:
    assert 10 < len(remedy.title) <= 75
    assert not remedy.title.endswith(".")
    assert remedy.knob
    assert not remedy.knob.endswith(".")
    assert sentence(remedy.risk)
    assert remedy.risk.endswith(".")
    assert remedy.how
    long = [line for line in remedy.how.splitlines() if len(line) > 76]
    assert [line for line in long if " " in line.strip()] == []


@pytest.mark.parametrize("entry", [*EACH_CAUSE, *EACH_REMEDY])
def test_nobody_needs_to_know_our_symbols(entry: KnownCause | KnownRemedy) -> None:
    assert SYMBOLS.findall(str(entry)) == []


def test_what_stands_in_the_template_or_travels_in_it_is_a_new_revision_and_scaling_and_traffic_are_none() -> None:
    assert {name for name, remedy in REMEDIES.items() if remedy.new_revision is None} == {
        "pin-or-roll-back",
        "offload-host-work",
        "clear-revision-name",
        "fix-signature",
        "fix-model-path",
        "republish-version",
        "add-warmup",
    }
    in_place = {
        "raise-max-instances",
        "raise-min-instances",
        "lower-min-instances",
        "clamp-max-instances",
        "move-traffic",
        "grant-access",
        "wait",
    }
    assert {REMEDIES[name].new_revision for name in in_place} == {False}
    revisions = {"lower-concurrency", "raise-memory", "fix-probe", "lower-max-batch-size", "raise-server-threads", "fix-server-config"}
    assert {REMEDIES[name].new_revision for name in revisions} == {True}


def test_the_five_sources_of_resource_exhausted_do_not_share_their_first_remedy() -> None:
    five = ("server-thread-quota", "gpu-out-of-memory", "batch-queue-wait-timeout", "client-message-limit", "instance-cap-reached")
    assert len({CAUSES[name].remedies[0] for name in five}) == 5


def test_a_larger_queue_is_never_the_answer_to_requests_that_wait_too_long() -> None:
    for name in ("queue-too-deep", "batch-queue-wait-timeout", "batch-queue-full", "compute-bound-model"):
        assert "raise-max-enqueued-batches" in {each for harm in CAUSES[name].wrong_answers for each in harm.remedies}


def test_without_data_nothing_is_lowered() -> None:
    for name in ("insufficient-data", "metric-name-wrong"):
        assert "lower-min-instances" in {each for harm in CAUSES[name].wrong_answers for each in harm.remedies}


@pytest.mark.parametrize("remedy", EACH_REMEDY)
def test_what_is_to_be_pasted_into_a_file_or_the_server_is_read_by_it(remedy: KnownRemedy) -> None:
    if re.search(r"^(?:max_|batch_|num_|allowed_)", remedy.how):
        parse_batching(remedy.how)
    flags = server_flags(remedy.how)
    read = parse_flags(flags)
    assert (read.left_over, read.bad, len(read.given)) == ((), (), len(flags))


def test_gcloud_takes_every_update_that_is_to_be_pasted() -> None:
    updates = service_updates([remedy.how for remedy in REMEDIES.values()])
    assert len(updates) > 15
    assert [reading.error for reading in parse_updates(updates, SERVICE) if reading.error] == []


def test_a_remedy_of_a_new_revision_changes_the_template_and_one_in_place_does_not() -> None:
    remedies = [remedy for remedy in REMEDIES.values() if len(service_updates([remedy.how])) == 1]
    readings = parse_updates([service_updates([remedy.how])[0] for remedy in remedies], SERVICE)
    for remedy, reading in zip(remedies, readings, strict=True):
        if remedy.new_revision is not None and remedy.name != "retry-rollout-later":
            changed = reading.service["spec"]["template"] != SERVICE["spec"]["template"]  # type: ignore[index]
            assert changed == remedy.new_revision, remedy.name


def test_every_name_that_the_diagnosis_uses_is_in_a_catalog() -> None:
    unknown: dict[str, set[str]] = {}
    for path in (ROOT / "shared" / "diagnose").glob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in {"Cause", "Remedy", "Avoid"}:
                names = [arg.value for arg in call.args[:1] if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
                known = CAUSES if call.func.id == "Cause" else REMEDIES
                if set(names) - set(known):
                    unknown.setdefault(path.name, set()).update(set(names) - set(known))
    assert unknown == {}
