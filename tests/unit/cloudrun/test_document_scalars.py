"""What YAML 1.1 makes of texts without quotes that YAML 1.2 leaves texts."""

import pytest

from shared.cloudrun.document_scalars import OlderScalar, older_scalar


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", True),
        ("No", False),
        ("OFF", False),
        ("0x1F", 31),
        ("-0b11", -3),
        ("010", 8),
        ("+5", 5),
        ("1_000", 1000),
        ("1:30", 90),
        ("1:0:5", 3605),
    ],
)
def test_truth_values_and_whole_numbers(text: str, value: bool | int) -> None:
    found = older_scalar(text)
    assert isinstance(found, OlderScalar)
    assert (found, found.value) == (text, value)


@pytest.mark.parametrize("text", ["1_0.5", "1:30.5", ".inf", "-.INF", ".nan", "2026-10-05", "2026-10-05T10:00:00Z"])
def test_what_is_neither_has_no_value(text: str) -> None:
    found = older_scalar(text)
    assert isinstance(found, OlderScalar)
    assert found.value is None


@pytest.mark.parametrize("text", ["", "yEs", "08", "0o10", "0x", "_1", "1.2.3", "10:99", "v1", "-", "+", "2026-10", "gs://a", "0x_"])
def test_texts_in_both_versions(text: str) -> None:
    assert not isinstance(older_scalar(text), OlderScalar)
