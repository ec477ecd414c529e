"""What is remembered of a model stays small, whatever is uploaded, and says what the next look needs."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.records.model import (
    DETAIL_LIMIT,
    KEPT_FILES,
    KEPT_FILES_OF_ONE,
    KEPT_MISSING,
    KEPT_NOTES,
    KEPT_PATH_CHARACTERS,
    KEPT_VERSIONS,
    MODEL_STATE_LIMIT_BYTES,
    NOTE_LIMIT,
    REASON_LIMIT,
    KeptFile,
    ModelState,
    VersionState,
    kept_text,
    kept_versions,
)
from tests.support.builders import NOW


def version(number: int, outcome: str = "complete", **fields: Any) -> VersionState:
    values = {"version": number, "folder": str(number), "outcome": outcome, "first_seen_at": NOW, "changed_at": NOW, "judged_at": NOW}
    return VersionState.model_validate({**values, **fields})


def files(count: int) -> tuple[KeptFile, ...]:
    path = "p" * KEPT_PATH_CHARACTERS
    return tuple(KeptFile(path=path, size_bytes=2**63 - 1, generation=2**64 - 1, crc32c="AAAAAA==") for _ in range(count))


def full(number: int) -> VersionState:
    """A version with everything at its bound."""
    return version(
        2**63 - 1 - number,
        folder="0" * 21 + str(2**63 - 1 - number),
        reason="r" * REASON_LIMIT,
        code="c" * 40,
        missing=("m" * DETAIL_LIMIT,) * KEPT_MISSING,
        notes=("n" * NOTE_LIMIT,) * KEPT_NOTES,
        size_bytes=2**63 - 1,
        look_again_at=NOW,
        content="f" * 64,
        stalled=True,
        completed_at=NOW,
        completed_files=files(KEPT_FILES_OF_ONE),
    )


def test_a_full_state_stays_below_its_limit() -> None:
    versions = kept_versions(full(number) for number in range(KEPT_VERSIONS + 10))
    text = "\U0001f600" * 512
    state = ModelState(
        uri="gs://" + "u" * 1_295,
        versions=versions,
        versions_not_kept=10**9,
        listed_at=NOW,
        not_before=NOW,
        list_error=text,
        list_note=text,
        next_look_at=NOW,
    )
    assert len(state.versions) == KEPT_VERSIONS
    assert sum(len(each.completed_files) for each in versions) == KEPT_FILES
    assert len(json.dumps(state.to_stored(), ensure_ascii=False).encode()) < MODEL_STATE_LIMIT_BYTES
    assert ModelState.from_stored(json.loads(json.dumps(state.to_stored()))) == state


def test_the_newest_versions_are_kept_the_newest_last() -> None:
    kept = kept_versions(version(number) for number in range(100))
    assert [each.version for each in kept] == list(range(70, 100))


def test_the_newest_complete_version_is_kept_however_many_others_came_after_it() -> None:
    kept = kept_versions([version(1), version(2), *(version(number, "incomplete") for number in range(3, 100))])
    assert (kept[0].version, kept[1].version, len(kept)) == (2, 71, KEPT_VERSIONS)


def test_the_files_of_the_newest_versions_are_remembered_first() -> None:
    kept = kept_versions(version(number, completed_files=files(KEPT_FILES_OF_ONE)) for number in range(5))
    assert [len(each.completed_files) for each in kept] == [0, 0, 30, 60, 60]


def test_latest_is_the_newest_complete_version() -> None:
    state = ModelState(uri="gs://b", versions=(version(3), version(7), version(8, "incomplete"), version(9, "refused")))
    assert (state.latest, state.complete) == (7, (7, 3))
    assert ModelState(uri="gs://b").latest is None


@given(st.text(max_size=800), st.integers(10, 400))
def test_a_kept_text_is_ascii_and_within_its_limit(text: str, limit: int) -> None:
    kept = kept_text(text, limit)
    assert kept.isascii()
    assert kept.isprintable()
    assert len(kept) <= limit


def test_a_short_text_is_kept_as_it_is_and_a_long_one_is_marked() -> None:
    assert kept_text("saved_model.pb is not there", 40) == "saved_model.pb is not there"
    assert kept_text("x" * 50, 10) == "xxxxxxx..."
    assert kept_text("a\nb", 10) == "a\\nb"


@pytest.mark.parametrize("change", [{"reason": "é"}, {"reason": "x" * 400}, {"folder": "v7"}, {"version": -1}, {"content": "x"}])
def test_a_version_beyond_its_bounds_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        version(7, **change)
