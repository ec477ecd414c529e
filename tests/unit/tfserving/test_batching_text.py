"""What the file of --batching_parameters_file may look like, and what a refused one is told."""

import pytest

from shared.tfserving.batching import BatchingTextError, format_batching, parse_batching
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.text import MAX_DEPTH, MAX_MEANING, MAX_PARSER_MESSAGE, MAX_TEXT_CHARACTERS

GUIDE = """
max_batch_size { value: 32 }
batch_timeout_micros { value: 1000 }
max_enqueued_batches { value: 4 }
num_batch_threads { value: 2 }
allowed_batch_sizes: 1
allowed_batch_sizes: 8
allowed_batch_sizes: 32
pad_variable_length_inputs: false
enable_large_batch_splitting { value: true }
max_execution_batch_size { value: 32 }
"""


def test_the_whole_file() -> None:
    assert parse_batching(GUIDE) == BatchingParameters(
        max_batch_size=32,
        batch_timeout_micros=1_000,
        max_enqueued_batches=4,
        num_batch_threads=2,
        allowed_batch_sizes=(1, 8, 32),
        enable_large_batch_splitting=True,
        max_execution_batch_size=32,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", BatchingParameters()),
        ("  # nothing\n", BatchingParameters()),
        ("max_batch_size: { value: 128 }", BatchingParameters(max_batch_size=128)),
        ("max_batch_size < value: 128 >", BatchingParameters(max_batch_size=128)),
        ("max_batch_size { value: 0x20 }", BatchingParameters(max_batch_size=32)),
        ("max_batch_size { value: 010 }", BatchingParameters(max_batch_size=8)),
        ("max_batch_size { value: -1 }", BatchingParameters(max_batch_size=-1)),
        ("max_batch_size { }", BatchingParameters(max_batch_size=0)),
        ("batch_timeout_micros { value: 0 } # 0", BatchingParameters(batch_timeout_micros=0)),
        ("allowed_batch_sizes: [1,2,4]", BatchingParameters(allowed_batch_sizes=(1, 2, 4))),
        ("allowed_batch_sizes: []", BatchingParameters()),
        ("allowed_batch_sizes : 1", BatchingParameters(allowed_batch_sizes=(1,))),
        (
            "allowed_batch_sizes: 1, max_batch_size { value: 1 }; allowed_batch_sizes: 2",
            BatchingParameters(max_batch_size=1, allowed_batch_sizes=(1, 2)),
        ),
        ("pad_variable_length_inputs: true", BatchingParameters(pad_variable_length_inputs=True)),
        ("pad_variable_length_inputs: false pad_variable_length_inputs: true", BatchingParameters(pad_variable_length_inputs=True)),
        ("enable_large_batch_splitting { value: false }", BatchingParameters(enable_large_batch_splitting=False)),
        ("thread_pool_name { value: 'a' \"b\" } # é", BatchingParameters(thread_pool_name="ab")),
        ('thread_pool_name { value: "é" }', BatchingParameters(thread_pool_name="é")),
        ('thread_pool_name { value: "1_000 +1 {" }', BatchingParameters(thread_pool_name="1_000 +1 {")),
    ],
)
def test_legal_texts(text: str, expected: BatchingParameters) -> None:
    assert parse_batching(text) == expected
    assert parse_batching(format_batching(expected)) == expected


@pytest.mark.parametrize(
    ("text", "line", "column", "parser_message", "meaning"),
    [
        ("max_batch_size: 128", 1, 17, 'Expected "{"', "write max_batch_size { value: 128 }"),
        ("\nmax_batch_size = 128", 2, 16, 'Expected "{"', "write max_batch_size { value: 128 }"),
        ("max_batch_size:\n  value: 128\n", 2, 3, 'Expected "{"', "write max_batch_size { value: 32 }"),
        ("max_batch_size { value: 128.0 }", 1, 25, "Couldn't parse integer: 128.0", "without quotes, decimal point or exponent"),
        ("max_batch_size { value: 1e3 }", 1, 25, "Couldn't parse integer: 1e3", "without quotes, decimal point or exponent"),
        ('max_batch_size { value: "8" }', 1, 25, "Couldn't parse integer", "without quotes"),
        ("max_batch_size { valeu: 8 }", 1, 18, 'has no field named "valeu"', 'Only "value"'),
        ("max_batch_size { value: 1 value: 2 }", 1, 34, 'should not have multiple "value"', "once only"),
        ("allowed_batch_sizes { value: 1 }", 1, 21, 'Expected ":"', "allowed_batch_sizes: and its value"),
        ("pad_variable_length_inputs { value: true }", 1, 28, 'Expected ":"', "pad_variable_length_inputs: and its value"),
        ("pad_variable_length_inputs: yes", 1, 29, 'Expected "true" or "false"', "true or false"),
        ("enable_large_batch_splitting: true", 1, 31, 'Expected "{"', "write enable_large_batch_splitting { value: true }"),
        ("thread_pool_name: x", 1, 19, 'Expected "{"', 'write thread_pool_name { value: "name" }'),
        ("max_batch_size { value: 1 }\nmax_batch_size { value: 1 }", 2, 16, 'should not have multiple "max_batch_size"', "once only"),
        ("max_batch_sizes { value: 1 }", 1, 1, 'has no field named "max_batch_sizes"', 'Did you mean "max_batch_size"?'),
        ("Max_Batch_Size { value: 1 }", 1, 1, 'has no field named "Max_Batch_Size"', 'Did you mean "max_batch_size"?'),
        ("zzz { value: 1 }", 1, 1, 'has no field named "zzz"', "it has max_batch_size, batch_timeout_micros"),
        ("batch_commit_timeout_micros { value: 1 }", 1, 1, "has no field named", 'is "batch_timeout_micros"'),
        ("batching_parameters { max_batch_size { value: 1 } }", 1, 1, "has no field named", "without a wrapper"),
        ('{"max_batch_size": 32}', 1, 1, "Expected identifier", "looks like JSON"),
        ('# c\n "max_batch_size": 32', 2, 2, "Expected identifier", "looks like JSON"),
        ('max_batch_size { "value": 32 }', 1, 18, "Expected identifier", "without quotes"),
        ("---\nmax_batch_size: 1", 1, 1, "Expected identifier", "not protobuf text"),
        ("max_batch_size {", 1, 16, 'Expected "}"', "closing brace"),
        ("max_batch_size { value: 9223372036854775808 }", 1, 25, "Value out of range", "does not fit"),
        ('thread_pool_name { value: "x }', 1, 27, "String missing ending quote", "ends on the line"),
        ("thread_pool_name { value: x }", 1, 27, "Expected string", "in quotes"),
        ("allowed_batch_sizes: [1,]", 1, 25, "Couldn't parse integer", "whole number"),
        ("]", 1, 1, "Expected identifier", "not protobuf text"),
    ],
)
def test_refused_texts(text: str, line: int, column: int, parser_message: str, meaning: str) -> None:
    with pytest.raises(BatchingTextError) as refused:
        parse_batching(text)
    assert (refused.value.line, refused.value.column) == (line, column)
    assert parser_message in refused.value.parser_message
    assert meaning in refused.value.meaning
    assert str(refused.value).startswith(f"line {line}, column {column}: ")


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("max_batch_size { value: 1_000 }", 25),
        ("max_batch_size { value: +1 }", 25),
        ("max_batch_size { value: 0b11 }", 25),
        ("max_batch_size { value: 0o17 }", 25),
        ("max_batch_size { value: 09 }", 25),
        ("max_batch_size { value: - 1 }", 25),
        ("max_batch_size { value: \u0661 }", 25),
        ("max_batch_size\xa0{ value: 1 }", 15),
        ("max_batch_size\u2028{ value: 1 }", 15),
        ("\ufeffmax_batch_size { value: 1 }", 1),
        ("max_batch_size \x1c { value: 1 }", 16),
        ('thread_pool_name { value: "\0" }', 28),
        ("# \0", 3),
        ("# \ud800", 3),
        ("thread_pool_name { value: \u201cx\u201d }", 27),
    ],
)
def test_texts_that_python_would_read_or_blame_elsewhere(text: str, column: int) -> None:
    with pytest.raises(BatchingTextError) as refused:
        parse_batching(text)
    assert (refused.value.line, refused.value.column) == (1, column)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    "text",
    [
        "x" * MAX_TEXT_CHARACTERS,
        "x" * (MAX_TEXT_CHARACTERS + 1),
        "{" * 100_000,
        "max_batch_size {" * 10_000,
        "max_batch_size { value: " + "9" * 200_000 + " }",
        "max_batch_size { value: 0x" + "f" * 200_000 + " }",
        'thread_pool_name { value: "' + "\\a" * 100_000,
        '"' + '\\"' * 100_000,
        "'" * 99_999,
        " " * 200_000 + "x",
        "\n" * 200_000 + "x",
        "[" * 200_000,
        "#" * 200_000 + "\nx",
        "allowed_batch_sizes: [" + "1," * 50_000,
        "\0" * 1_000,
    ],
    ids=range(15),
)
@pytest.mark.timeout(20)
def test_hostile_texts_end_soon_and_small(text: str) -> None:
    with pytest.raises(BatchingTextError) as refused:
        parse_batching(text)
    assert len(refused.value.parser_message) <= MAX_PARSER_MESSAGE
    assert len(refused.value.meaning) <= MAX_MEANING
    assert str(refused.value).isprintable()


def test_too_deep_is_said_before_anything_recurses() -> None:
    with pytest.raises(BatchingTextError, match=f"nested deeper than {MAX_DEPTH}"):
        parse_batching("max_batch_size {" * (MAX_DEPTH + 1))


def test_zero_is_written() -> None:
    text = format_batching(
        BatchingParameters(
            max_batch_size=0,
            batch_timeout_micros=0,
            thread_pool_name="",
            allowed_batch_sizes=(0, 2),
            pad_variable_length_inputs=True,
            enable_large_batch_splitting=False,
        )
    )
    assert text == (
        "max_batch_size { value: 0 }\n"
        "batch_timeout_micros { value: 0 }\n"
        'thread_pool_name { value: "" }\n'
        "allowed_batch_sizes: 0\n"
        "allowed_batch_sizes: 2\n"
        "pad_variable_length_inputs: true\n"
        "enable_large_batch_splitting { value: false }\n"
    )
    assert format_batching(BatchingParameters()) == ""


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 1.5, "1", True])
def test_numbers_that_the_message_cannot_hold(value: object) -> None:
    with pytest.raises(ValueError, match="max_batch_size"):
        BatchingParameters.model_validate({"max_batch_size": value})


def test_a_name_that_is_no_text() -> None:
    with pytest.raises(ValueError, match="thread_pool_name"):
        BatchingParameters(thread_pool_name="\ud800")
