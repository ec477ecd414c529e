"""gcloud and docker commands as people paste them, read as a shell and gcloud read them and never executed. Pure."""

from collections.abc import Mapping
from itertools import pairwise

from shared.cloudrun.command_draft import Change, Said, ServiceDraft, build, said
from shared.cloudrun.described import Described, Form, Problem, ReadingProblem
from shared.cloudrun.docker_reading import DockerRun, read_docker
from shared.cloudrun.fields import Json
from shared.cloudrun.gcloud_applying import apply_flags
from shared.cloudrun.gcloud_arguments import GivenFlag, read_arguments
from shared.cloudrun.gcloud_flags import TRACKS, Command, Place, find_flag
from shared.cloudrun.gcloud_values import ValueRefused, split
from shared.cloudrun.limits import MadeWith
from shared.cloudrun.shell import ShellCommand, shell_commands
from shared.cloudrun.shell_variables import UNKNOWN, assignment, shown

LATEST = "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST"
REVISION = "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION"
FULL_PERCENT = 100
_DECISIVE = frozenset({"concurrency", "port", "args", "command", "gpu", "gpu-type", "cpu", "max", "max-instances", "flags-file"})
"""Flags whose unknown value leaves open what an absent field would mean."""


def read_commands(text: str) -> Described | None:
    """The service that all commands of the text together describe; None where the text has no gcloud run or docker run command.

    Never raises for any text.
    """
    reading = _Reading()
    for command in shell_commands(text):
        reading.take(command)
    return reading.described()


class _Reading:
    def __init__(self) -> None:
        self.draft = ServiceDraft()
        self.problems: list[Problem] = []
        self.dockers: list[DockerRun] = []
        self.has_service = False
        self.open_ended = False
        """Whether something is not known that could say anything: nothing can be said about what is absent."""
        self.name: str | None = None
        self.name_line: int | None = None

    def take(self, command: ShellCommand) -> None:
        if command.words[0] != "gcloud":
            run = read_docker(command.words, command.lines)
            if run is not None:
                self.dockers.append(run)
                self._faults(command)
            return
        at, track, path = self._command(command)
        if path in _COMMANDS:
            self._faults(command)
            self._run(command, at, track, _COMMANDS[path])
        elif path[:2] == ("run", "services"):
            self.has_service = True
            if path == ("run", "services", "update-traffic"):
                self._traffic(command, at)
        elif path[:2] == ("config", "set") and at + 1 < len(command.words):
            self._property(command.words[at], command.words[at + 1])

    def _command(self, command: ShellCommand) -> tuple[int, str, tuple[str, ...]]:
        """The place behind the command's name, its track, and its name; gcloud's own flags may stand between the words."""
        words, track, at = command.words, "", 1
        path: list[str] = []
        while at < len(words) and tuple(path) not in _COMMANDS:
            word = words[at]
            if word.startswith("-"):
                known = find_flag(word.partition("=")[0])
                if known is None or known[0].place is not Place.EVERYWHERE:
                    break
                takes_next = known[0].has_value and "=" not in word and at + 1 < len(words)
                if known[0].name == "project" and (takes_next or "=" in word):
                    self._property("project", words[at + 1] if takes_next else word.partition("=")[2])
                at += 2 if takes_next else 1
                continue
            if not path and word in TRACKS and word:
                track = word
            elif (
                len(path) >= _LONGEST or (path[:1] == ["run"] and len(path) > 1 and path[1] != "services") or path[:2] == ["config", "set"]
            ):
                break
            else:
                path.append(word)
            at += 1
        return at, track, tuple(path)

    def _faults(self, command: ShellCommand) -> None:
        for fault, line in command.faults:
            kind = ReadingProblem.ARGS_COMMA_SPLIT if fault.flag == "--args" else ReadingProblem.VALUE_INVALID
            self.problems.append(Problem(kind, shown(fault.message), shown(fault.fix), line, fault.flag))
        self.open_ended = self.open_ended or command.unclosed

    def _property(self, name: str, value: str) -> None:
        if UNKNOWN in value or not value:
            return
        if name in {"project", "core/project"}:
            self.draft.project = value
        elif name == "run/region":
            self.draft.region = value

    # --- gcloud run deploy, gcloud run services update -------------------------------------------------------------------------------

    def _run(self, command: ShellCommand, at: int, track: str, name: Command) -> None:
        self.has_service = True
        if name == "deploy":
            self.draft.complete = True
        found = read_arguments(name, track, command.words[at:], command.lines[at:])
        self.problems += found.problems
        if found.name is not None and UNKNOWN not in found.name:
            self.name, self.name_line = found.name, found.name_line
        for each in found.service:
            if isinstance(each.value, str) and each.flag.name in {"region", "project"}:
                self._property("run/region" if each.flag.name == "region" else "project", each.value)
        flags = [*found.service, *(each for group in found.containers.values() for each in group)]
        bare = any(word.startswith(UNKNOWN) for before, word in pairwise(command.words[at - 1 :]) if not _takes_value(before))
        self.open_ended = self.open_ended or bare or any(_leaves_open(each) for each in flags)
        if track:
            self.draft.fields["launchStage",] = Said(track.upper(), f"gcloud {track}", command.lines[0])
        apply_flags(Change(self.draft, track, self.name), found.service, found.containers, self._refused)

    def _refused(self, each: GivenFlag, refused: ValueRefused) -> None:
        message = f"{each.written}: {refused.why}"
        self.problems.append(Problem(ReadingProblem.VALUE_INVALID, shown(message), shown(refused.fix), each.line, each.written))

    def _traffic(self, command: ShellCommand, at: int) -> None:
        words = command.words[at:]
        targets: list[Json] = []
        for place, word in enumerate(words):
            name, equals, value = word.partition("=")
            if name == "--to-latest":
                targets = [{"type": LATEST, "percent": FULL_PERCENT}]
            elif name == "--to-revisions":
                targets = _targets(value if equals else words[place + 1] if place + 1 < len(words) else "")
        if sum(each["percent"] for each in targets) == FULL_PERCENT:
            self.draft.traffic = Said(targets, "gcloud run services update-traffic", command.lines[0])

    # --- docker run ------------------------------------------------------------------------------------------------------------------

    def _docker(self, run: DockerRun) -> None:
        container = self.draft.container()
        if run.image is not None and "image" not in container.fields and UNKNOWN not in run.image[0]:
            container.fields["image"] = said(*run.image)
        if run.args and "args" not in container.lists:
            container.lists["args"] = [said(*each) for each in run.args]
        if run.entrypoint is not None and "command" not in container.lists:
            container.lists["command"] = [said(*run.entrypoint)] if run.entrypoint[0] else []
        for pair, written, line in run.env:
            found = assignment(pair)
            if found is not None and found[0] not in container.env:
                container.env[found[0]] = said({"value": found[1]}, written, line)

    # --- All commands together -------------------------------------------------------------------------------------------------------

    def described(self) -> Described | None:
        if not self.has_service and not self.dockers:
            return None
        for run in self.dockers:
            self._docker(run)
        if self.has_service:
            self._name()
        built = build(self.draft)
        return Described(
            form=Form.GCLOUD if self.has_service else Form.DOCKER,
            service=built.service,
            complete=self.draft.complete and not self.open_ended if self.has_service else True,
            region=self.draft.region,
            project=self.draft.project,
            made_with=MadeWith.GCLOUD if self.has_service else MadeWith.API,
            lines=built.lines,
            names=built.names,
            problems=tuple(dict.fromkeys(self.problems)),
        )

    def _name(self) -> None:
        if self.name is None:
            return
        full = self.draft.project is not None and self.draft.region is not None
        name = f"projects/{self.draft.project}/locations/{self.draft.region}/services/{self.name}" if full else self.name
        self.draft.fields["name",] = Said(name, "SERVICE", self.name_line)


_COMMANDS: Mapping[tuple[str, ...], Command] = {("run", "deploy"): "deploy", ("run", "services", "update"): "update"}
_LONGEST = 3


def _takes_value(word: str) -> bool:
    known = find_flag(word)
    return known is not None and known[0].has_value


def _leaves_open(each: GivenFlag) -> bool:
    if each.flag.name == "flags-file":
        return True
    if each.known:
        return False
    if isinstance(each.value, list):
        return each.flag.name in _DECISIVE and any(item.startswith(UNKNOWN) for item in each.value)
    return each.flag.name in _DECISIVE


def _targets(text: str) -> list[Json]:
    try:
        items = split(text)[0]
    except ValueRefused:
        return []
    targets: list[Json] = []
    for item in items:
        revision, _, percent = item.partition("=")
        if not percent.isascii() or not percent.isdecimal() or len(percent) > 3:  # noqa: PLR2004 (100)
            return []
        named = {"type": LATEST} if revision == "LATEST" else {"type": REVISION, "revision": revision}
        targets.append({**named, "percent": int(percent)})
    return targets
