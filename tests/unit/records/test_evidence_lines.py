"""A line of a log as evidence: bounded, and harmless to whoever reads it."""

from datetime import UTC, datetime

import pytest

from shared.records.evidence import LINE_LIMIT, LogLine, LogSource

AT = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)


def _line(text: str) -> LogLine | None:
    return LogLine.of(text=text, at=AT, source=LogSource.SERVER)


def test_a_line_is_cut_to_its_limit() -> None:
    line = _line("a" * (5 * LINE_LIMIT))
    assert line is not None
    assert line.text == "a" * LINE_LIMIT


def test_nothing_in_a_line_moves_a_terminals_cursor() -> None:
    line = _line("Task size 64\x1b[2J is larger\r\nthan maximum\0")
    assert line is not None
    assert line.text == "Task size 64 [2J is larger  than maximum"


@pytest.mark.parametrize("text", ["", "  \n", "\x1b\0"])
def test_a_line_that_says_nothing_is_none(text: str) -> None:
    assert _line(text) is None
