"""Batching files as people have them: every mistake once, and the values that were meant."""

import pytest

from shared.tfserving.batching import parse_batching
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.batching_reading import read_batching_file
from shared.tfserving.reading import FormFault

SYNTAX, WRAPPER, UNKNOWN = FormFault.SYNTAX, FormFault.WRAPPER, FormFault.UNKNOWN_FIELD


def faults(text: str) -> list[tuple[FormFault, str]]:
    return [(problem.fault, problem.field) for problem in read_batching_file(text).problems]


def fixes(text: str) -> list[str]:
    return [problem.fix for problem in read_batching_file(text).problems]


def meant(text: str) -> dict[str, object]:
    reading = read_batching_file(text)
    assert reading.meant is not None
    return reading.meant.model_dump(exclude_defaults=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# max_batch_size: 32\n",
        "max_batch_size { value: 32 }",
        "max_batch_size: { value: 32 }\r\nnum_batch_threads < value: 0x2 >;\r\n",
        "allowed_batch_sizes: [1, 8]\n\tallowed_batch_sizes : 32,\n",
        "max_batch_size { }",
        "pad_variable_length_inputs: t",
    ],
)
def test_a_file_that_the_server_reads_has_no_problem(text: str) -> None:
    reading = read_batching_file(text)
    assert reading.problems == ()
    assert reading.repaired is None
    assert reading.meant == parse_batching(text)


def test_bare_numbers_are_one_mistake_each_and_mean_what_they_say() -> None:
    text = "max_batch_size: 64 batch_timeout_micros: 2000\nallowed_batch_sizes: 64\n"
    assert faults(text) == [(WRAPPER, "max_batch_size"), (WRAPPER, "batch_timeout_micros")]
    assert fixes(text) == ["max_batch_size { value: 64 }", "batch_timeout_micros { value: 2000 }"]
    assert meant(text) == {"max_batch_size": 64, "batch_timeout_micros": 2000, "allowed_batch_sizes": (64,)}


def test_the_message_names_the_field_and_the_value_and_says_what_the_parser_says() -> None:
    (problem,) = read_batching_file("max_batch_size: 64").problems
    assert problem.message == (
        '"max_batch_size" is a wrapper, so that zero and absent differ; here a bare 64 stands for it. The parser says: Expected "{".'
    )


@pytest.mark.parametrize(
    ("text", "fix", "value"),
    [
        ("allowed_batch_sizes { value: 8 }", "allowed_batch_sizes: 8", {"allowed_batch_sizes": (8,)}),
        ("allowed_batch_sizes { value: [1, 8] }", "allowed_batch_sizes: 1\nallowed_batch_sizes: 8", {"allowed_batch_sizes": (1, 8)}),
        ("allowed_batch_sizes { values: 1 values: 8 }", "allowed_batch_sizes: 1\nallowed_batch_sizes: 8", {"allowed_batch_sizes": (1, 8)}),
        ("pad_variable_length_inputs { value: true }", "pad_variable_length_inputs: true", {"pad_variable_length_inputs": True}),
        ("enable_large_batch_splitting: true", "enable_large_batch_splitting { value: true }", {"enable_large_batch_splitting": True}),
        ("max_batch_size: [32]", "max_batch_size { value: 32 }", {"max_batch_size": 32}),
        ('thread_pool_name: "pool"', 'thread_pool_name { value: "pool" }', {"thread_pool_name": "pool"}),
    ],
)
def test_a_plain_field_in_braces_and_a_wrapper_without_are_wrong_wrappers(text: str, fix: str, value: dict[str, object]) -> None:
    (problem,) = read_batching_file(text).problems
    assert (problem.fault, problem.fix) == (WRAPPER, fix)
    assert meant(text) == value


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ('"32"', "max_batch_size { value: 32 }"),
        ("32.0", "max_batch_size { value: 32 }"),
        ("1e3", "max_batch_size { value: 1000 }"),
        ("1,024", "max_batch_size { value: 1024 }"),
        ("1 024", "max_batch_size { value: 1024 }"),
        ("1'024", "max_batch_size { value: 1024 }"),
        ("1_024", "max_batch_size { value: 1024 }"),
        ("032.", "max_batch_size { value: 32 }"),
        ("08", "max_batch_size { value: 8 }"),
        ("+32", "max_batch_size { value: 32 }"),
        ("0b100000", "max_batch_size { value: 32 }"),
        ("1.000.000", "max_batch_size { value: 1000000 }"),
    ],
)
def test_a_number_in_another_notation_is_syntax_and_its_value_is_certain(written: str, fix: str) -> None:
    (problem,) = read_batching_file(f"max_batch_size {{ value: {written} }}").problems
    assert (problem.fault, problem.field, problem.fix) == (SYNTAX, "max_batch_size", fix)


@pytest.mark.parametrize("written", ["1.5", "1.024", "5k", "many", "99999999999999999999"])
def test_a_value_of_which_nobody_knows_what_was_meant_is_not_guessed(written: str) -> None:
    reading = read_batching_file(f"max_batch_size {{ value: {written} }}\nnum_batch_threads {{ value: 2 }}")
    assert [(problem.fault, problem.fix) for problem in reading.problems] == [(SYNTAX, "")]
    assert reading.meant == BatchingParameters(num_batch_threads=2)
    assert reading.repaired is None


def test_a_unit_is_certain_where_the_field_counts_microseconds() -> None:
    assert meant("batch_timeout_micros { value: 5ms }") == {"batch_timeout_micros": 5000}
    assert read_batching_file("max_batch_size { value: 5ms }").meant is None


def test_a_number_in_quotes_without_its_wrapper_is_two_mistakes() -> None:
    assert faults('max_batch_size: "32"') == [(SYNTAX, "max_batch_size"), (WRAPPER, "max_batch_size")]


def test_an_equals_sign_is_syntax_and_not_a_missing_wrapper_too() -> None:
    assert faults("max_batch_size = 32\nallowed_batch_sizes=8") == [(SYNTAX, "max_batch_size"), (SYNTAX, "allowed_batch_sizes")]
    assert fixes("max_batch_size = 32\nallowed_batch_sizes=8") == ["max_batch_size { value: 32 }", "allowed_batch_sizes: 8"]


def test_a_file_of_flags_is_read_as_fields() -> None:
    assert meant("--max_batch_size=32\n--num_batch_threads=2") == {"max_batch_size": 32, "num_batch_threads": 2}


@pytest.mark.parametrize("text", ["// one\nmax_batch_size { value: 32 } // two", "/* one\n * two */ max_batch_size { value: 32 }"])
def test_comments_of_other_languages_are_one_mistake_and_stay_comments(text: str) -> None:
    reading = read_batching_file(text)
    assert [problem.fault for problem in reading.problems] == [SYNTAX]
    assert reading.repaired is not None
    assert "# one" in reading.repaired
    assert "# two" in reading.repaired


def test_a_value_in_a_comment_is_no_value() -> None:
    assert meant("// max_batch_size { value: 64 }\nnum_batch_threads { value: 2 }") == {"num_batch_threads": 2}


def test_a_field_twice_is_syntax_and_which_of_two_values_was_meant_is_not_certain() -> None:
    reading = read_batching_file("max_batch_size { value: 32 }\nmax_batch_size { value: 64 }")
    (problem,) = reading.problems
    assert (problem.fault, problem.line) == (SYNTAX, 2)
    assert "on lines 1 and 2" in problem.message
    assert reading.repaired is None


def test_a_field_twice_with_one_value_is_put_right() -> None:
    assert read_batching_file("max_batch_size { value: 32 }\nmax_batch_size { value: 32 }").repaired == "max_batch_size { value: 32 }\n"


@pytest.mark.parametrize("text", ["allowed_batch_sizes: 1, 8, 32", "allowed_batch_sizes: 1 8 32", 'allowed_batch_sizes: "1,8,32"'])
def test_a_list_without_brackets_is_a_list(text: str) -> None:
    assert [problem.fault for problem in read_batching_file(text).problems] == [SYNTAX]
    assert meant(text) == {"allowed_batch_sizes": (1, 8, 32)}


@pytest.mark.parametrize(
    "text",
    [
        '{"max_batch_size": {"value": 32}, "allowed_batch_sizes": [1, 32]}',
        '{"max_batch_size": 32, "allowed_batch_sizes": [1, 32],}',
        '{"maxBatchSize": "32", "allowedBatchSizes": ["1", "32"], "threadPoolName": null}',
        "max_batch_size:\n  value: 32\nallowed_batch_sizes:\n  - 1\n  - 32\n",
        "---\nmax_batch_size: 32  # rows\nallowed_batch_sizes: [1, 32]\n",
        "max_batch_size: 32\nallowed_batch_sizes:\n- 1\n- 32\n",
    ],
)
def test_another_language_is_one_mistake_and_its_values_are_read(text: str) -> None:
    reading = read_batching_file(text)
    assert [problem.fault for problem in reading.problems] == [SYNTAX]
    assert reading.meant == BatchingParameters(max_batch_size=32, allowed_batch_sizes=(1, 32))
    assert reading.problems[0].fix == reading.repaired


def test_flat_pairs_of_name_and_value_are_no_yaml() -> None:
    assert faults("max_batch_size: 32\nallowed_batch_sizes: [1, 32]") == [(WRAPPER, "max_batch_size")]


def test_yaml_that_is_not_read_further_has_no_values() -> None:
    reading = read_batching_file("---\nmax_batch_size: &size 32\nmax_execution_batch_size: *size\n")
    assert reading.meant is None
    assert reading.problems[0].fault is SYNTAX


def test_an_unknown_field_is_dropped() -> None:
    text = "max_batch_size { value: 32 }\nallowed_batch_size_increment_factor: 1.5\n"
    (problem,) = read_batching_file(text).problems
    assert (problem.fault, problem.field, problem.line) == (UNKNOWN, "allowed_batch_size_increment_factor", 2)
    assert meant(text) == {"max_batch_size": 32}


@pytest.mark.parametrize("name", ["max_batch_sizes", "maxBatchSize", "MAX_BATCH_SIZE", "max-batch-size", "max_bach_size"])
def test_a_misspelt_field_is_one_mistake_and_means_the_real_one(name: str) -> None:
    (problem,) = read_batching_file(f"{name}: 32").problems
    assert (problem.fault, problem.fix) == (UNKNOWN, "max_batch_size { value: 32 }")
    assert meant(f"{name}: 32") == {"max_batch_size": 32}


@pytest.mark.parametrize("name", ["batch_timeout_ms", "batch_commit_timeout_micros", "min_batch_size"])
def test_a_name_that_means_something_else_is_not_taken_for_the_field_it_resembles(name: str) -> None:
    assert meant(f"{name} {{ value: 5 }}") == {}


def test_a_misspelt_field_beside_the_real_one_changes_nothing() -> None:
    assert meant("max_batch_sizes { value: 8 }\nmax_batch_size { value: 32 }") == {"max_batch_size": 32}


@pytest.mark.parametrize("name", ["batching_parameters", "BatchingParameters", "batching_config"])
def test_a_block_around_the_whole_is_an_unknown_field_and_its_content_is_judged(name: str) -> None:
    text = f"{name} {{\n  max_batch_size: 32\n  invented_field: 1\n}}\n"
    assert faults(text) == [(UNKNOWN, name), (WRAPPER, "max_batch_size"), (UNKNOWN, "invented_field")]
    assert meant(text) == {"max_batch_size": 32}


def test_models_in_the_batching_file_are_unknown_and_say_where_they_belong() -> None:
    (problem,) = read_batching_file('model_config_list { config { name: "m" } }').problems
    assert problem.fault is UNKNOWN
    assert "--model_config_file" in problem.message


def test_another_name_inside_a_wrapper_is_an_unknown_field() -> None:
    assert faults("max_batch_size { val: 32 }") == [(UNKNOWN, "max_batch_size.val")]
    assert meant("max_batch_size { val: 32 }") == {"max_batch_size": 32}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\ufeffmax_batch_size { value: 32 }", "a byte order mark"),
        ("max_batch_size\u00a0{ value: 32 }", "looks like a blank"),
        ("m\0ax_batch_size { value: 32 }", "not UTF-8"),
        ("max_batch_size { value: \u201c32\u201d }", "typographic quote"),
        ("```\nmax_batch_size { value: 32 }\n```", "Markdown"),
        ("max_batch_size { value: 32 } }", "too many"),
        ("max_batch_size { value: 32", "A closing brace is missing"),
        ("max_batch_size { value: 32 },,", "stands alone"),
        ("max_batch_size { 32 }", "inside the braces stands value:"),
        ("max_batch_size { value: 32 >", "closes"),
    ],
)
def test_what_an_eye_overlooks_is_said_and_put_right(text: str, said: str) -> None:
    reading = read_batching_file(text)
    (problem,) = reading.problems
    assert problem.fault is SYNTAX
    assert said in problem.message
    assert reading.repaired == "max_batch_size { value: 32 }\n"


def test_a_missing_brace_does_not_make_the_next_field_unknown() -> None:
    text = "max_batch_size { value: 32\nbatch_timeout_micros { value: 0 }\n"
    assert [problem.fault for problem in read_batching_file(text).problems] == [SYNTAX]
    assert meant(text) == {"max_batch_size": 32, "batch_timeout_micros": 0}


def test_prose_between_the_fields_is_stepped_over() -> None:
    reading = read_batching_file("$ cat batching.config\nmax_batch_size: 32\n")
    assert [problem.fault for problem in reading.problems] == [SYNTAX, WRAPPER]
    assert reading.meant == BatchingParameters(max_batch_size=32)


def test_a_sign_apart_from_its_number_is_read_as_the_server_reads_it() -> None:
    reading = read_batching_file("batch_timeout_micros { value: - 5 }")
    assert reading.problems == ()
    assert reading.meant == BatchingParameters(batch_timeout_micros=-5)


def test_the_file_put_right_keeps_comments_where_they_stood() -> None:
    text = "# online\nmax_batch_size: 32  # rows\n# a list\nallowed_batch_sizes { value: 1 }\nfoo: 1\n# end\n"
    assert read_batching_file(text).repaired == (
        "# online\nmax_batch_size { value: 32 }  # rows\n# a list\nallowed_batch_sizes: 1\n# end\n"
    )


def test_lines_are_known_in_a_right_file_and_in_a_wrong_one() -> None:
    right = "# c\nmax_batch_size { value: 32 }\nallowed_batch_sizes: [1,\n  32]\n"
    lines = read_batching_file(right).lines
    assert (lines["max_batch_size"], lines["allowed_batch_sizes"], lines["allowed_batch_sizes[1]"]) == (2, 3, 4)
    assert read_batching_file("\n\nmax_batch_size: 32").lines["max_batch_size"] == 3


def test_a_mistake_names_its_line() -> None:
    assert [problem.line for problem in read_batching_file("max_batch_size: 1\n\nnum_batch_threads: 2\nfoo: 1").problems] == [1, 3, 4]


def test_deep_nesting_is_refused_without_being_followed() -> None:
    reading = read_batching_file("a {" * 50_000)
    assert reading.meant is None
    assert "nested deeper" in " ".join(problem.message for problem in reading.problems)


def test_a_text_of_a_million_characters_is_refused_for_its_length() -> None:
    reading = read_batching_file("max_batch_size: 1\n" * 60_000)
    assert reading.meant is None
    (problem,) = reading.problems
    assert "characters" in problem.message


def test_of_many_mistakes_the_first_hundred_are_kept() -> None:
    reading = read_batching_file("max_batch_size = 1\n" * 5_000)
    assert len(reading.problems) == 100


def test_a_misspelt_field_beside_the_one_that_was_meant_is_not_put_right() -> None:
    reading = read_batching_file("max_batch_size { value: 64 }\nmax_batch_sise { value: 3 }\n")
    assert [problem.fix for problem in reading.problems] == ["leave max_batch_sise out, or max_batch_size with one of the two values"]
    assert reading.repaired is None
    assert meant("max_batch_size { value: 64 }\nmax_batch_sise { value: 3 }\n") == {"max_batch_size": 64}


def test_a_misspelt_field_alone_is_put_right() -> None:
    reading = read_batching_file("max_batch_sise { value: 3 }\n")
    assert [problem.fix for problem in reading.problems] == ["max_batch_size { value: 3 }"]
    assert reading.repaired == "max_batch_size { value: 3 }\n"


def test_a_misspelt_field_that_may_stand_often_is_one_more_of_it() -> None:
    text = "allowed_batch_sizes: 8\nalowed_batch_sizes: 16\n"
    assert read_batching_file(text).repaired == "allowed_batch_sizes: 8\nallowed_batch_sizes: 16\n"


def test_a_name_that_only_resembles_a_field_already_set_is_left_out() -> None:
    assert fixes("max_batch_size { value: 64 }\nmin_batch_size { value: 3 }\n") == ["leave min_batch_size out"]
