"""The words of one simple shell command: quotes, escapes, continued lines, variables, redirections. Pure."""

import re
from dataclasses import dataclass, field

from shared.cloudrun.shell_variables import UNKNOWN, Variables, assignment

_BLANK = " \t\u00a0"
"""With the blank that pages put between words."""
_SEPARATORS = ";&|()"
_PLAIN = re.compile(r"[^ \t\u00a0\n\\'\"$`;&|()<>]+")
_PLAIN_IN_QUOTES = re.compile(r'[^\\"$`\n]+')
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_PLACEHOLDER = re.compile(r"<[A-Za-z][A-Za-z0-9 _.:/-]{0,58}>")
_END_OF_LINE = re.compile(r"[ \t\u00a0]*(?:\n|\Z)")
_END_OF_TEXT = -1


@dataclass(frozen=True, slots=True)
class Word:
    """One word, without its quotes, and the place in the text where it begins. `UNKNOWN` stands in it before what is not known."""

    text: str
    at: int

    @property
    def unknown(self) -> bool:
        """Whether a part of it is not known."""
        return UNKNOWN in self.text


@dataclass(frozen=True, slots=True)
class Fault:
    """What the shell makes of a command that nobody meant. `at` is a place in the text, `flag` the word that it is about, if it is one."""

    message: str
    fix: str
    at: int
    flag: str = ""


@dataclass(slots=True)
class Text:
    """The whole text while it is read: `at` is the place reached."""

    text: str
    variables: Variables
    at: int = 0
    hopeless: dict[str, int] = field(default_factory=dict)
    """Closing sign to the place behind which there is none: nobody looks for it twice."""


@dataclass(slots=True)
class Words:
    """The words of one command."""

    words: list[Word] = field(default_factory=list)
    heredocs: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    array: str | None = None
    """The array that the words are put in."""
    unclosed: tuple[str, int] | None = None
    """A quote that is never closed, and its place: what follows is not read."""
    line_ended: bool = True
    """Whether the command's line ended with it."""


def read_words(text: Text, *, may_span_lines: bool) -> Words:
    """Read one command from `text.at` to the operator or end of line behind it. `may_span_lines`: its quotes may hold line ends."""
    return _Reader(text, may_span_lines=may_span_lines).read()


class _Reader:
    def __init__(self, source: Text, *, may_span_lines: bool) -> None:
        self.source = source
        self.text = source.text
        self.may_span_lines = may_span_lines
        self.found = Words()
        self.parts: list[str] | None = None
        self.began = source.at
        self.drop_next = False
        self.heredoc_next = False

    def read(self) -> Words:
        source, text, size = self.source, self.text, len(self.text)
        while source.at < size and self.found.unclosed is None:
            char = text[source.at]
            if char == "\n":
                self._end_word()
                source.at += 1
                if self.found.array is None:
                    return self.found
            elif char in _BLANK:
                self._end_word()
                source.at += 1
            elif char == "#" and self.parts is None:
                end = text.find("\n", source.at)
                source.at = size if end < 0 else end
            elif char in _SEPARATORS:
                if self._ends_command(char):
                    self.found.line_ended = False
                    return self.found
            elif char in "<>":
                self._redirection(char)
            else:
                self._piece(char)
        if self.found.unclosed is None:
            self._end_word()
        return self.found

    def _add(self, piece: str) -> None:
        if self.parts is None:
            self.parts = []
            self.began = self.source.at
        self.parts.append(piece)

    def _end_word(self) -> None:
        if self.parts is None:
            return
        word = "".join(self.parts)
        self.parts = None
        if self.heredoc_next:
            self.found.heredocs.append(word)
        elif not self.drop_next:
            self.found.words.append(Word(word, self.began))
        self.heredoc_next = self.drop_next = False

    def _ends_command(self, char: str) -> bool:
        word = "".join(self.parts or [])
        if char == "(" and word.endswith("=") and assignment(word) is not None and not self.found.words:
            self.found.array = word.rstrip("=+")
            self.parts = None
            self.source.at += 1
            return False
        if char == "&" and self.text.startswith(">", self.source.at + 1):
            self.source.at += 1
            return False
        if (word == "^" or word.endswith("=^")) and self.text.startswith("^", self.source.at + 1):
            self._delimited(word, char)
            return False
        self._end_word()
        self.source.at += 1
        return True

    def _delimited(self, word: str, delimiter: str) -> None:
        """`--flag=^;^a;b` without quotes: read as it is meant, for the shell would end the command at the first delimiter."""
        source = self.source
        end = source.at
        while end < len(self.text) and self.text[end] not in " \t\n":
            end += 1
        flag = word.partition("=")[0] if "=" in word else self.found.words[-1].text if self.found.words else ""
        message = f"{flag}: the {delimiter} is not in quotes, so the shell ends the command there and runs the rest as commands of its own"
        value = (word.partition("=")[2] + self.text[source.at : end]).replace("'", "")
        self.found.faults.append(Fault(message, f"{flag}='{value}'", source.at, flag))
        self._add(self.text[source.at : end].replace("'", "").replace('"', ""))
        source.at = end

    def _redirection(self, char: str) -> None:
        source, text = self.source, self.text
        placeholder = _PLACEHOLDER.match(text, source.at) if char == "<" else None
        if placeholder:
            self._add(UNKNOWN + placeholder[0])
            source.at = placeholder.end()
            return
        if "".join(self.parts or ["-"]).isdecimal():
            self.parts = None
        self._end_word()
        if text.startswith("<<<", source.at):
            source.at += 3
            self.drop_next = True
        elif text.startswith("<<", source.at):
            source.at += 3 if text.startswith("<<-", source.at) else 2
            self.heredoc_next = True
        else:
            while source.at < len(text) and text[source.at] in "<>&|":
                source.at += 1
            self.drop_next = True

    def _piece(self, char: str) -> None:
        source, text = self.source, self.text
        if char == "\\":
            self._backslash()
        elif char == "'":
            self._single()
        elif char == '"':
            self._double()
        elif char == "$":
            self._dollar(quoted=False)
        elif char in "`^" and self.parts is None and _END_OF_LINE.match(text, source.at + 1):
            # PowerShell and cmd continue a line so.
            self._continue(source.at + 1)
        elif char == "`":
            self._substituted("`", source.at + 1)
        else:
            plain = _PLAIN.match(text, source.at)
            assert plain is not None  # noqa: S101 (every other character has its branch above; this is for the type checker)
            self._add(plain[0])
            source.at = plain.end()

    def _continue(self, place: int) -> None:
        end = self.text.find("\n", place)
        self.source.at = len(self.text) if end < 0 else end + 1

    def _backslash(self) -> None:
        source = self.source
        following = self.text[source.at + 1 : source.at + 2]
        if following in {"", "\n"}:
            source.at += 1 + len(following)
        elif following in _BLANK and _END_OF_LINE.match(self.text, source.at + 1):
            message = "there is a blank behind the backslash at the end of the line, so the shell ends the command here"
            self.found.faults.append(Fault(message, "remove the blanks behind the backslash", source.at))
            self._end_word()
            self._continue(source.at + 1)
        else:
            self._add(following)
            source.at += 2

    def _unclosed(self, sign: str, place: int) -> None:
        self.found.unclosed = (sign, place)
        end = self.text.find("\n", place)
        self.source.at = len(self.text) if end < 0 else end + 1

    def _close(self, sign: str, start: int) -> int:
        """The place of the sign from `start` on; `_END_OF_TEXT` where there is none, or not on the line of a text that has to end there."""
        hopeless = self.source.hopeless
        if start >= hopeless.get(sign, len(self.text) + 1):
            return _END_OF_TEXT
        place = self.text.find(sign, start)
        if place < 0:
            hopeless[sign] = start
            return _END_OF_TEXT
        if not self.may_span_lines and self.text.find("\n", start, place) >= 0:
            return _END_OF_TEXT
        return place

    def _single(self) -> None:
        start = self.source.at + 1
        end = self._close("'", start)
        if end == _END_OF_TEXT:
            self._unclosed("'", start - 1)
            return
        self._add(self.text[start:end])
        self.source.at = end + 1

    def _double(self) -> None:
        source, text = self.source, self.text
        start = source.at
        if start >= source.hopeless.get('"', len(text) + 1):
            self._unclosed('"', start)
            return
        self._add("")
        source.at += 1
        while source.at < len(text):
            char = text[source.at]
            if char == '"':
                source.at += 1
                return
            if char == "\\":
                following = text[source.at + 1 : source.at + 2]
                self._add("" if following == "\n" else following if following in '$`"\\' else char + following)
                source.at += 2
            elif char == "$":
                self._dollar(quoted=True)
            elif char == "`":
                self._substituted("`", source.at + 1)
            elif char == "\n":
                if not self.may_span_lines:
                    self._unclosed('"', start)
                    return
                self._add(char)
                source.at += 1
            else:
                plain = _PLAIN_IN_QUOTES.match(text, source.at)
                assert plain is not None  # noqa: S101 (every other character has its branch above; this is for the type checker)
                self._add(plain[0])
                source.at = plain.end()
            if self.found.unclosed is not None:
                return
        source.hopeless['"'] = start
        self._unclosed('"', start)

    def _dollar(self, *, quoted: bool) -> None:
        source, text = self.source, self.text
        start = source.at
        following = text[start + 1 : start + 2]
        if following == "(":
            self._substituted(")", start + 2)
        elif following == "{":
            self._braced(quoted=quoted)
        elif following in {"'", '"'} and following and not quoted:
            source.at += 1
        else:
            name = _NAME.match(text, start + 1)
            if name is None:
                self._add("$")
                source.at += 1
                return
            source.at = name.end()
            self._put(source.variables.get(name[0]), text[start : name.end()], quoted=quoted, at=start)

    def _braced(self, *, quoted: bool) -> None:
        source, text = self.source, self.text
        start = source.at
        close = "}}" if text.startswith("${{", start) else "}"
        end = self._close(close, start)
        if end == _END_OF_TEXT:
            self._unclosed("${", start)
            return
        source.at = end + len(close)
        values = source.variables.braced(text[start + 2 : end]) if end - start < 1_000 else None  # noqa: PLR2004 (a name and a default)
        self._put(values, text[start : source.at], quoted=quoted, at=start)

    def _put(self, values: tuple[str, ...] | None, written: str, *, quoted: bool, at: int) -> None:
        """The values of a variable: an array gives a word for each, and so does what stands between blanks where there are no quotes."""
        if values is None:
            self._add(UNKNOWN + written)
            return
        words = list(values) if quoted or len(values) > 1 else "".join(values).split()
        if not words and not quoted:
            return
        for number, word in enumerate(words):
            if number:
                self._end_word()
            self._add(word)
            self.began = at if number else self.began

    def _substituted(self, close: str, start: int) -> None:
        """The output of a command, which is not known."""
        source, text = self.source, self.text
        depth, end = 1, start
        if close == "`":
            end = self._close("`", start)
        elif start >= source.hopeless.get(close, len(text) + 1):
            end = _END_OF_TEXT
        else:
            while depth:
                shut, opened = text.find(")", end), text.find("(", end)
                if shut < 0:
                    source.hopeless[close] = start
                    end = _END_OF_TEXT
                    break
                depth += 1 if 0 <= opened < shut else -1
                end = (opened if 0 <= opened < shut else shut) + 1
            end -= end > 0
        if end == _END_OF_TEXT or end < start:
            self._unclosed("$(" if close == ")" else "`", start - 1)
            return
        self._add(UNKNOWN + text[source.at : end + 1])
        source.at = end + 1
