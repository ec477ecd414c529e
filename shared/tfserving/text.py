"""Protobuf text in and out, as strict as TF Serving's own reader, with errors that say what was meant.

TF Serving reads its files with libprotobuf's C++ text parser. Python's `text_format` is the same language, read a little more
leniently: it takes `1_000`, `+1`, `0b11`, digits of other scripts, no-break spaces and a null byte inside a string, which the C++
tokenizer refuses ("Interpreting non ascii codepoint", "Invalid control characters encountered in text", "Need space between number
and identifier"), and any character behind a backslash ("Invalid escape sequence in string literal"). So the text is scanned for those
first. One thing is refused here that the server reads: a sign standing apart
from its number.
"""

import difflib
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from google.protobuf import text_encoding, text_format

from shared.errors import TrimtabError
from shared.tfserving.descriptors import PACKAGE, pool
from shared.tfserving.faults import shown

MAX_TEXT_CHARACTERS = 262_144
"""Ours, not the server's: a configuration of hundreds of models is far below it."""
MAX_DEPTH = 32
"""Ours, not the server's: the deepest legal file that is not a custom config nests five messages."""
MAX_PARSER_MESSAGE = 200
MAX_MEANING = 400

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\n\r\v\f]+)
    |(?P<comment>\#[^\n]*)
    |(?P<string>"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*')
    |(?P<word>[0-9A-Za-z_.+-]+)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_BLANKS = re.compile(r"(?:[ \t\n\r\v\f]++|#[^\n]*+)++")
_HARMLESS = re.compile(
    r"""(?:[ \t\n\r\v\f]++
    |\#[^\n]*+
    |[A-Za-z_][0-9A-Za-z_.+-]*+
    |-?(?:0|[1-9][0-9]*+)(?![0-9A-Za-z_.+-])
    |"[^"\\\n]*+"|'[^'\\\n]*+'
    |[:;,=\[\]()])++""",
    re.VERBOSE,
)
"""Tokens, whole ones, of which the server's tokenizer refuses none."""
_NUMBER = re.compile(
    r"-?(?:0[xX][0-9A-Fa-f]+|0[0-7]*|[1-9][0-9]*|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fF]?|(?i:inf(?:inity)?|nan)f?)"
)
NO_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*+(?P<escape>\\(?![abfnrtv\\?'\"0-7]|[xX][0-9A-Fa-f]|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}).)")
"""A backslash in a string that begins none of the escapes that the server's tokenizer knows."""
_IN_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_NESTING = {"{": 1, "<": 1, "}": -1, ">": -1}
_JSON = (
    "This looks like JSON. TF Serving reads protobuf text: field names without quotes, no outer braces, like max_batch_size { value: 32 }."
)
_NO_TEXT_FORMAT = "This is not protobuf text as TF Serving reads it: name: value or name { ... }, one after the other."
_NO_ESCAPE_MEANING = "A backslash begins an escape like \\n; a backslash itself is written twice, and paths have slashes."
_PLAIN_NUMBERS = "TF Serving reads plain numbers only (8, -1, 0x10): no underscore, no plus sign, no space after a minus, no unit."
_MEANINGS = {
    'Expected "}"': "A closing brace is missing.",
    "Couldn't parse integer": "A whole number stands here, without quotes, decimal point or exponent.",
    "Value out of range": "The number does not fit the field.",
    'Expected "true"': "true or false stands here, without quotes.",
    "Expected string": "A text in quotes stands here.",
    "String missing ending quote": "A text in quotes ends on the line on which it starts.",
    "Type ": "The message inside this Any is none of TF Serving's configuration.",
}
_UNKNOWN_FIELD = re.compile(r'Message type "(?P<type>[\w.]+)" has no field named "(?P<name>[^"]*)"')
_MULTIPLE = re.compile(r'should not have multiple "(?P<name>\w+)" fields')
_ONEOF = re.compile(r'Field "(?P<name>\w+)" is specified along with field "(?P<other>\w+)"')
_FIELD_BEFORE = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*[:=]?\s*\Z")
_INTEGER_AFTER = re.compile(r"[=:]?\s*(?P<number>-?[0-9]{1,19})(?![\w.])")
_WRAPPERS = ("google.protobuf.Int64Value", "google.protobuf.StringValue", "google.protobuf.BoolValue")
_ZERO = {"Int64Value": "0", "StringValue": '""', "BoolValue": "false"}
_WRAPPED_EXAMPLE = {"Int64Value": "32", "StringValue": '"name"', "BoolValue": "true"}


class ConfigTextError(TrimtabError):
    """A text that TF Serving would not read: where, what the parser says, and what was probably meant.

    `line` and `column` count from 1 and are None where the parser names no place. The whole message is bounded and printable.
    """

    def __init__(self, *, line: int | None, column: int | None, parser_message: str, meaning: str) -> None:
        self.line = line
        self.column = column
        self.parser_message = shown(parser_message, limit=MAX_PARSER_MESSAGE)
        self.meaning = shown(meaning, limit=MAX_MEANING)
        place = f"line {line}, column {column}: " if line is not None else ""
        super().__init__(f"{place}{self.parser_message.rstrip('.')}. {self.meaning}".rstrip())


def read_text(text: str, message: Any, error: type[ConfigTextError], hints: Mapping[str, str] | None = None) -> None:
    """Parse the text into the empty message.

    `hints` says, for field names that do not exist, what their author has probably read somewhere and what to write instead.

    Raises:
        ConfigTextError: as `error`; the text is not what TF Serving would read.
    """
    _scan(text, error)
    try:
        text_format.Parse(text, message, descriptor_pool=pool())
    except text_format.ParseError as refused:
        _raise_explained(refused, text, message, error, hints or {})


def write_text(message: Any) -> str:
    """The message as text, in the order of its field numbers; ASCII only; every value that is present is written.

    The stock printer writes a wrapper that holds zero as `batch_timeout_micros { }`: right for the parser, a riddle for a reader.
    """
    return text_format.MessageToString(message, as_utf8=False, descriptor_pool=pool(), message_formatter=_explicit)


def write_line(message: Any) -> str:
    """As `write_text`, on one line."""
    return text_format.MessageToString(message, as_utf8=False, as_one_line=True, descriptor_pool=pool(), message_formatter=_explicit)


def write_fields(message: Any) -> str:
    """As `write_text`, with one line for each field (and for each value of a repeated one)."""
    lines = []
    for field, value in message.ListFields():
        for part in value if field.is_repeated else (value,):
            alone = type(message)()
            if field.is_repeated:
                getattr(alone, field.name).append(part)
            elif field.message_type is not None:
                getattr(alone, field.name).CopyFrom(part)
            else:
                setattr(alone, field.name, part)
            lines.append(write_line(alone) + "\n")
    return "".join(lines)


def _explicit(message: Any, _indent: int, _as_one_line: bool) -> str | None:
    """What stands inside a message whose stock text hides a zero, or which the stock printer would look into (Any)."""
    name = message.DESCRIPTOR.full_name
    if name in _WRAPPERS and not message.value:
        return f"value: {_ZERO[message.DESCRIPTOR.name]}"
    if name.endswith(".VersionLabelsEntry"):
        return f'key: "{_escaped(message.key)}" value: {message.value}'
    if name == "google.protobuf.Any":
        return f'type_url: "{_escaped(message.type_url)}" value: "{_escaped(message.value)}"'
    return None


def _escaped(value: str | bytes) -> str:
    return text_encoding.CEscape(value.encode() if isinstance(value, str) else value, as_utf8=False)


class _Refusal(Exception):
    """What the scan found, and at which character."""

    def __init__(self, at: int, parser_message: str, meaning: str) -> None:
        super().__init__()
        self.at = at
        self.parser_message = parser_message
        self.meaning = meaning


def _scan(text: str, error: type[ConfigTextError]) -> None:
    """Refuse what the server's tokenizer refuses and Python's does not, and what is too large to be a configuration."""
    if len(text) > MAX_TEXT_CHARACTERS:
        raise error(
            line=None,
            column=None,
            parser_message=f"the text has {len(text)} characters",
            meaning=f"At most {MAX_TEXT_CHARACTERS} are read; no configuration of a model server is that long.",
        )
    try:
        _scan_characters(text)
        _scan_tokens(text)
    except _Refusal as refusal:
        raise error(
            line=text.count("\n", 0, refusal.at) + 1,
            column=refusal.at - text.rfind("\n", 0, refusal.at),
            parser_message=refusal.parser_message,
            meaning=refusal.meaning,
        ) from None


def _scan_characters(text: str) -> None:
    found = _IN_NO_TEXT.search(text)
    if found:
        raise _Refusal(
            found.start(),
            "Invalid control characters encountered in text",
            f"{found.group()!a} cannot stand in a text file: it is no protobuf text, or not UTF-8.",
        )


def _scan_tokens(text: str) -> None:
    blank = _BLANKS.match(text)
    at = blank.end() if blank is not None else 0
    first = _TOKEN.match(text, at)
    if first is not None and first.group()[0] in '{"':
        raise _Refusal(at, f"Expected identifier, got: {first.group()}", _JSON)
    depth = 0
    while at < len(text):
        if text[at] in _NESTING:
            depth += _NESTING[text[at]]
            if depth > MAX_DEPTH:
                raise _Refusal(at, f"nested deeper than {MAX_DEPTH} messages", "No configuration of a model server is that deep.")
            end = at + 1
        else:
            token = _TOKEN.match(text, at)
            if token is None or token.group() in ('"', "'"):
                return  # a string without an end: the parser says so
            _scan_token(token)
            end = token.end()
        harmless = _HARMLESS.match(text, end)
        at = harmless.end() if harmless is not None else end


def _scan_token(token: re.Match[str]) -> None:
    kind, word, at = token.lastgroup, token.group(), token.start()
    if kind == "word":
        _scan_number(word, at)
    elif kind == "string":
        _scan_string(word, at)
    elif kind == "other" and not " " < word < "\x7f":
        raise _Refusal(at, *_strange_character(word))


def _scan_number(word: str, at: int) -> None:
    if word[0] in "0123456789+-." and not _NUMBER.fullmatch(word):
        if not any(char.isdigit() for char in word):
            raise _Refusal(at, f"Expected identifier, got: {word}", _NO_TEXT_FORMAT)
        raise _Refusal(at, f"Couldn't parse number: {word}", _PLAIN_NUMBERS)


def _scan_string(word: str, at: int) -> None:
    if found := NO_ESCAPE.search(word):
        raise _Refusal(at + found.start("escape"), "Invalid escape sequence in string literal", _NO_ESCAPE_MEANING)


def _strange_character(char: str) -> tuple[str, str]:
    if char == "\ufeff":
        return "Interpreting non ascii codepoint 239", "The file starts with a byte order mark: save it as UTF-8 without one."
    if char.isascii():
        return "Invalid control characters encountered in text", f"{char!a} is no part of protobuf text."
    return (
        f"Interpreting non ascii codepoint {char.encode()[0]}",
        f"{char!a} stands outside quotes; text copied from a web page often has such a space, quote or dash: type it again.",
    )


def _raise_explained(
    refused: text_format.ParseError, text: str, message: Any, error: type[ConfigTextError], hints: Mapping[str, str]
) -> NoReturn:
    line, column = refused.GetLine(), refused.GetColumn()
    said = str(refused)
    before, after = "", ""
    if line is not None and column is not None:
        said = said.removeprefix(f"{line}:{column} : ")
        lines = text.split("\n")
        here = lines[line - 1] if line <= len(lines) else ""
        for quoted in (f"'{here}': ", "'': "):
            said = said.removeprefix(quoted)
        before = "\n".join([*lines[max(0, line - 3) : line - 1], here[: column - 1]])[-MAX_MEANING:]
        after = here[column - 1 :][:MAX_MEANING]
    raise error(line=line, column=column, parser_message=said, meaning=_meaning(said, before, after, message.DESCRIPTOR, hints)) from None


def _meaning(said: str, before: str, after: str, root: Any, hints: Mapping[str, str]) -> str:
    if unknown := _UNKNOWN_FIELD.search(said):
        return _unknown_field(unknown["type"], unknown["name"], hints)
    if multiple := _MULTIPLE.search(said):
        return f'"{multiple["name"]}" may stand once only: the server does not choose between two values, it refuses the file.'
    if oneof := _ONEOF.search(said):
        return f'"{oneof["name"]}" and "{oneof["other"]}" exclude each other: keep one of them.'
    if said.startswith('Expected "{"'):
        return _braces_wanted(before, after, root)
    if said.startswith('Expected ":"'):
        name = _name_before(before)
        return f'"{name}" is a plain field: write {name}: and its value, without braces or an equals sign; one line for each value.'
    if said.startswith("Expected identifier") and after[:1] in ('"', "'"):
        return "Field names stand without quotes: this is protobuf text, not JSON."
    for beginning, meaning in _MEANINGS.items():
        if said.startswith(beginning):
            return meaning
    return _NO_TEXT_FORMAT


def _unknown_field(type_name: str, name: str, hints: Mapping[str, str]) -> str:
    if name in hints:
        return hints[name]
    if type_name in _WRAPPERS:
        return 'Only "value" stands inside these braces, once: { value: 32 }.'
    if type_name.endswith(".VersionLabelsEntry"):
        return 'A label is an entry with key and value: version_labels { key: "stable" value: 42 }, once for each label.'
    known = [field.name for field in pool().FindMessageTypeByName(type_name).fields]
    near = difflib.get_close_matches(name[:100].lower(), known, n=1, cutoff=0.6)
    short = type_name.removeprefix(f"{PACKAGE}.")
    if near:
        return f'There is no such field in {short}. Did you mean "{near[0]}"?'
    return f"There is no such field in {short}; it has {', '.join(known) or 'none'}."


def _name_before(before: str) -> str:
    found = _FIELD_BEFORE.search(before)
    return found["name"] if found else "this"


def _braces_wanted(before: str, after: str, root: Any) -> str:
    name = _name_before(before)
    field = root.fields_by_name.get(name)
    if field is not None and field.message_type is not None and field.message_type.full_name in _WRAPPERS:
        number = _INTEGER_AFTER.match(after)
        example = _WRAPPED_EXAMPLE[field.message_type.name]
        if number and field.message_type.name == "Int64Value":
            example = number["number"]
        return f'"{name}" is a wrapper, so that zero and absent differ: write {name} {{ value: {example} }}.'
    if name == "version_labels":
        return 'A label is an entry with key and value: version_labels { key: "stable" value: 42 }.'
    return f'"{name}" is a message: write {name} {{ ... }}.'
