"""The arguments of `gcloud run deploy` and `gcloud run services update`, read as gcloud's parser reads them. Pure.

What gcloud refuses is a problem, and behind it the command is read on as it was meant: flags of the model server that follow `--args` and
a space are the container's arguments, not flags of gcloud.

Sources: gcloud 528's `parser_extensions` (argparse without abbreviations), `container_parser` (the groups behind --container).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.cloudrun.described import Problem, ReadingProblem
from shared.cloudrun.gcloud_container_args import are_the_servers, comma_split, quoted_args, server_flags, starts_server
from shared.cloudrun.gcloud_flags import COMMANDS, EXCLUSIVE, GCLOUD_VERSION, TRACKS, Command, GcloudFlag, Kind, Place, Repeat, find_flag
from shared.cloudrun.gcloud_unknown import MAX_COMPARED, unknown_flag
from shared.cloudrun.gcloud_values import Value, ValueRefused, cut, read_value, split
from shared.cloudrun.shell_variables import UNKNOWN, shown

_NEGATIVE_NUMBER = re.compile(r"-\d+|-\d*\.\d+")
_TRACK_WORDS = {"g": "", "b": "beta ", "a": "alpha "}
_CONTAINER = "--container"
MAX_CONTAINERS = 10
_MAX_SERVER_FLAGS = 500
"""Words behind `--args` and a blank that are looked at."""
_BOTH_PORTS = 2
"""gcloud's --port and the server's."""


@dataclass(frozen=True, slots=True)
class GivenFlag:
    """A flag as given: its value as gcloud reads it, or whether it is turned on. `written` is how the text calls it."""

    flag: GcloudFlag
    written: str
    line: int
    value: Value = None
    on: bool = True
    known: bool = True
    """Whether the whole value is known."""
    again: bool = False
    """Whether the same flag stands in front of it in the same group: gcloud adds this one's items to that one's."""


@dataclass(slots=True)
class Arguments:
    """A command line read. `containers`: the flags behind each --container, by its name; without one they are among `service`."""

    command: Command
    track: str
    name: str | None = None
    name_line: int | None = None
    service: list[GivenFlag] = field(default_factory=list)
    containers: dict[str, list[GivenFlag]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def read_arguments(command: Command, track: str, words: Sequence[str], lines: Sequence[int]) -> Arguments:
    """Read the words behind the command's name; `track` is the word before it: "", beta or alpha. `lines` are those of the words."""
    found = Arguments(command, track)
    front, groups = _groups(words)
    _Reader(found, words, lines, group=None, grouped=bool(groups)).read(front)
    for name, places in groups.items():
        _Reader(found, words, lines, group=name, grouped=True).read(places)
    _check_containers(found, lines[0] if lines else None)
    return found


def _groups(words: Sequence[str]) -> tuple[list[int], dict[str, list[int]]]:
    """The places of the words in front of the first --container, and of those behind each."""
    front: list[int] = []
    groups: dict[str, list[int]] = {}
    current = front
    place = 0
    while place < len(words):
        word = words[place]
        if word == _CONTAINER and place + 1 < len(words):
            place += 1
            current = groups.setdefault(words[place], [])
        elif word.startswith(f"{_CONTAINER}="):
            current = groups.setdefault(word.partition("=")[2], [])
        elif word == "--":
            front.extend(range(place, len(words)))
            break
        else:
            current.append(place)
        place += 1
    return front, groups


class _Reader:
    """One group of words: those in front of the first --container (`group` None), or those behind one."""

    def __init__(self, found: Arguments, words: Sequence[str], lines: Sequence[int], *, group: str | None, grouped: bool) -> None:
        self.found = found
        self.words = words
        self.lines = lines
        self.group = group
        self.grouped = grouped
        self.given = found.service if group is None else found.containers.setdefault(group, [])
        self.places: list[int] = []
        self.at = 0
        self.merged: dict[str, set[str]] = {}
        self.positionals = 0
        self.seen: set[str] = set()
        self.image: str | None = None
        """The value of --image, wherever it stands in the group."""
        self.unknown = 0
        """How many flags gcloud does not have."""
        self.container_command: Value = None
        self.ports = 0
        """How often --port stands in the group: of two, one is the server's."""

    def read(self, places: list[int]) -> None:
        self.places = places
        self.ports = sum(self.words[place].partition("=")[0] == "--port" for place in places)
        self.image = self._first_value("--image")
        behind_dashes = False
        while self.at < len(places):
            word, line = self.words[places[self.at]], self.lines[places[self.at]]
            self.at += 1
            if behind_dashes or not self._is_option(word):
                if behind_dashes and word.startswith("-") and self.group is None:
                    self._behind_dashes(line)
                    return
                self._positional(word, line)
            elif word == "--":
                behind_dashes = True
            else:
                self._option(word, line)
        self._exclusive()

    def _problem(self, kind: ReadingProblem, name: str, line: int, message: str, fix: str = "") -> None:
        self.found.problems.append(Problem(kind, message, fix, line, name))

    def _invalid(self, name: str, line: int, message: str, fix: str = "") -> None:
        self._problem(ReadingProblem.VALUE_INVALID, name, line, message, fix)

    def _is_option(self, word: str) -> bool:
        """Whether argparse takes the word for a flag: a number below zero is none, nor is a text with a blank that is no known flag."""
        if not word.startswith("-") or word == "-" or _NEGATIVE_NUMBER.fullmatch(word):
            return False
        return " " not in word or find_flag(word.partition("=")[0]) is not None or word.startswith("--")

    def _is_value(self, place: int) -> bool:
        if place >= len(self.places):
            return False
        word = self.words[self.places[place]]
        if not word.startswith("-") or word == "-" or _NEGATIVE_NUMBER.fullmatch(word):
            return True
        return " " in word and find_flag(word.partition("=")[0]) is None

    # --- Words that are no flags -----------------------------------------------------------------------------------------------------

    def _positional(self, word: str, line: int) -> None:
        command = COMMANDS[self.found.command]
        if self.group is not None:
            if word.startswith(UNKNOWN):
                return
            message = f"{cut(word)} stands behind --container {shown(self.group)[:60]}, where gcloud takes flags of the container only"
            self._invalid("SERVICE", line, message, f"gcloud run {command.removeprefix('run ')} {shown(word)[:60]} ... --container ...")
            if self.found.name is None:
                self.found.name, self.found.name_line = word, line
            return
        self.positionals += 1
        if self.positionals == 1:
            self.found.name, self.found.name_line = word, line
        elif not word.startswith(UNKNOWN):
            message = f"gcloud {command} takes one name, that of the service ({cut(self.found.name or '')}); {cut(word)} is one too many"
            self._invalid("SERVICE", line, message, self._fix_of_extra(word))

    def _fix_of_extra(self, word: str) -> str:
        dashes = word[:1] in {"\u2013", "\u2014", "\u2212"}
        if dashes:
            return f"--{word.lstrip(chr(0x2013) + chr(0x2014) + chr(0x2212))[:60]}: write two hyphens, not a dash"
        last = self.given[-1] if self.given else None
        if last is not None and not last.flag.has_value and word.lower() in {"true", "false", "yes", "no", "1", "0"}:
            on = word.lower() in {"true", "yes", "1"}
            return last.written if on == last.on else f"--no-{last.flag.name}"
        if last is not None and last.flag.kind in {Kind.LIST, Kind.DICT, Kind.ENV}:
            return f"put the whole value of {last.written} in quotes, without blanks between its items"
        return "leave it out, or put a value with blanks in quotes"

    def _behind_dashes(self, line: int) -> None:
        """Arguments of the container as docker would take them: gcloud takes none behind `--`."""
        meant = [self.words[place] for place in self.places[self.at - 1 :]]
        self._invalid("--", line, "gcloud run takes no arguments of the container behind --", quoted_args("--args", meant))
        flag = find_flag("--args")
        if flag is not None:
            self.given.append(GivenFlag(flag[0], "--args", line, list(meant)))

    # --- Flags -----------------------------------------------------------------------------------------------------------------------

    def _option(self, word: str, line: int) -> None:
        name, equals, text = word.partition("=")
        known = find_flag(name)
        if known is None or not known[0].tracks(self.found.command):
            self._unknown(name, text if equals else None, line, known[0] if known else None)
            return
        flag, on = known
        self._where(flag, name, line)
        if not flag.has_value:
            if equals:
                fix = (
                    name
                    if text.lower() in {"", "true", "1", "yes"}
                    else f"--no-{flag.name}"
                    if flag.kind is Kind.SWITCH
                    else f"leave {name} out"
                )
                self._invalid(name, line, f"{name} takes no value, and {cut(text)} is given", fix)
                on = on if text.lower() not in {"false", "0", "no"} else not on
            self.given.append(GivenFlag(flag, name, line, on=on))
            return
        if not equals:
            if not self._is_value(self.at):
                self._without_value(flag, name, line)
                return
            text = self.words[self.places[self.at]]
            line = self.lines[self.places[self.at]] if self.lines[self.places[self.at]] == line else line
            self.at += 1
        self._value(flag, name, text, line)

    def _where(self, flag: GcloudFlag, name: str, line: int) -> None:
        letter = TRACKS[self.found.track]
        tracks = flag.tracks(self.found.command)
        if letter not in tracks:
            words = " or ".join(_TRACK_WORDS[each].strip() or "ga" for each in tracks)
            message = f"{name} is a flag of gcloud {words}; gcloud {GCLOUD_VERSION} refuses it in the command as it stands"
            fix = f"gcloud {_TRACK_WORDS[tracks[0]]}{COMMANDS[self.found.command]} ... {name}"
            self._problem(ReadingProblem.OTHER_TRACK, name, line, message, fix)
        if self.group is not None and flag.place is not Place.CONTAINER:
            message = f"{name} is a flag of the service; gcloud does not take it behind --container {shown(self.group)[:60]}"
            self._invalid(name, line, message, f"{name} in front of the first --container")
        if (
            self.group is None
            and self.grouped
            and flag.place is Place.CONTAINER
            and not (flag.kind is Kind.SWITCH and name.startswith("--no-"))
        ):
            message = f"{name} is a flag of one container; with --container gcloud wants it behind the one that it is about"
            self._invalid(name, line, message, f"--container=NAME {name}...")

    def _value(self, flag: GcloudFlag, name: str, text: str, line: int) -> None:
        try:
            value = read_value(flag, text)
        except ValueRefused as refused:
            self._invalid(name, line, f"{name}: {refused.why}", refused.fix)
            return
        if flag.repeat is Repeat.ONCE and flag.name in self.seen:
            self._invalid(name, line, f"{name} is given twice, and gcloud takes it once", "keep one of them")
        if flag.repeat is Repeat.MERGE and isinstance(value, list | dict):
            self._merge(flag, name, value, line)
        if flag.name == "args" and isinstance(value, list):
            value = self._args(name, text, value, line)
        if flag.name == "command":
            self.container_command = value
        again = flag.repeat is Repeat.MERGE and flag.name in self.seen
        self.seen.add(flag.name)
        self.given.append(GivenFlag(flag, name, line, value, known=UNKNOWN not in text, again=again))

    def _merge(self, flag: GcloudFlag, name: str, value: list[str] | dict[str, str], line: int) -> None:
        seen = self.merged.setdefault(flag.name, set())
        for item in value:
            if item in seen and UNKNOWN not in item:
                fix = "give it once" if flag.name != "args" else "write both in one: --flag=value, each flag once"
                self._invalid(name, line, f"{name}: {cut(item)} is given twice, which gcloud refuses", fix)
                return
            seen.add(item)

    def _args(self, name: str, text: str, items: list[str], line: int) -> list[str]:
        if not starts_server(self.container_command) or not are_the_servers(items, self.image):
            return items
        meant = comma_split(items, split(text)[1])
        if meant is None:
            return items
        lost, joined = meant
        message = f"{name}: gcloud splits the value at {split(text)[1]!r}, so {cut(lost)} becomes an argument of its own and is lost"
        self._problem(ReadingProblem.ARGS_COMMA_SPLIT, name, line, message, quoted_args(name, joined))
        return joined

    def _first_value(self, name: str) -> str | None:
        """The flag's value in the group, wherever it stands; None where the flag is not given."""
        for at, place in enumerate(self.places):
            word, equals, value = self.words[place].partition("=")
            if word == name and (equals or at + 1 < len(self.places)):
                return value if equals else self.words[self.places[at + 1]]
        return None

    def _without_value(self, flag: GcloudFlag, name: str, line: int) -> None:
        following = self.words[self.places[self.at]] if self.at < len(self.places) else None
        if flag.name in {"args", "command"} and following is not None and following.startswith("-"):
            following_words = [self.words[place] for place in self.places[self.at : self.at + _MAX_SERVER_FLAGS]]
            taken = server_flags(following_words, port_is_gcloud=self.ports < _BOTH_PORTS, named=self.found.name is not None)
            items = [item for word in taken for item in split(word)[0]]
            joined = comma_split(items, ",")
            meant = joined[1] if joined is not None else items
            message = f"{name} is followed by a blank and {cut(following)}, which gcloud takes for a flag of its own: it wants a = here"
            self._problem(ReadingProblem.ARGS_NEEDS_EQUALS, name, line, message, quoted_args(name, meant) if meant else f"{name}=...")
            self.at += len(taken)
            if meant:
                self.given.append(GivenFlag(flag, name, line, meant))
            return
        why = f"{cut(following)} is the next flag" if following is not None else "the command ends there"
        self._invalid(name, line, f"{name} has no value: {why}", f"{name}=VALUE")

    def _unknown(self, name: str, text: str | None, line: int, elsewhere: GcloudFlag | None) -> None:
        follows = text is None and self._is_value(self.at)
        value = text
        if follows and (self.positionals or self.group is not None or self.at + 1 < len(self.places)):
            value = self.words[self.places[self.at]]
            self.at += 1
        self.unknown += 1
        names = frozenset(word.partition("=")[0] for word in self.words) if self.unknown <= MAX_COMPARED else frozenset()
        problem = unknown_flag(self.found.command, name, value, elsewhere, beside=names, compare=self.unknown <= MAX_COMPARED)
        self._problem(ReadingProblem.UNKNOWN_FLAG, shown(name)[:120], line, problem.message, problem.fix)
        if problem.server_flag is not None:
            for at, each in enumerate(self.given):
                if each.flag.name == "args" and isinstance(each.value, list):
                    self.given[at] = GivenFlag(each.flag, each.written, each.line, [*each.value, problem.server_flag], known=each.known)

    def _exclusive(self) -> None:
        specified = {each.flag.name: each for each in self.given}
        for group in EXCLUSIVE:
            found = [
                next(specified[name] for name in part if name in specified) for part in group if any(name in specified for name in part)
            ]
            if len(found) > 1:
                first, second = sorted(found, key=self.given.index)[:2]
                message = f"{first.written} and {second.written} exclude each other: gcloud takes one of them in a command"
                self._invalid(
                    second.written, second.line, message, f"keep {first.written} or {second.written}, or give them in two commands"
                )


def _check_containers(found: Arguments, line: int | None) -> None:
    if found.command != "deploy" or not found.containers:
        return
    kind = ReadingProblem.VALUE_INVALID
    with_port = [name for name, given in found.containers.items() if any(each.flag.name in {"port", "use-http2"} for each in given)]
    if len(found.containers) > 1 and len(with_port) != 1:
        message = f"{len(with_port)} of {len(found.containers)} containers have --port or --use-http2; gcloud wants it on exactly one"
        found.problems.append(Problem(kind, message, "--port on the container that takes the requests, and on no other", line, _CONTAINER))
    if len(found.containers) > MAX_CONTAINERS:
        message = f"{len(found.containers)} containers; a service has at most {MAX_CONTAINERS}"
        found.problems.append(Problem(kind, message, "fewer containers", line, _CONTAINER))
