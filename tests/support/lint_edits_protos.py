"""Random edits of protobuf texts."""

import re
from collections.abc import Callable
from random import Random

from tests.support.lint_edits_texts import edited_characters, edited_lines, misspelt

_TOKEN = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|[\w.+-]+|\s+|.")
_ALPHABET = "{}<>[]():;,=\"'#/ \n\t._-+0129abcx\\"
_NUMBERS = (
    "0",
    "-1",
    "-0",
    "1.5",
    "32.0",
    "1e3",
    "0x20",
    "017",
    "08",
    "1_000",
    "+4",
    "1,000",
    "1000us",
    "5ms",
    "9223372036854775808",
    "99999999999999999999",
    '"32"',
    "'8'",
    "true",
    "null",
    "inf",
    "16 16",
    "[1, 2]",
    "{ value: 4 }",
    "",
)
_FIELDS = (
    "max_batch_size",
    "maxBatchSize",
    "batch_size",
    "preferred_batch_size",
    "batch_timeout_micros",
    "batch_timeout_ms",
    "max_enqueued_batches",
    "num_batch_threads",
    "allowed_batch_sizes",
    "batching_parameters",
    "max_latency",
    "enable_batching",
    "model_version_policy",
    "version_policy",
    "model_platform",
    "model_type",
    "versions",
    "labels",
    "path",
    "value",
    "name",
)
_LINES = (
    "enable_batching: true",
    "max_batch_size: 32",
    "batching_parameters {",
    "}",
    "// tuned in May",
    "/* tuned */",
    "# tuned",
    "---",
    "max_queue_delay_microseconds: 100",
    "num_batch_threads { value: 2 }",
    "pad_variable_length_inputs { value: true }",
    "allowed_batch_sizes { value: 8 }",
    'thread_pool_name: "p"',
    'model_platform: "tensorflow"',
    "model_version_policy { all { } }",
    "model_version_policy: ALL",
    'version_labels: {"stable": 1}',
    "batching_parameters { max_batch_size { value: 8 } }",
    "enable: 1",
)


def edit_proto(random: Random, text: str) -> tuple[str, str]:
    """The text with one edit in it, and what was done."""
    how = random.random()
    if how < 0.3:
        return edited_characters(random, text, _ALPHABET)
    if how < 0.42:
        return edited_lines(random, text)
    edit = random.choice(_EDITS)
    tokens = _TOKEN.findall(text)
    said = edit(random, tokens)
    return "".join(tokens), f"{edit.__name__.strip('_')}: {said}"


def _some(random: Random, tokens: list[str], pattern: str) -> int:
    there = [index for index, token in enumerate(tokens) if re.fullmatch(pattern, token)]
    return random.choice(there) if there else random.randrange(len(tokens))


def _drop(random: Random, tokens: list[str]) -> str:
    return tokens.pop(_some(random, tokens, r"\S+"))


def _double(random: Random, tokens: list[str]) -> str:
    at = _some(random, tokens, r"\S+")
    tokens.insert(at, tokens[at] + random.choice(("", " ")))
    return tokens[at]


def _swap(random: Random, tokens: list[str]) -> str:
    one, other = _some(random, tokens, r"\S+"), _some(random, tokens, r"\S+")
    tokens[one], tokens[other] = tokens[other], tokens[one]
    return f"{tokens[one]} and {tokens[other]}"


def _misspell(random: Random, tokens: list[str]) -> str:
    at = _some(random, tokens, r"[a-z]\w+")
    tokens[at] = misspelt(random, tokens[at])
    return tokens[at]


def _other_field(random: Random, tokens: list[str]) -> str:
    at = _some(random, tokens, r"[a-z]\w+")
    tokens[at] = random.choice(_FIELDS)
    return tokens[at]


def _other_number(random: Random, tokens: list[str]) -> str:
    at = _some(random, tokens, r"[0-9]\w*|0\.\d+")
    tokens[at] = random.choice(_NUMBERS)
    return tokens[at]


def _other_punctuation(random: Random, tokens: list[str]) -> str:
    at = _some(random, tokens, r"[{}<>:,;\[\]]")
    was = tokens[at]
    tokens[at] = random.choice(("=", ": ", ":=", "{", "}", "(", ")", "[", "]", "<", ">", ",", ";", ";;", " ", "\u201c"))
    return f"{was} to {tokens[at]}"


def _scalar_for_message(random: Random, tokens: list[str]) -> str:
    """`x { value: 3 }` to `x: 3`, at the first chance behind a random place."""
    text = "".join(tokens)
    found = list(re.finditer(r"\s*:?\s*[{<]\s*value:\s*([^}>]*?)\s*[}>]", text))
    if not found:
        return "no wrapper"
    match = random.choice(found)
    tokens[:] = [text[: match.start()], random.choice((": ", " ", "=", " = ")), match[1], text[match.end() :]]
    return match[0]


def _message_for_scalar(random: Random, tokens: list[str]) -> str:
    """`x: 3` to `x { value: 3 }`."""
    text = "".join(tokens)
    found = list(re.finditer(r":\s*([\w.]+|\"[^\"]*\")", text))
    if not found:
        return "no scalar"
    match = random.choice(found)
    form = random.choice((" {{ value: {} }}", " {{ {} }}", ": {{ value: {} }}", " <value: {}>", ": [{}]", " {}"))
    tokens[:] = [text[: match.start()], form.format(match[1]), text[match.end() :]]
    return match[0]


def _more_line(random: Random, tokens: list[str]) -> str:
    line = random.choice(_LINES)
    lines = "".join(tokens).split("\n")
    lines.insert(random.randrange(len(lines) + 1), line)
    tokens[:] = ["\n".join(lines)]
    return line


def _quotes(random: Random, tokens: list[str]) -> str:
    at = _some(random, tokens, r"\"[^\"]*\"|'[^']*'|[\w.]+")
    word = tokens[at]
    bare = word.strip("\"'")
    tokens[at] = random.choice((bare, f'"{bare}"', f"'{bare}'", f"\u201c{bare}\u201d", f'"{bare}', f'"{bare}" "x"'))
    return f"{word} to {tokens[at]}"


def _blank(random: Random, tokens: list[str]) -> str:
    at = random.randrange(len(tokens))
    blank = random.choice(("\t", "\r\n", "\u00a0", "\n\n", "  ", "\ufeff", "\u200b"))
    tokens.insert(at, blank)
    return repr(blank)


_EDITS: tuple[Callable[[Random, list[str]], str], ...] = (
    _drop,
    _double,
    _swap,
    _misspell,
    _misspell,
    _other_field,
    _other_number,
    _other_number,
    _other_punctuation,
    _scalar_for_message,
    _message_for_scalar,
    _more_line,
    _quotes,
    _blank,
)
