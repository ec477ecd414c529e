"""Shell scripts and pasted terminal text, split into commands as a POSIX shell does and never run. Pure.

More is read than a shell would take, because people paste from other places: a prompt in front of a command, a command in backquotes
inside prose, fences of Markdown, a backquote (PowerShell) or a caret (cmd) as the mark of a continued line, and `<NAME>` for a value that
the reader is to fill in. Prose with an apostrophe swallows no command: only a line that begins a command may have a text in quotes that
goes on in the next line. A variable that the script sets earlier is replaced; where its value is not known the word keeps `$NAME`, behind
`UNKNOWN`.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from shared.cloudrun.shell_variables import Variables, assignment, shown
from shared.cloudrun.shell_words import Fault, Text, Word, Words, read_words

PROGRAMS = frozenset({"gcloud", "docker", "nvidia-docker", "podman", "nerdctl"})
_WRAPPERS = frozenset(
    {"sudo", "env", "exec", "time", "nohup", "command", "if", "then", "do", "else", "elif", "while", "until", "{", "!", "eval"}
)
_DECLARATIONS = frozenset({"export", "local", "readonly", "declare", "typeset", "set"})
_PROMPTS = frozenset({"$", "%", ">", "-", "*", "PS", "RUN"})
_MAX_PREFIX_WORDS = 8
_LINES_BETWEEN = 3
"""Behind a command that a line's end cut off, its flags may go on after a comment or an empty line."""


@dataclass(slots=True)
class ShellCommand:
    """A simple command of gcloud or a container tool; `words` begin with the program's name, without its path.

    `lines` are those of the words, from 1.
    """

    words: list[str]
    lines: list[int]
    faults: list[tuple[Fault, int]] = field(default_factory=list)
    """What the shell makes of it that nobody meant, each with its line."""
    unclosed: bool = False
    """Whether a quote in it is never closed: what follows it is not read."""


def shell_commands(text: str) -> list[ShellCommand]:
    """The commands of gcloud, docker and podman in the text, in their order. The time it takes grows with the text's length only."""
    return _Script(text, 1, None).commands()


def _program(word: str) -> str:
    return word.rsplit("/", 1)[-1].removesuffix(".cmd").removesuffix(".exe")


class _Script:
    def __init__(self, text: str, first_line: int, variables: Variables | None) -> None:
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
        self.source = Text(plain, variables if variables is not None else Variables(len(plain)))
        self.line_ends = [at for at, char in enumerate(plain) if char == "\n"]
        self.first_line = first_line
        self.is_document = "apiVersion" in plain or "template:" in plain
        self.lines_by_text: dict[str, list[int]] | None = None
        self.found: list[ShellCommand] = []
        self.open: ShellCommand | None = None
        """The command before, while only comments have followed it."""

    def line(self, at: int) -> int:
        return self.first_line + bisect_left(self.line_ends, at)

    def commands(self) -> list[ShellCommand]:
        source, text = self.source, self.source.text
        while source.at < len(text):
            end = text.find("\n", source.at)
            end = len(text) if end < 0 else end
            head = text[source.at : end].strip()
            if not head or head.startswith("#"):
                source.at = end + 1
            elif head.startswith(("```", "~~~")):
                self.open = None
                source.at = end + 1
            elif any(f"`{name} " in head or f"`sudo {name} " in head for name in PROGRAMS) and not _starts(head):
                self._prose(head, self.line(source.at))
                source.at = end + 1
            else:
                self._line(head)
        return self.found

    def _prose(self, head: str, line: int) -> None:
        self.open = None
        for at, piece in enumerate(head.split("`")):
            if at % 2:
                self.found += _Script(piece, line, self.source.variables).commands()

    def _line(self, head: str) -> None:
        may_span_lines = _starts(head) or any(f" {name} " in head for name in PROGRAMS)
        heredocs: list[str] = []
        ended = False
        while not ended:
            before = self.source.at
            read = read_words(self.source, may_span_lines=may_span_lines)
            heredocs += read.heredocs
            ended = read.line_ended
            self._take(read, before)
        for delimiter in heredocs:
            self._skip_heredoc(delimiter)

    def _take(self, read: Words, before: int) -> None:
        words = read.words
        if read.array is not None:
            self.source.variables.set(read.array, tuple(word.text for word in words))
            return
        start = self._program_at(words)
        if start is None:
            self._other(words, read, before)
            return
        command = ShellCommand(
            words=[_program(words[start].text), *(word.text for word in words[start + 1 :])],
            lines=[self.line(word.at) for word in words[start:]],
            faults=[(fault, self.line(fault.at)) for fault in read.faults],
            unclosed=read.unclosed is not None,
        )
        if read.unclosed is not None:
            sign, at = read.unclosed
            message = f"the {sign} on this line is never closed, so the shell does not run the command"
            command.faults.append((Fault(message, f"close it, or write \\{sign} for the character itself", at), self.line(at)))
        self.found.append(command)
        self.open = None if command.unclosed else command

    def _program_at(self, words: list[Word]) -> int | None:
        for at, word in enumerate(words[:_MAX_PREFIX_WORDS]):
            text = word.text
            if _program(text) in PROGRAMS:
                return at
            before = text in _WRAPPERS or text in _DECLARATIONS or text.startswith("-") or assignment(text) is not None
            prompt = text in _PROMPTS or text.endswith(("$", "%", ">", "#", ")")) or "@" in text
            key = text.endswith((":", ".")) and not self.is_document
            if not (before or prompt or key):
                return None
        return None

    def _other(self, words: list[Word], read: Words, before: int) -> None:
        """A command of another program: its assignments are kept; flags alone belong to the command that a line's end cut off."""
        while words and words[0].text in _PROMPTS:
            words = words[1:]
        if not words:
            return
        first, last = words[0], self.open
        if first.text.startswith("--") and last is not None and self.line(first.at) <= last.lines[-1] + _LINES_BETWEEN:
            message = f"the shell ends the command on line {last.lines[-1]}, so {shown(first.text)[:60]} is not part of it"
            fix = "end every line of the command but the last with a backslash, and put no comment between them"
            last.faults.append((Fault(message, fix, first.at), self.line(first.at)))
            last.words += [word.text for word in words]
            last.lines += [self.line(word.at) for word in words]
            return
        self.open = None
        if read.unclosed is not None and _starts(self.source.text[before : before + 200].strip()):
            self.source.variables.forget()
        declared = first.text in _DECLARATIONS
        for word in words[1:] if declared else words:
            pair = assignment(word.text)
            if pair is not None:
                self.source.variables.set(pair[0], (pair[1],))
            elif not declared:
                break

    def _skip_heredoc(self, delimiter: str) -> None:
        text = self.source.text
        if self.lines_by_text is None:
            self.lines_by_text = {}
            for start in (0, *(end + 1 for end in self.line_ends)):
                end = text.find("\n", start)
                self.lines_by_text.setdefault(text[start : end if end >= 0 else None].strip(), []).append(start)
        places = self.lines_by_text.get(delimiter, [])
        at = bisect_right(places, self.source.at - 1)
        if at < len(places):
            end = text.find("\n", places[at])
            self.source.at = len(text) if end < 0 else end + 1


def _starts(head: str) -> bool:
    """Whether the line begins with something that a shell runs and that this room knows, not with prose."""
    first = head.split(maxsplit=1)[0] if head.strip() else ""
    return (
        _program(first) in PROGRAMS
        or first in _WRAPPERS
        or first in _DECLARATIONS
        or first in _PROMPTS
        or first.startswith("--")
        or assignment(first) is not None
    )
