"""What is logged is one line of JSON, bounded, whatever is handed in."""

import json
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared import log

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=2_000) | st.binary(max_size=50),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=8,
)


def read(line: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(line, parse_constant=pytest.fail)
    return content


@given(st.text(max_size=3_000), st.dictionaries(st.text(max_size=30), ANYTHING, max_size=12))
def test_whatever_is_logged_is_one_bounded_printable_line_of_plain_json(message: str, fields: dict[str, object]) -> None:
    line = log.line("INFO", message, fields)
    assert line.isascii()
    assert line.isprintable()
    assert len(line) <= log.LINE_LIMIT_BYTES
    assert "message" in read(line)


def test_a_line_is_what_cloud_logging_reads() -> None:
    line = log.line("WARNING", "later", {"key": "0.1:open", "count": 3, "ratio": 0.5, "known": True, "nothing": None})
    assert read(line) == {
        "severity": "WARNING",
        "message": "later",
        "key": "0.1:open",
        "count": 3,
        "ratio": 0.5,
        "known": True,
        "nothing": None,
    }


def test_line_breaks_escapes_and_other_alphabets_are_escaped() -> None:
    line = log.line("INFO", "a\nb\r\x1b[31m\u2028é😀\ud800", {})
    assert read(line)["message"] == "a\nb\r\x1b[31m\u2028é😀\ud800"
    assert "\\n" in line
    assert line.isascii()


def test_a_long_field_is_cut_and_says_how_long_it_was() -> None:
    said = read(log.line("INFO", "m" * 5_000, {"text": "x" * 5_000}))
    assert said["text"] == "x" * 1_000 + "… (5000 characters)"
    assert said["message"] == "m" * 1_000 + "… (5000 characters)"


@pytest.mark.parametrize("fields", [{f"f{n}": "x" * 1_000 for n in range(100)}, {"k" * 20_000: 1}, {"😀": "😀" * 1_000, "é": "😀" * 1_000}])
def test_a_line_beyond_the_limit_keeps_its_message_and_counts_what_it_left_out(fields: dict[str, object]) -> None:
    line = log.line("ERROR", "bug", fields)
    assert read(line) == {"severity": "ERROR", "message": "bug", "fields_left_out": len(fields)}


def test_the_longest_message_fits_a_line_by_itself() -> None:
    assert len(log.line("ERROR", "😀" * 5_000, {"text": "😀" * 5_000})) <= log.LINE_LIMIT_BYTES


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_has_not_is_logged_as_text(number: float) -> None:
    assert read(log.line("INFO", "m", {"n": number}))["n"] == str(number)


def test_a_number_of_any_length_is_logged_briefly() -> None:
    assert read(log.line("INFO", "m", {"n": 10**10_000}))["n"] == "an integer of 33220 bits"
    assert read(log.line("INFO", "m", {"n": -(2**63)}))["n"] == -(2**63)


def test_an_event_is_printed_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    log.event("INFO", "done", key="k")
    assert capsys.readouterr().out == '{"severity": "INFO", "message": "done", "key": "k"}\n'


def talk_and_break() -> None:
    with log.silenced():
        with log.silenced():
            log.event("INFO", "inner")
        log.event("INFO", "outer")
        raise ZeroDivisionError


def test_silence_is_kept_inside_and_ends_even_if_something_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError):
        talk_and_break()
    log.event("INFO", "after")
    assert [json.loads(line)["message"] for line in capsys.readouterr().out.splitlines()] == ["after"]


def test_lines_inside_a_context_carry_its_fields(capsys: pytest.CaptureFixture[str]) -> None:
    with log.within({"trace": "t1"}), log.within({"span": "s1"}):
        log.event("INFO", "inside", key="k")
    log.event("INFO", "outside", key="k")
    inside, outside = (read(line) for line in capsys.readouterr().out.splitlines())
    assert inside == {"severity": "INFO", "message": "inside", "key": "k", "trace": "t1", "span": "s1"}
    assert outside == {"severity": "INFO", "message": "outside", "key": "k"}


def test_another_thread_is_in_no_context_of_this_one(capsys: pytest.CaptureFixture[str]) -> None:
    with log.within({"trace": "t1"}):
        other = threading.Thread(target=log.event, args=("INFO", "elsewhere"))
        other.start()
        other.join()
    assert "trace" not in read(capsys.readouterr().out)


def test_what_is_around_gives_way_to_a_field_of_its_name() -> None:
    assert read(log.line("INFO", "inside", {"key": "mine"}, {"key": "around", "message": "around", "trace": "t1"})) == {
        "severity": "INFO",
        "message": "inside",
        "key": "mine",
        "trace": "t1",
    }


def test_a_line_that_is_too_long_keeps_what_is_around_it() -> None:
    many = {f"field{number}": "x" * 999 for number in range(20)}
    assert read(log.line("INFO", "m", many, {"trace": "t1"})) == {"severity": "INFO", "message": "m", "fields_left_out": 20, "trace": "t1"}
