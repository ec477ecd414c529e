"""Reads a configuration file past its mistakes of syntax, as a tree. Pure; linear in the length of the text; never raises.

The protobuf parser stops at the first mistake. This one says what it is, reads what was certainly meant, and goes on. It knows no
message: whether a value fits its field is judged with the tree.
"""

import re

from shared.tfserving.form_blanks import SPACES, Blanks
from shared.tfserving.form_nodes import Document, Field, Items, Message, Problems, Scalar, Value, Written
from shared.tfserving.text import MAX_DEPTH

_STRAIGHT = {
    '"': re.compile(r'"(?:[^"\\\n]|\\[^\n])*"'),
    "'": re.compile(r"'(?:[^'\\\n]|\\[^\n])*'"),
}
_CURLY = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2018\u2019\u201a\u201b"
_IN_CURLY = re.compile(f"[{_CURLY}]([^{_CURLY}\"'\\n]*)[{_CURLY}\"']")
_UNENDED = re.compile(f"[\"'{_CURLY}]([^\\s{{}},;\"'{_CURLY}]*)[{_CURLY}]?")
_SWALLOWED = re.compile(r"""["'][^\s"']+\s++[A-Za-z_]\w*+\s*+:\s*+["']""")
"""A text whose end was forgotten, up to the beginning of the next one."""
_NEXT_PIECE = re.compile(r"""(?:[ \t\r\n\v\f]++|\#[^\n]*+)*+(?:"[^"\n]*"|'[^'\n]*')(?!\s*:)""")
_ONLY_ENDS = re.compile(r"[\s{},;\])>]*+(?:#.*)?")
_NAME = re.compile(r"[A-Za-z_][0-9A-Za-z_.\-]*")
_DASHED = re.compile(r"--?(?=[A-Za-z_])")
_EXTENSION = re.compile(r"\[[A-Za-z_][\w./\-]*\](?=\s*[:{<])")
_NUMBER = re.compile(r"[+-]?\.?[0-9][0-9A-Za-z_.+\-]*")
_SIGN_APART = re.compile(r"-[ \t\n\r\v\f]+(?=[0-9.])")
_NEXT_NUMBER = re.compile(f"(?:[ \\t{SPACES}]*,[ \\t]*|[ \\t{SPACES}]+)[+-]?[0-9][0-9A-Za-z_.+\\-]*|'[0-9]{{3}}(?![0-9A-Za-z_.])")
_BARE = re.compile(r"[A-Za-z][\w.+\-]*://[^\s,;{}<>\"']*|[~./\\$%@*][^\s,;{}<>\"']*|[A-Za-z]:\\[^\s,;{}<>\"']*")
_WORD = re.compile(r"[A-Za-z_][0-9A-Za-z_.+\-]*")
_REST_OF_BARE = re.compile(r"[^\s,;{}<>\[\]()\"'#:=]*")
_SIGN = re.compile(r"\s*[:={<]")
_SAME_LINE_VALUE = re.compile(r"[ \t]*(?:[\[\"']|[+-]?\.?[0-9]|(?:true|false|True|False)\b|/[^/*])")
_SEPARATORS = re.compile(r"[,; \t\n\r\v\f]+")
_CLOSINGS = re.compile(r"[}>) \t\n\r\v\f]+")
_JUNK = re.compile(r"[^\n{}]+")
_FENCE = re.compile(r"```[^\n]*|~~~[^\n]*")
_MAX_VALUELESS = 1_000
"""Names; so many are no slips."""
_MAX_REPEATED = 100
"""Values of a list that a fix repeats."""
_CLOSES = {"{": "}", "<": ">", "(": ")"}


class _TooDeepError(Exception):
    """The text nests deeper than any configuration."""


class _HopelessError(Exception):
    """What follows is not worth reading."""


class Parsing(Blanks):
    """One pass over one text. The problems are added to those given."""

    def __init__(self, text: str, problems: Problems) -> None:
        super().__init__(text, problems)
        self._valueless = 0
        self._quoted_names = 0
        self._plain_names = 0
        self._outer_braces = False
        self._unclosed = False
        self._no_string_before = {'"': 0, "'": 0}
        self._cut_short = False
        self._joined_sign = False
        self._name = ""
        """Of the field whose value is read."""

    def document(self) -> Document:
        """The whole text."""
        fields: list[Field] = []
        try:
            self._fields(fields, "", 0)
        except _HopelessError:
            self._cut_short = True
        except _TooDeepError:
            self._cut_short = True
            self._problems.uncertain(
                "",
                self._line(),
                f"Messages are nested deeper than {MAX_DEPTH}: no configuration of a model server is that deep. What follows was not read.",
            )
        is_json = self._outer_braces or self._quoted_names > self._plain_names
        comments = {comment.offset: comment for comment in self._all_comments()}
        return Document(
            tuple(fields),
            tuple(comments.values()),
            language="JSON" if is_json else "",
            unclosed=self._unclosed,
            cut_short=self._cut_short,
            joined_sign=self._joined_sign,
        )

    # --- Fields --------------------------------------------------------------------------------------------------------------------

    def _fields(self, fields: list[Field], closer: str, depth: int) -> None:
        """Fields up to the closing brace, which is taken; up to the end of the text where `closer` is empty."""
        if depth > MAX_DEPTH:
            raise _TooDeepError
        separator_may_follow = False
        while True:
            if self._problems.hopeless:
                raise _HopelessError
            self._skip()
            if self._at >= len(self._text):
                if closer:
                    self._missing_brace()
                return
            char = self._text[self._at]
            if char in "}>)":
                if closer:
                    self._close(char, closer)
                    return
                self._problems.syntax(
                    "", self._line(), f"A closing {char} too many: no block is open here.", f"leave this {char} out", once="closing"
                )
                self._pass(_CLOSINGS)
            elif char in ",;":
                if not separator_may_follow:
                    self._problems.syntax(
                        "",
                        self._line(),
                        f"A {char} stands alone here: one may follow a field. The parser says: Expected identifier, got: {char}",
                        f"leave this {char} out",
                        once="separator",
                    )
                    self._pass(_SEPARATORS)
                else:
                    self._at += 1
                separator_may_follow = False
            else:
                before = len(fields)
                self._field(fields, depth)
                separator_may_follow = len(fields) > before

    def _pass(self, run: re.Pattern[str]) -> None:
        found = run.match(self._text, self._at)
        self._at = found.end() if found is not None else self._at + 1

    def _close(self, char: str, closer: str) -> None:
        if char != closer:
            self._problems.syntax(
                "", self._line(), f"The block was opened with a brace that {closer} closes, and is closed with {char}.", closer, once="pair"
            )
        self._at += 1

    def _missing_brace(self) -> None:
        self._unclosed = True
        self._problems.syntax(
            "",
            self._lines.of(len(self._text.rstrip())),
            'A closing brace is missing. The parser says at the end of the file: Expected "}".',
            "}",
            once="missing brace",
        )

    def _field(self, fields: list[Field], depth: int) -> None:
        text, start = self._text, self._at
        char = text[start]
        self._name = ""
        if char in "{<" or (char == "[" and depth == 0 and not _EXTENSION.match(text, start)):
            self._outer(fields, depth)
        elif char in "\"'" or char in _CURLY:
            self._quoted(fields, depth)
        elif found := _EXTENSION.match(text, start):
            self._at = found.end()
            self._named(fields, found.group(), start, depth)
        elif found := _NUMBER.match(text, start):
            value = self._number(in_list=False)
            fields.append(Field("", value, "", self._line(start), start, self._at))
        elif char == "[":
            value_list = self._items(depth)
            fields.append(Field("", value_list, "", self._line(start), start, self._at))
        elif found := _NAME.match(text, start):
            self._at = found.end()
            self._plain_names += 1
            self._named(fields, found.group(), start, depth)
        elif (found := _DASHED.match(text, start)) and (name := _NAME.match(text, found.end())):
            self._problems.syntax(
                name.group(),
                self._line(),
                f"A field of the file stands without dashes: {found.group()}{name.group()} is the form of a command-line flag.",
                name.group(),
                once="dashes",
            )
            self._at = name.end()
            self._named(fields, name.group(), start, depth)
        else:
            self._junk()

    def _outer(self, fields: list[Field], depth: int) -> None:
        """A value without a name where a field should stand: the outer braces of JSON, or a slip."""
        start = self._at
        value = self._value(depth, in_list=False)
        if depth == 0 and value is not None and not isinstance(value, Scalar):
            self._outer_braces = True
            parts = value.items if isinstance(value, Items) else (value,)
            for part in parts:
                if isinstance(part, Message):
                    fields.extend(part.fields)
                else:
                    fields.append(Field("", part, "", part.line, start, self._at))
            return
        fields.append(Field("", value, "", self._line(start), start, self._at))

    def _quoted(self, fields: list[Field], depth: int) -> None:
        start = self._at
        value = self._string()
        content = value.text[1:-1] if value.written is Written.STRING else value.text
        name = _NAME.fullmatch(content)
        self._skip()
        if name is None or self._text[self._at : self._at + 1] not in (":", "=", "{", "<"):
            fields.append(Field("", value, "", value.line, start, self._at))
            return
        self._quoted_names += 1
        self._named(fields, content, start, depth, quoted=True)

    def _named(self, fields: list[Field], name: str, start: int, depth: int, *, quoted: bool = False) -> None:
        line, after = self._line(start), self._at
        self._name = name
        self._skip()
        sign = self._sign()
        if sign:
            self._skip()
        elif self._at < len(self._text) and self._text[self._at] not in "{<" and not _SAME_LINE_VALUE.match(self._text, after):
            self._no_value(fields, name, line, start, after)
            return
        value = self._value(depth + 1, in_list=False) if self._at < len(self._text) else None
        if value is None:
            self._count_as_valueless()
        fields.append(Field(name, value, sign, line, start, self._at, quoted))

    def _no_value(self, fields: list[Field], name: str, line: int, start: int, after: int) -> None:
        """Nothing that can be the name's value follows: prose, or a field with its value forgotten."""
        rest = _JUNK.match(self._text, after)
        if rest is not None and rest.group().strip() and self._line() == line:
            self._at = start
            self._junk()
            return
        self._count_as_valueless()
        fields.append(Field(name, None, "", line, start, after))

    def _count_as_valueless(self) -> None:
        """Each of them will be reported as uncertain."""
        self._valueless += 1
        if self._valueless > _MAX_VALUELESS:
            raise _HopelessError

    def _sign(self) -> str:
        text, at = self._text, self._at
        for sign in (":=", "=>", "==", ":", "="):
            if text.startswith(sign, at):
                self._at += len(sign)
                return ":" if sign == ":" else "="
        return ""

    def _junk(self) -> None:
        """Steps over what is no part of a configuration, to the end of the line or to the next brace."""
        start = self._at
        if fence := _FENCE.match(self._text, start):
            self._at = fence.end()
            self._problems.syntax(
                "", self._line(start), "The ``` of a quotation in Markdown is no part of the file.", "leave it out", once="fence"
            )
            return
        found = _JUNK.match(self._text, start)
        self._at = max(found.end() if found else start, start + 1)
        said = self._text[start : self._at].strip()
        shown = said if len(said) <= 60 else said[:59] + "…"  # noqa: PLR2004 (enough to find the place)
        self._problems.uncertain(
            "",
            self._line(start),
            f"{shown!r} is no field. The parser reads name: value or name {{ ... }}, and comments behind a #.",
            once="junk",
        )

    # --- Values --------------------------------------------------------------------------------------------------------------------

    def _value(self, depth: int, *, in_list: bool) -> Value | None:
        text, at = self._text, self._at
        char = text[at]
        if char in "{<(":
            return self._message(depth)
        if char == "[":
            return self._items(depth)
        if char in "\"'" or char in _CURLY:
            return self._string()
        if _NUMBER.match(text, at) or _SIGN_APART.match(text, at):
            return self._number(in_list=in_list)
        if found := _BARE.match(text, at):
            self._at = found.end()
            return Scalar(found.group(), Written.BARE, self._line(at))
        if found := _WORD.match(text, at):
            if not in_list and _SIGN.match(text, found.end()):
                return None
            whole = _REST_OF_BARE.match(text, found.end())
            self._at = whole.end() if whole else found.end()
            return Scalar(text[at : self._at], Written.WORD if self._at == found.end() else Written.BARE, self._line(at))
        return None

    def _message(self, depth: int) -> Message:
        opening, line = self._text[self._at], self._line()
        self._at += 1
        start = self._at
        fields: list[Field] = []
        if opening == "(":
            self._problems.syntax("", line, "A message stands in braces, not in parentheses.", "{ ... }", once="parentheses")
        self._fields(fields, _CLOSES[opening], depth + 1)
        closed = self._text[self._at - 1 : self._at] in ("}", ">", ")")
        return Message(tuple(fields), line, self._line(max(start, self._at - 1)), start, self._at - 1 if closed else self._at)

    def _items(self, depth: int) -> Items:
        if depth > MAX_DEPTH:
            raise _TooDeepError
        line = self._line()
        self._at += 1
        name = self._name
        items: list[Value] = []
        slips: list[tuple[str, int]] = []
        wants_separator, after_comma = False, False
        while True:
            self._skip()
            char = self._text[self._at : self._at + 1]
            if char == "]":
                self._at += 1
                if after_comma:
                    slips.append(("A comma stands before the closing bracket.", self._line()))
                self._list_slips(slips, name, items)
                return Items(tuple(items), line)
            if char == ",":
                if not wants_separator:
                    slips.append(("A comma stands in the list without a value before it.", self._line()))
                wants_separator, after_comma = False, True
                self._at += 1
                continue
            value = self._value(depth + 1, in_list=True) if char else None
            if value is None:
                self._list_slips(slips, name, items)
                self._problems.uncertain("", line, "The list is not closed, or holds what is no value: [1, 2, 4] is one.", once="list")
                return Items(tuple(items), line)
            if wants_separator:
                slips.append(('Values in a list are separated by commas. The parser says: Expected ",".', self._line()))
            wants_separator, after_comma = True, False
            items.append(value)

    def _list_slips(self, slips: list[tuple[str, int]], name: str, items: list[Value]) -> None:
        """Reports the slips between the values, each kind once, with the list as it should stand."""
        plain = [each.text for each in items if isinstance(each, Scalar)]
        whole = len(plain) == len(items) <= _MAX_REPEATED
        right = f"{f'{name}: ' if name else ''}[{', '.join(plain) if whole else '...'}]"
        for message, line in slips:
            self._problems.syntax("", line, message, right, once=message)

    def _number(self, *, in_list: bool) -> Scalar:
        text, start = self._text, self._at
        sign = ""
        if apart := _SIGN_APART.match(text, start):
            sign, self._at, self._joined_sign = "-", apart.end(), True
        found = _NUMBER.match(text, self._at)
        if found is None:
            self._at += 1
            return Scalar(sign, Written.BARE, self._line(start))
        begin, self._at = self._at, found.end()
        if not in_list:
            while more := _NEXT_NUMBER.match(text, self._at):
                self._at = more.end()
        whole = sign + text[begin : self._at]
        return Scalar(whole, Written.WORD if self._at == found.end() else Written.RUN, self._line(start))

    def _string(self) -> Scalar:
        """One string, or several that stand one behind the other and are one to the parser."""
        start, line = self._at, self._line()
        if self._text[start] in _CURLY:
            return self._curly(line)
        pieces: list[str] = []
        end = start
        while (quote := self._text[self._at : self._at + 1]) and quote in "\"'":
            piece = _STRAIGHT[quote].match(self._text, self._at) if self._at >= self._no_string_before[quote] else None
            if piece is None:
                self._no_string_before[quote] = self._lines.end(self._at)
                return self._unended(line)
            if _SWALLOWED.fullmatch(piece.group()):
                return self._unended(line)
            pieces.append(piece.group())
            self._at = end = piece.end()
            if not _NEXT_PIECE.match(self._text, end):
                break
            self._skip()
        self._at = end
        return Scalar(" ".join(pieces), Written.STRING, line)

    def _curly(self, line: int) -> Scalar:
        found = _IN_CURLY.match(self._text, self._at)
        if found is None:
            return self._unended(line)
        self._problems.syntax(
            "",
            line,
            f"{found.group()[0]!a} is a typographic quote, as word processors and web pages write it. A text stands in straight quotes.",
            f'"{found[1]}"',
            once="typographic",
        )
        self._at = found.end()
        return Scalar(found[1], Written.REPORTED, line)

    def _unended(self, line: int) -> Scalar:
        found = _UNENDED.match(self._text, self._at)
        content = found[1] if found else ""
        self._at = found.end() if found else self._at + 1
        end = self._lines.end(self._at)
        said = "A text in quotes ends on the line on which it starts. The parser says: String missing ending quote."
        if content and _ONLY_ENDS.fullmatch(self._text, self._at, min(end, self._at + 200)):
            self._problems.syntax("", line, said, f'"{content}"')
        else:
            self._problems.uncertain("", line, said)
        return Scalar(content, Written.REPORTED, line)
