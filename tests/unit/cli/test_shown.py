"""How changes are printed."""

import time

from cli.shown import LINES_LIMIT, change, comments, one_line


def test_a_value_is_one_line() -> None:
    assert list(change("a", None, 3)) == ["  a: not set -> 3"]
    assert list(change("a", "", " x")) == ['  a: "" -> " x"']
    assert list(change("a", [1, 2], [])) == ["  a: [1, 2] -> []"]


def test_of_a_list_of_texts_and_of_a_text_of_lines_only_the_changed_ones_are_shown() -> None:
    assert list(change("args", ["--a", "--b"], ["--a", "--c"])) == ["  args:", "    - --b", "    + --c"]
    assert list(change("file", "a\nb\n", "a\nb\nc\n")) == ["  file:", "    + c"]
    assert list(change("file", None, "a\nb\n")) == ["  file:", "    + a", "    + b"]


def test_a_text_that_differs_in_its_end_only_says_so() -> None:
    assert list(change("file", "a\nb", "a\nb\n")) == ["  file:", "    only line ends or spaces differ"]


def test_many_changed_lines_are_counted_and_soon_compared() -> None:
    started = time.monotonic()
    shown = list(change("file", "same\n" * 20_000, "same\n" * 10_000 + "other\n" * 9_000))
    assert time.monotonic() - started < 10
    assert len(shown) == LINES_LIMIT + 2
    assert shown[-1].endswith("lines more: --format json has them")


def test_control_characters_are_escaped_and_a_comment_stays_one_line() -> None:
    assert one_line("a\x1b[2Jb\n") == "a\\x1b[2Jb\\n"
    assert comments(["a\nservice: evil"]) == "# a\\nservice: evil\n"
