"""Lines of a text by offset. Pure."""

import bisect
import re

_BREAK = re.compile("\n")


class Lines:
    """The lines of one text, counted from 1 as the protobuf parser counts them: at line feeds only."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._breaks = [found.start() for found in _BREAK.finditer(text)]

    def of(self, offset: int) -> int:
        """The line on which the offset lies."""
        return bisect.bisect_left(self._breaks, offset) + 1

    def start(self, line: int) -> int:
        """The offset at which the line begins."""
        return 0 if line <= 1 else self._breaks[line - 2] + 1

    def end(self, offset: int) -> int:
        """The offset of the line feed that ends the line, or of the text's end."""
        at = bisect.bisect_left(self._breaks, offset)
        return self._breaks[at] if at < len(self._breaks) else len(self._text)

    def is_first_on_line(self, offset: int) -> bool:
        """Whether only blanks stand before the offset on its line."""
        return not self._text[self.start(self.of(offset)) : offset].strip()
