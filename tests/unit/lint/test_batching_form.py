"""The form of a batching file, and numbers that the server refuses."""

import pytest

from shared.lint.batching_form import RULES, last_size_rules, least_size_rules, order_rules, range_rules, splitting_rules
from tests.support.lint_deployments import codes, found
from tests.support.lint_files import asked

WHOLE = """\
max_batch_size { value: 32 }
batch_timeout_micros { value: 2000 }
max_enqueued_batches { value: 4 }
num_batch_threads { value: 2 }
allowed_batch_sizes: 1
allowed_batch_sizes: 8
allowed_batch_sizes: 32
"""


def of(text: str, rows: int | None = None) -> list[str]:
    return codes(RULES, asked(batching=text, rows=rows))


def test_a_right_file_has_no_finding() -> None:
    assert of(WHOLE) == []
    assert of("") == []


def test_no_file_has_no_finding() -> None:
    assert codes(RULES, asked()) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("max_batch_size = 32", "batching-file-syntax"),
        ("max_batch_size { value: 1e3 }", "batching-file-syntax"),
        ('{"max_batch_size": 32}', "batching-file-syntax"),
        ("max_batch_size:\n  value: 32\n", "batching-file-syntax"),
        ("max_batch_size { value: 32 } max_batch_size { value: 32 }", "batching-file-syntax"),
        ("max_batch_size: 32", "batching-wrapper-syntax"),
        ("pad_variable_length_inputs { value: false }", "batching-wrapper-syntax"),
        ("batching_parameters { max_batch_size { value: 32 } }", "batching-unknown-field"),
        ("batch_size { value: 32 }", "batching-unknown-field"),
    ],
)
def test_one_mistake_of_form_is_one_code(text: str, code: str) -> None:
    assert of(text) == [code]


def test_a_finding_of_form_has_its_line_and_a_fix_to_paste() -> None:
    (finding,) = [each for rule in RULES for each in found(rule, asked(batching="# b\nmax_batch_size: 32\n"))]
    assert str(finding.where) == "batching.txt:2: max_batch_size"
    assert finding.fix == "max_batch_size { value: 32 }"


def test_a_block_in_the_models_file_is_judged_as_if_it_were_the_file() -> None:
    models = 'model_config_list {\n  config {\n    name: "m"\n    batching_parameters {\n      num_batch_threads: 0\n    }\n  }\n}\n'
    findings = [each for rule in RULES for each in found(rule, asked(models=models))]
    assert [(each.code, str(each.where)) for each in findings] == [
        ("batching-wrapper-syntax", "models.config:5: num_batch_threads"),
        ("batching-value-out-of-range", "models.config:5: num_batch_threads"),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("max_batch_size { }", "input_batch_size_limit must be positive; was 0"),
        ("max_batch_size { value: -1 }", "no limit at all"),
        ("batch_timeout_micros { value: -5 }", "batch_timeout_micros must be non-negative; was -5"),
        ("num_batch_threads { value: 0 }", "num_batch_threads must be positive; was 0"),
        ("max_enqueued_batches { value: -1 }", "no limit at all"),
        (
            "max_enqueued_batches { value: 0 } enable_large_batch_splitting { value: true } max_batch_size { value: 8 }",
            "must be positive; was 0",
        ),
    ],
)
def test_a_number_out_of_range_is_told_in_the_servers_words(line: str, said: str) -> None:
    (finding,) = found(range_rules, asked(batching=line))
    assert finding.code == "batching-value-out-of-range"
    assert said in finding.message


@pytest.mark.parametrize("line", ["batch_timeout_micros { }", "max_enqueued_batches { value: 0 }", "num_batch_threads { value: 1 }"])
def test_zero_where_zero_is_legal_is_in_range(line: str) -> None:
    assert found(range_rules, asked(batching=line)) == []


def test_the_last_allowed_size_is_max_batch_size() -> None:
    (finding,) = found(last_size_rules, asked(batching="max_batch_size { value: 64 } allowed_batch_sizes: [1, 8, 32]"))
    assert "last entry was 32; expected 64" in finding.message
    assert finding.fix.endswith("allowed_batch_sizes: 32\nallowed_batch_sizes: 64")


def test_without_max_batch_size_the_last_allowed_size_is_compared_with_the_default() -> None:
    (finding,) = found(last_size_rules, asked(batching="allowed_batch_sizes: [1, 8]"))
    assert finding.fix == "max_batch_size { value: 8 }"
    assert found(last_size_rules, asked(batching="allowed_batch_sizes: [1, 1000]")) == []


def test_with_splitting_the_last_allowed_size_is_still_max_batch_size() -> None:
    text = "max_batch_size {{ value: 64 }} enable_large_batch_splitting {{ value: true }} max_execution_batch_size {{ value: 32 }} {}"
    assert found(last_size_rules, asked(batching=text.format("allowed_batch_sizes: 32")))
    assert found(last_size_rules, asked(batching=text.format("allowed_batch_sizes: [32, 64]"))) == []


@pytest.mark.parametrize("size", ["max_batch_size { value: 5k }", "batch_size_limit { value: 8 }", "max_batch_size"])
def test_a_size_that_cannot_be_read_is_not_taken_for_the_default(size: str) -> None:
    assert found(last_size_rules, asked(batching=f"{size}\nallowed_batch_sizes: [1, 8]")) == []


def test_allowed_sizes_that_do_not_increase_are_sorted_in_the_fix() -> None:
    (finding,) = found(order_rules, asked(batching="allowed_batch_sizes: [1, 16, 8]"))
    assert "8 stands behind 16" in finding.message
    assert finding.fix == "allowed_batch_sizes: 1\nallowed_batch_sizes: 8\nallowed_batch_sizes: 16\nmax_batch_size { value: 16 }"
    assert found(order_rules, asked(batching="allowed_batch_sizes: [8, 8]"))
    assert found(order_rules, asked(batching="allowed_batch_sizes: [1, 8, 16]")) == []


def test_the_smallest_allowed_size_is_compared_with_the_rows_of_a_request() -> None:
    text = "allowed_batch_sizes: [4, 8]"
    assert found(least_size_rules, asked(batching=text, rows=4)) == []
    (finding,) = found(least_size_rules, asked(batching=text, rows=2))
    assert "has 2 rows" in finding.message
    assert finding.fix.startswith("allowed_batch_sizes: 2\n")
    assert found(least_size_rules, asked(batching=text))


SPLITTING = "enable_large_batch_splitting { value: true }"


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        (f"{SPLITTING} max_batch_size {{ value: 8 }} max_execution_batch_size {{ value: 16 }}", "max_execution_batch_size { value: 8 }"),
        (SPLITTING, "max_batch_size { value: 32 }"),
        ("max_batch_size { value: 64 } max_execution_batch_size { value: 16 }", SPLITTING),
        ("max_execution_batch_size { value: 16 } enable_large_batch_splitting { }", SPLITTING),
    ],
)
def test_sizes_of_splitting_that_do_not_fit(text: str, fix: str) -> None:
    (finding,) = found(splitting_rules, asked(batching=text))
    assert (finding.code, finding.fix) == ("splitting-sizes-inconsistent", fix)


@pytest.mark.parametrize(
    "text",
    [
        f"{SPLITTING} max_batch_size {{ value: 64 }} max_execution_batch_size {{ value: 64 }}",
        f"{SPLITTING} max_batch_size {{ value: 64 }}",
        "max_batch_size { value: 64 }",
        "max_execution_batch_size { value: 16 } enable_large_batch_splitting { value: maybe }",
    ],
)
def test_sizes_of_splitting_that_fit_or_are_not_known(text: str) -> None:
    assert found(splitting_rules, asked(batching=text)) == []


def test_padding_with_the_first_element() -> None:
    assert of("pad_variable_length_inputs: true") == ["pad-first-element"]
    assert of("pad_variable_length_inputs: false") == []


def test_padding_in_the_wrong_form_is_judged_too() -> None:
    assert of("pad_variable_length_inputs { value: true }") == ["batching-wrapper-syntax", "pad-first-element"]


SPLIT = "max_batch_size { value: 64 } enable_large_batch_splitting { value: true } max_execution_batch_size { value: 16 }"


@pytest.mark.parametrize(
    ("text", "rows", "sizes"),
    [
        ("max_batch_size { value: 16 } allowed_batch_sizes: [8, 4, 32]", 1, [1, 4, 8, 16]),
        ("max_batch_size { value: 32 } allowed_batch_sizes: [16, 16, 8]", 4, [4, 8, 16, 32]),
        (
            f"{SPLIT} allowed_batch_sizes: [8, 4, 16]",
            1,
            [1, 4, 8, 16, 64],
        ),
    ],
)
def test_three_mistakes_in_one_list_have_one_right_list(text: str, rows: int, sizes: list[int]) -> None:
    findings = [each for rule in RULES for each in found(rule, asked(batching=text, rows=rows))]
    assert {each.code for each in findings} == {"allowed-last-not-max", "allowed-not-increasing", "allowed-min-too-large"}
    right = "\n".join(f"allowed_batch_sizes: {size}" for size in sizes)
    assert {each.fix for each in findings} == {right}


def test_a_right_list_with_no_maximum_gets_the_maximum_alone() -> None:
    (finding,) = found(last_size_rules, asked(batching="allowed_batch_sizes: [1, 8]"))
    assert finding.fix == "max_batch_size { value: 8 }"


def test_a_slip_in_a_list_is_put_right_with_the_lists_own_sizes() -> None:
    (finding,) = [
        each for rule in RULES for each in found(rule, asked(batching="max_batch_size { value: 8 }\nallowed_batch_sizes: [1, 8,]"))
    ]
    assert (finding.code, finding.fix) == ("batching-file-syntax", "allowed_batch_sizes: [1, 8]")
