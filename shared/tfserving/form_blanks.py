"""What stands between the tokens of a configuration file: blanks, comments, and what other languages have for them. Pure."""

import re
import string
from collections.abc import Iterator

from shared.tfserving.form_lines import Lines
from shared.tfserving.form_nodes import Comment, Problems

SPACES = "\u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff\x85"
"""What looks like a blank and is none to the parser."""
_GAP_STARTS = frozenset(" \t\n\r\v\f#")
_GAP = re.compile(r"(?:[ \t\n\r\v\f]++|#[^\n]*+)+")
_SLASHED = re.compile(r"(?://[^\n]*+[ \t\n\r\v\f]*+)+")
_COMMENT = re.compile(r"(?:#|//)[^\n]*")
_STRANGE_BLANKS = re.compile(f"[{SPACES}][{SPACES} \\t\\n\\r\\v\\f]*")


_NEVER_SKIPPED = frozenset(string.ascii_letters + string.digits + string.punctuation) - {"#", "/"}


class Blanks:
    """A place in a text that moves forward over blanks and comments. What is wrong with them is added to the problems."""

    def __init__(self, text: str, problems: Problems) -> None:
        self._text = text
        self._at = 0
        self._lines = Lines(text)
        self._problems = problems
        self._comments: list[Comment] = []
        self._gaps: list[tuple[int, int]] = []
        """Those with comments in them, which are only looked at where the file is written again."""
        self._no_block_comment = False

    def _line(self, at: int | None = None) -> int:
        return self._lines.of(self._at if at is None else at)

    def _skip(self) -> None:
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            if char in _GAP_STARTS and (found := _GAP.match(text, self._at)):
                if text.find("#", self._at, found.end()) >= 0:
                    self._gaps.append(found.span())
                self._at = found.end()
            elif char in _NEVER_SKIPPED:
                return
            elif text.startswith("//", self._at):
                self._problems.syntax(
                    "",
                    self._line(),
                    "A comment starts with #. The parser refuses // with: Expected identifier, got: /",
                    self._hash(self._at + 2, self._lines.end(self._at)),
                    once="slashes",
                )
                self._slashed()
            elif text.startswith("/*", self._at) and self._block_comment():
                continue
            elif found := _STRANGE_BLANKS.match(text, self._at):
                self._strange_blank(found)
            else:
                return

    def _hash(self, start: int, end: int) -> str:
        return f"# {self._text[start:end].strip()}"

    def _slashed(self) -> None:
        found = _SLASHED.match(self._text, self._at)
        assert found is not None  # noqa: S101 (the caller has looked; this is for the type checker)
        self._gaps.append(found.span())
        self._at = found.end()

    def _all_comments(self) -> Iterator[Comment]:
        """Those so far, in no order; one may be there twice."""
        yield from self._comments
        for start, end in self._gaps:
            line, counted = self._line(start), start
            alone = self._lines.is_first_on_line(start)
            for found in _COMMENT.finditer(self._text, start, end):
                line += self._text.count("\n", counted, found.start())
                alone = alone or self._text.find("\n", start, found.start()) >= 0
                counted = found.start()
                said = found.group().rstrip()
                yield Comment(f"# {said[2:].strip()}".rstrip() if said.startswith("//") else said, line, counted, alone)

    def _block_comment(self) -> bool:
        end = -1 if self._no_block_comment else self._text.find("*/", self._at + 2)
        if end < 0:
            self._no_block_comment = True
            return False
        first = self._line()
        self._problems.syntax(
            "",
            first,
            "A comment starts with # and ends with its line. The parser refuses /* with: Expected identifier, got: /",
            "# ...",
            once="slashes and stars",
        )
        for index, line in enumerate(self._text[self._at + 2 : end].split("\n")):
            said = line.strip(" *\t\r")
            if said:
                self._comments.append(Comment(f"# {said}", first + index, self._at + index, alone=index > 0))
        self._at = end + 2
        return True

    def _strange_blank(self, found: re.Match[str]) -> None:
        char = found.group()[0]
        is_mark = char == "\ufeff"
        name = "a byte order mark" if is_mark else f"the character {char!a}, which looks like a blank and is none"
        cure = "save the file as UTF-8 without a byte order mark" if is_mark else "type the blank again"
        self._problems.syntax(
            "",
            self._line(),
            f"Here stands {name}; text copied from a web page or out of an editor has it. The parser refuses it with: "
            f"Interpreting non ascii codepoint {char.encode()[0]}",
            cure,
            once=f"blank {is_mark}",
        )
        self._at = found.end()
