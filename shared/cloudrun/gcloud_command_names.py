"""Which of gcloud's commands a line runs: its words and the flags among them, and what was meant where gcloud knows no such command. Pure.

Source: gcloud 528. Between the words of a command it takes its own flags and those of the group before them; a test compares the words
with an installed gcloud.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from shared.cloudrun.described import Problem, ReadingProblem
from shared.cloudrun.gcloud_flags import COMMANDS, TRACKS, Command, GcloudFlag, Place, find_flag
from shared.cloudrun.gcloud_values import cut
from shared.cloudrun.shell_variables import UNKNOWN, shown

DEPLOY: tuple[str, ...] = ("run", "deploy")
UPDATE: tuple[str, ...] = ("run", "services", "update")
SERVICES: tuple[str, ...] = ("run", "services")
_READ: Mapping[tuple[str, ...], Command] = {DEPLOY: "deploy", UPDATE: "update"}
GROUP_FLAGS = frozenset({"region", "platform", "cluster", "cluster-location", "context", "kubeconfig"})
"""Flags that `gcloud run services` takes in front of its command."""

OF_RUN = frozenset(
    {
        "compose",
        "configurations",
        "deploy",
        "domain-mappings",
        "exec",
        "instances",
        "integrations",
        "jobs",
        "multi-region-services",
        "regions",
        "revisions",
        "routes",
        "services",
        "worker-pools",
        "workers",
    }
)
"""What may stand behind `gcloud run` in any track, `exec` and `instances` of newer releases with it."""
OF_SERVICES = frozenset(
    {
        "add-iam-policy-binding",
        "delete",
        "describe",
        "get-iam-policy",
        "list",
        "logs",
        "proxy",
        "remove-iam-policy-binding",
        "replace",
        "set-iam-policy",
        "update",
        "update-traffic",
    }
)
"""What may stand behind `gcloud run services`."""

_LONGEST = 3
_MAX_SHOWN = 60
_CLOSE = 0.75
_RUN_TOGETHER = re.compile(r"run[^A-Za-z0-9]?(deploy|services)")
_MEANT: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("run", "update"): UPDATE,
    ("run", "create"): DEPLOY,
    ("run", "services", "deploy"): DEPLOY,
    ("run", "services", "create"): DEPLOY,
}
"""Commands that people expect, to the one that does it."""


@dataclass(frozen=True, slots=True)
class CommandName:
    """The command that a line runs.

    `path` is its name without the track, `read` the command whose flags it has, or was meant to have (None: a command of another kind).
    `words` are those that belong to it, with their `lines`: behind its name, and in front of them the flags that stand too early.
    """

    path: tuple[str, ...]
    track: str
    read: Command | None
    words: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    own: tuple[tuple[str, str], ...] = ()
    """gcloud's flags and those of the group that stand between the words of the name, with their values."""
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _Walk:
    """The words of a line's name: `places` are theirs, `at` is the place behind them."""

    words: Sequence[str]
    lines: Sequence[int]
    track: str = ""
    path: tuple[str, ...] = ()
    places: list[int] = field(default_factory=list)
    at: int = 1
    early: list[int] = field(default_factory=list)
    """Flags, with their values, that stand where gcloud does not take them yet."""
    own: list[tuple[str, str]] = field(default_factory=list)

    @property
    def rest(self) -> list[int]:
        """The places of the words behind the name."""
        return list(range(self.at, len(self.words)))

    def flags(self) -> list[GcloudFlag]:
        """The flags of a service or of a container in the line, without those of the group."""
        found = (find_flag(word.partition("=")[0]) for word in self.words[1:] if word.startswith("--"))
        return [each[0] for each in found if each is not None and each[0].place is not Place.EVERYWHERE and each[0].name not in GROUP_FLAGS]


@dataclass(frozen=True, slots=True)
class _Meant:
    """What a name was meant to be: `wrong` is the place of the word that gcloud does not know, `places` are of those behind the name."""

    path: tuple[str, ...]
    wrong: int
    places: list[int]


def read_command_name(words: Sequence[str], lines: Sequence[int]) -> CommandName:
    """The command of a line whose first word is gcloud; `lines` are those of the words."""
    found = _walk(words, lines)
    read, path, places = _READ.get(found.path), found.path, found.rest
    problems: list[Problem] = []
    meant = _meant(found) if read is None else None
    if meant is not None:
        problems.append(_unknown_command(found, meant))
        read, places = _READ.get(meant.path), meant.places
    if read is not None:
        early = [place for place in found.early if place not in places]
        problems += _too_early(found, early, read)
        places = [*early, *places]
    return CommandName(
        path=path,
        track=found.track,
        read=read,
        words=tuple(words[place] for place in places),
        lines=tuple(lines[place] for place in places),
        own=tuple(found.own),
        problems=tuple(problems),
    )


def _walk(words: Sequence[str], lines: Sequence[int]) -> _Walk:
    found = _Walk(words, lines)
    while found.at < len(words) and found.path not in _READ and not _ends(found.path):
        word = words[found.at]
        if not word.startswith("-"):
            if not found.path and word in TRACKS and word:
                found.track = word
            else:
                found.path = (*found.path, word)
                found.places.append(found.at)
            found.at += 1
            continue
        if word == "--":
            break
        name, equals, value = word.partition("=")
        known = find_flag(name)
        flag = known[0] if known is not None else None
        takes_next = not equals and found.at + 1 < len(words) and _takes(flag, words[found.at + 1])
        if flag is not None and _taken_here(flag, found.path):
            found.own.append((flag.name, words[found.at + 1] if takes_next else value))
        else:
            found.early += [found.at, found.at + 1] if takes_next else [found.at]
        found.at += 2 if takes_next else 1
    return found


def _ends(path: tuple[str, ...]) -> bool:
    """Whether no further word belongs to the name: only the group of services has commands of a third word that are read here."""
    return len(path) >= _LONGEST or (path[:1] == ("run",) and len(path) > 1 and path[1] != "services") or path[:2] == ("config", "set")


def _taken_here(flag: GcloudFlag, path: tuple[str, ...]) -> bool:
    return flag.place is Place.EVERYWHERE or (path == SERVICES and flag.name in GROUP_FLAGS)


def _takes(flag: GcloudFlag | None, following: str) -> bool:
    """Whether the next word is the flag's value; of a flag that nobody knows, unless it is a word of a command's name."""
    if flag is not None:
        return flag.has_value
    return not following.startswith("-") and following not in OF_RUN and following not in OF_SERVICES and following != "run"


def _meant(found: _Walk) -> _Meant | None:
    """What a name was meant to be that gcloud does not know; None where it knows it, or where the text may be no command at all."""
    if not found.path or any(UNKNOWN in word for word in found.path):
        return None
    if found.path[0] != "run":
        return _meant_run(found)
    path, last = found.path, found.path[-1]
    known = OF_SERVICES if path[:-1] == SERVICES else OF_RUN
    if len(path) == 1 or path == SERVICES or last in known:
        return None
    if len(found.rest) > 1 and not any(word.startswith("--") for word in found.words):
        return None  # prose that begins with the words of a command
    wrong = found.places[-1]
    meant = _MEANT.get(path)
    if meant is None:
        near = get_close_matches(last.lower(), sorted(known), n=1, cutoff=_CLOSE)
        meant = (*path[:-1], near[0]) if near else None
    if meant == SERVICES:
        verb = found.words[found.at] if found.rest else ""
        return _Meant((*SERVICES, verb), wrong, found.rest[1:]) if verb in OF_SERVICES else _Meant(SERVICES, wrong, found.rest)
    if meant is None and found.flags() and not found.track:
        # The word for what to do is missing, or runs into the service's name.
        meant = UPDATE if path[:-1] == SERVICES else DEPLOY
        return _Meant(meant, wrong, found.rest if last.startswith(meant[-1]) else [wrong, *found.rest])
    return None if meant is None else _Meant(meant, wrong, found.rest)


def _meant_run(found: _Walk) -> _Meant | None:
    """A misspelt or missing `run`; only with flags of a container, for `gcloud deploy` is a product of its own."""
    first, place = found.path[0], found.places[0]
    both = _RUN_TOGETHER.fullmatch(first)
    near = sorted(first) == sorted("run") or bool(get_close_matches(first.lower(), ["run"], cutoff=_CLOSE))
    if not (near or both or first in {"deploy", "services"}) or not any(flag.place is Place.CONTAINER for flag in found.flags()):
        return None
    repaired = ["run", both[1]] if both else ["run"] if near else ["run", first]
    again = _walk([*found.words[:place], *repaired, *found.words[place + 1 :]], [1] * (len(found.words) + 1))
    more = len(repaired) - 1
    return _Meant(again.path, place, [each - more for each in again.rest]) if again.path in _READ else None


def _unknown_command(found: _Walk, meant: _Meant) -> Problem:
    gcloud = " ".join(["gcloud", *([found.track] if found.track else [])])
    before = [word for word, place in zip(found.path, found.places, strict=True) if place < meant.wrong]
    wrong = found.words[meant.wrong]
    group = " ".join([gcloud, *before])
    rest = [found.words[place] for place in meant.places[:1] if not found.words[place].startswith("-")]
    more = " ..." if len(meant.places) > len(rest) else ""
    fix = " ".join([gcloud, *meant.path, *(shown(word)[:_MAX_SHOWN] for word in rest)]) + more
    message = f"{group} has no command {cut(wrong)}: gcloud answers Invalid choice and stops"
    if not before and wrong == "deploy":
        message = "gcloud deploy is the command of Cloud Deploy, another product: gcloud answers Invalid choice and stops"
    name = shown(f"{group} {wrong}")[: 2 * _MAX_SHOWN]
    return Problem(ReadingProblem.VALUE_INVALID, message, fix, found.lines[meant.wrong], name)


def _too_early(found: _Walk, early: Sequence[int], read: Command) -> list[Problem]:
    """Flags of the command in front of its name; one that no command has is reported as such where the flags are read."""
    problems: list[Problem] = []
    for place in early:
        name = found.words[place].partition("=")[0]
        known = find_flag(name)
        if not name.startswith("-") or known is None or not known[0].tracks(read):
            continue
        message = f"{name} stands in front of the command's name; gcloud takes it behind gcloud {COMMANDS[read]} only"
        fix = f"gcloud {COMMANDS[read]} ... {shown(found.words[place])[:_MAX_SHOWN]}"
        problems.append(Problem(ReadingProblem.VALUE_INVALID, message, fix, found.lines[place], name))
    return problems
