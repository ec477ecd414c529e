"""Evidence is bounded: in lines, in characters, and in how often one line counts."""

from shared.records.evidence import (
    KEPT_ALIKE,
    KEPT_LINES,
    LINE_LIMIT,
    Evidence,
    LogLine,
    LogLines,
    LogSource,
    Readings,
    Statistic,
    reading_key,
)
from shared.records.evidence_keys import ALL_KEYS, EXPECTED_KEYS
from shared.records.metric import Unknown
from tests.support.builders import at


def line(text: str, seconds: float = 0, *, source: LogSource = LogSource.SERVER, status: int | None = None) -> LogLine:
    return LogLine(at=at(seconds), source=source, text=text, status=status)


def words(lines: LogLines) -> list[str]:
    return [each.text for each in lines.lines]


def test_a_line_is_cut_and_one_that_says_nothing_is_none() -> None:
    cut = LogLine.of(text=f"  {'x' * 5_000}", at=at(0), source=LogSource.SERVER)
    assert cut is not None
    assert len(cut.text) == LINE_LIMIT
    assert LogLine.of(text=" \n", at=at(0), source=LogSource.SERVER) is None


def test_the_oldest_comes_first() -> None:
    assert words(LogLines.of([line("b", 2), line("a", 1), line("c", 3)])) == ["a", "b", "c"]


def test_of_lines_that_differ_in_numbers_only_the_newest_few_are_kept() -> None:
    kept = LogLines.of(line(f"retry: {n}", n) for n in range(100))
    assert words(kept) == [f"retry: {n}" for n in range(100 - KEPT_ALIKE, 100)]
    assert kept.complete


def test_two_statuses_are_not_alike() -> None:
    refused = [line("answered by the container", n, source=LogSource.REQUEST, status=429 + 74 * (n % 2)) for n in range(20)]
    assert len(LogLines.of(refused).lines) == 2 * KEPT_ALIKE


def test_more_than_fit_are_cut_at_the_old_end_and_said_to_be_missing() -> None:
    letters = [line("x" * (n + 1), n) for n in range(KEPT_LINES + 5)]
    kept = LogLines.of(letters)
    assert (len(kept.lines), kept.complete, kept.lines[-1].text) == (KEPT_LINES, False, "x" * (KEPT_LINES + 5))
    assert len(LogLines.of(letters, limit=3).lines) == 3


def test_keys_are_written_as_everybody_writes_them() -> None:
    assert reading_key("a/b", Statistic.P99, "ms") == "a/b p99 [ms]"
    assert reading_key("a/b", Statistic.RATE, "1/s", {"response_code": "429"}) == "a/b{response_code=429} rate [1/s]"
    assert len(set(ALL_KEYS)) == len(ALL_KEYS)
    assert set(EXPECTED_KEYS) < set(ALL_KEYS)


def test_evidence_survives_its_stored_form() -> None:
    whole = Evidence(logs=LogLines.of([line("a")]), readings=Readings.unknown(ALL_KEYS, "503"), service={"name": "x"})
    none = Evidence(logs=Unknown(reason="403"), readings=Unknown(reason="403"))
    for each in (whole, none):
        assert Evidence.from_stored(each.to_stored()) == each
