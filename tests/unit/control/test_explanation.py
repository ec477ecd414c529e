"""A decision in one sentence."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.control.explanation import EXPLANATION_LIMIT, explain
from shared.records.plan import Denial, DenialCode, FieldChange
from shared.records.service import OwnedField
from shared.records.signals import Signal


def change(before: int, after: int, field: OwnedField = OwnedField.MAX_INSTANCE_COUNT, reason: str = "it is full") -> FieldChange:
    return FieldChange(field=field, before=before, after=after, reason=reason, predicted="p")


def test_nothing_open_and_nothing_changed() -> None:
    assert explain((), (), ()) == "no incident open: nothing is changed."


def test_what_is_open_what_is_changed_and_why() -> None:
    sentence = explain((Signal.NO_INSTANCE, Signal.LATENCY), (change(4, 8),), ())
    assert sentence == "no-instance, latency open: raise scaling.max_instance_count from 4 to 8, because it is full."


def test_what_is_denied_follows_with_its_code() -> None:
    denials = (Denial(code=DenialCode.HOLD, message="held by ben"), Denial(code=DenialCode.QUOTA, message="5 are allowed"))
    assert explain((Signal.IDLE,), (), denials) == "idle open: nothing is changed; hold: held by ben; quota: 5 are allowed."


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (change(8, 6), "lower scaling.max_instance_count from 8 to 6"),
        (change(0, 6), "set scaling.max_instance_count from not set to 6"),
        (change(0, 1, OwnedField.MIN_INSTANCE_COUNT), "raise scaling.min_instance_count from 0 to 1"),
        (change(2, 1, OwnedField.MIN_INSTANCE_COUNT), "lower scaling.min_instance_count from 2 to 1"),
    ],
)
def test_each_kind_of_change_has_its_verb(made: FieldChange, words: str) -> None:
    assert words in explain((), (made,), ())


@given(st.integers(0, 5), st.integers(0, 400), st.text(max_size=400))
def test_it_is_bounded_whatever_there_is_to_say(changes: int, length: int, text: Any) -> None:
    denials = [Denial(code=DenialCode.QUOTA, message=text)] * 5
    sentence = explain(tuple(Signal), [change(1, 2, reason="r" * length)] * changes, denials)
    assert len(sentence) <= EXPLANATION_LIMIT
    assert sentence.endswith((".", "…"))
