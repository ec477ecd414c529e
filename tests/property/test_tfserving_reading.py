"""The readers of TF Serving's files against protobuf's own parser, on files with random edits; and on any text at all."""

import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st

from shared.tfserving.batching_reading import read_batching_file
from shared.tfserving.descriptors import new_message, pool
from shared.tfserving.models_reading import read_models_file
from shared.tfserving.monitoring_reading import read_monitoring_file
from shared.tfserving.reading import Reading

Read = Callable[[str], Reading[Any]]

BATCHING = """\
# online
max_batch_size { value: 32 }
batch_timeout_micros: { value: 1000 }  # 1 ms
max_enqueued_batches { value: 4 }
num_batch_threads < value: 0x2 >
thread_pool_name { value: "pool" }
allowed_batch_sizes: 1
allowed_batch_sizes: [8, 32];
pad_variable_length_inputs: false
enable_large_batch_splitting { value: true }
max_execution_batch_size { value: 32 }
"""
MODELS = """\
# two models
model_config_list {
  config {
    name: "ctr"  # clicks
    base_path: "gs://acme-models/ctr"
    model_platform: "tensorflow"
    model_version_policy { specific { versions: 41 versions: 42 } }
    version_labels { key: "stable" value: 41 }
    version_labels: [{ key: 'canary' value: 42 }]
  }
  config: {
    name: 'cvr', base_path: '/models/cvr'; model_type: TENSORFLOW
    model_version_policy { latest { num_versions: 2 } }
    logging_config { sampling_config { sampling_rate: 0.1 } }
  }
}
"""
MONITORING = 'prometheus_config { enable: true path: "/monitoring/prometheus/metrics" }\n'
READERS: dict[str, tuple[str, str, Read]] = {
    "batching": ("BatchingParameters", BATCHING, read_batching_file),
    "models": ("ModelServerConfig", MODELS, read_models_file),
}
EDITS = 1_000
PIECES: list[str] = [
    *"{}<>[]():;,=\"'#/\\ \n\t-+.*&|0123456789",
    *("value", "value: 5", "config", "name", "specific", "all {}", "max_batch_size", "max_batch_size: 32", "foo: 1", "true", "null"),
    *("//", "/*", "*/", "1e3", "0x", "- ", "```", "'''", "1,000", "gs://x", "é", "batching_parameters {", "version_labels {a: 1}"),
]
"""No piece holds a no-break space, a null byte or half of a surrogate pair: Python's parser takes these where TF Serving's tokenizer
refuses them ("Interpreting non ascii codepoint", "Invalid control characters"), and so do the readers. The same is true of `1_000`, `+1`
and `0b11`, which `differs` knows."""


def is_accepted(root: str, text: str) -> bool:
    try:
        text_format.Parse(text, new_message(root), descriptor_pool=pool())
    except text_format.ParseError:
        return False
    return True


def differs(text: str) -> bool:
    """Whether Python's parser and the server's may differ on the text: such a difference is no error of the reader's.

    Python takes numbers with an underscore, a plus sign or a binary prefix, which the server and the readers refuse. The server and the
    readers take a sign that stands apart from its number, which Python refuses. A backslash before a letter without a meaning is refused by
    the server's tokenizer, and deprecated in Python's.
    """
    return re.search(r"\d_\d|\+\d|\b0[bBoO]\d|-\s+\d|\\", text) is not None


def edited(chance: random.Random, text: str) -> str:
    """The text with one to three edits; half of them are of the kind that a valid file survives."""
    for _ in range(chance.randint(1, 3)):
        text = reshaped(chance, text) if chance.random() < 0.5 else broken(chance, text)
    return text


def reshaped(chance: random.Random, text: str) -> str:
    """A blank, a comment, a separator, another digit; a line twice, away or elsewhere."""
    lines = text.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    match chance.randrange(5):
        case 0:
            lines[at] = re.sub(r"(?<=[\s:{])(?=[\w{])", chance.choice([" ", "\t", "\r\n"]), lines[at], count=1)
        case 1:
            lines[at] = lines[at].rstrip("\n") + chance.choice([" # note: 5\n", ",\n", ";\n", "  \n", " #\n"])
        case 2:
            lines[at] = re.sub(r"\d", chance.choice("0123456789"), lines[at], count=1)
        case 3:
            lines.insert(chance.randrange(len(lines) + 1), lines[at])
        case _:
            lines.insert(chance.randrange(len(lines) + 1), lines.pop(at))
    return "".join(lines)


def broken(chance: random.Random, text: str) -> str:
    """A piece in, some characters out, or a part of the text elsewhere."""
    at, end = chance.randint(0, len(text)), chance.randint(1, 6)
    match chance.randrange(4):
        case 0:
            return text[:at] + chance.choice(PIECES) + text[at:]
        case 1:
            return text[:at] + text[at + end :]
        case 2:
            return text[:at] + chance.choice(PIECES) + text[at + end :]
    start = chance.randint(0, len(text))
    return text[:at] + text[start : start + 4 * end] + text[at:]


@pytest.mark.parametrize("kind", READERS)
def test_a_file_is_refused_by_the_parser_exactly_when_the_reader_finds_a_problem(kind: str) -> None:
    root, healthy, read = READERS[kind]
    chance = random.Random(f"{kind} 20")
    counts: Counter[tuple[bool, bool]] = Counter()
    wrong: list[str] = []
    for _ in range(EDITS):
        text = edited(chance, healthy)
        if differs(text):
            continue
        accepted, found = is_accepted(root, text), bool(read(text).problems)
        counts[accepted, found] += 1
        if accepted == found:
            wrong.append(text)
    refused, accepted_ones = counts[False, True] + counts[False, False], counts[True, False] + counts[True, True]
    assert min(refused, accepted_ones) > 100
    recall, false_errors = counts[False, True] / refused, counts[True, True] / accepted_ones
    assert recall >= 0.99, wrong
    assert false_errors <= 0.01, wrong


@pytest.mark.parametrize("kind", READERS)
def test_a_file_put_right_is_taken_by_the_parser_and_means_what_was_read(kind: str) -> None:
    root, healthy, read = READERS[kind]
    chance = random.Random(f"{kind} 21")
    repaired = 0
    for _ in range(EDITS):
        reading = read(edited(chance, healthy))
        if reading.repaired is None:
            continue
        repaired += 1
        again = read(reading.repaired)
        assert is_accepted(root, reading.repaired)
        assert (again.problems, again.meant) == ((), reading.meant)
    assert repaired > EDITS / 10


@pytest.mark.parametrize("kind", READERS)
def test_every_field_of_a_file_that_is_right_stands_on_its_line(kind: str) -> None:
    _, healthy, read = READERS[kind]
    chance = random.Random(f"{kind} 22")
    looked = 0
    for _ in range(EDITS):
        text = healthy
        for _ in range(chance.randint(1, 3)):
            text = reshaped(chance, text)
        reading = read(text)
        if reading.problems:
            continue
        lines = text.split("\n")
        for path, line in reading.lines.items():
            if path.endswith("]"):
                continue  # a value of a list, which may stand below the name
            name = path.rpartition(".")[2] or "model_config_list"
            assert name in lines[line - 1], (path, text)
            looked += 1
    assert looked > EDITS


@pytest.mark.parametrize("read", [read_batching_file, read_models_file, read_monitoring_file])
@given(text=st.text())
def test_any_text_has_an_answer(read: Read, text: str) -> None:
    reading = read(text)
    assert reading.meant is not None or reading.problems


@pytest.mark.parametrize("read", [read_batching_file, read_models_file, read_monitoring_file])
@given(parts=st.lists(st.sampled_from([*PIECES, "\0", "\ud800", "\u00a0", "\ufeff", "\u201c", "a:\n  b: 1\n", "- x\n"])))
def test_any_pieces_of_such_files_have_an_answer(read: Read, parts: list[str]) -> None:
    reading = read("".join(parts))
    assert reading.meant is not None or reading.problems


@given(text=st.sampled_from([MONITORING, BATCHING, MODELS]), at=st.integers(0, 900), more=st.text(max_size=4))
def test_the_reader_never_says_of_a_problem_nothing(text: str, at: int, more: str) -> None:
    for read in (read_batching_file, read_models_file, read_monitoring_file):
        for problem in read(text[:at] + more + text[at:]).problems:
            assert problem.message
            assert problem.line is None or problem.line >= 1


@pytest.mark.parametrize(
    "text",
    ["{" * 9_000, "a {" * 9_000, "[" * 9_000, '"\\"' * 9_000, "/*" * 9_000, "- a:\n" * 9_000, "1, " * 9_000, "#\n" * 9_000, "'" * 9_000],
)
def test_a_long_text_of_one_piece_has_an_answer(text: str) -> None:
    for read in (read_batching_file, read_models_file, read_monitoring_file):
        reading = read(text)
        assert reading.meant is not None or reading.problems
