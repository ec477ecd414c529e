"""gcloud and docker commands as people paste them, read as a shell and gcloud read them and never executed. Pure."""

from collections.abc import Sequence
from itertools import pairwise

from shared.cloudrun.command_draft import Change, Said, ServiceDraft, build, said
from shared.cloudrun.described import Described, Form, Problem, ReadingProblem
from shared.cloudrun.docker_reading import DockerRun, read_docker
from shared.cloudrun.fields import Json
from shared.cloudrun.gcloud_applying import apply_flags
from shared.cloudrun.gcloud_arguments import GivenFlag, read_arguments
from shared.cloudrun.gcloud_command_names import SERVICES, CommandName, read_command_name
from shared.cloudrun.gcloud_flags import find_flag
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
        self.line: int | None = None
        """Of the last command that deploys, else of the last docker run: what the text does not say is missing there."""

    def take(self, command: ShellCommand) -> None:
        if command.words[0] != "gcloud":
            run = read_docker(command.words, command.lines)
            if run is not None:
                self.dockers.append(run)
                self.line = self.line if self.has_service else command.lines[0]
                self._faults(command)
            return
        name = read_command_name(command.words, command.lines)
        for flag, value in name.own:
            if flag in {"project", "region"}:
                self._property("run/region" if flag == "region" else "project", value)
        if name.read is not None:
            self._faults(command)
            self.problems += name.problems
            self._run(command, name)
        elif name.path[:2] == SERVICES or name.problems:
            self.has_service = True
            self.problems += name.problems
            if name.path == (*SERVICES, "update-traffic"):
                self._traffic(name.words, command.lines[0])
        elif name.path[:2] == ("config", "set") and len(name.words) > 1:
            self._property(name.words[0], name.words[1])

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

    def _run(self, command: ShellCommand, name: CommandName) -> None:
        assert name.read is not None  # noqa: S101 (the caller asks only then; this is for the type checker)
        self.has_service = True
        self.line = command.lines[0]
        track = name.track
        if name.read == "deploy":
            self.draft.complete = True
        found = read_arguments(name.read, track, name.words, name.lines)
        self.problems += found.problems
        if found.name is not None and UNKNOWN not in found.name:
            self.name, self.name_line = found.name, found.name_line
        for each in found.service:
            if isinstance(each.value, str) and each.flag.name in {"region", "project"}:
                self._property("run/region" if each.flag.name == "region" else "project", each.value)
        flags = [*found.service, *(each for group in found.containers.values() for each in group)]
        bare = any(word.startswith(UNKNOWN) for before, word in pairwise(["gcloud", *name.words]) if not _takes_value(before))
        self.open_ended = self.open_ended or bare or any(_leaves_open(each) for each in flags)
        if track:
            self.draft.fields["launchStage",] = Said(track.upper(), f"gcloud {track}", command.lines[0])
        apply_flags(Change(self.draft, track, self.name), found.service, found.containers, self._refused)

    def _refused(self, each: GivenFlag, refused: ValueRefused) -> None:
        message = f"{each.written}: {refused.why}"
        self.problems.append(Problem(ReadingProblem.VALUE_INVALID, shown(message), shown(refused.fix), each.line, each.written))

    def _traffic(self, words: Sequence[str], line: int) -> None:
        targets: list[Json] = []
        for place, word in enumerate(words):
            name, equals, value = word.partition("=")
            if name == "--to-latest":
                targets = [{"type": LATEST, "percent": FULL_PERCENT}]
            elif name == "--to-revisions":
                targets = _targets(value if equals else words[place + 1] if place + 1 < len(words) else "")
        if sum(each["percent"] for each in targets) == FULL_PERCENT:
            self.draft.traffic = Said(targets, "gcloud run services update-traffic", line)

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
            lines=built.lines if self.line is None else {"": self.line, **built.lines},
            names=built.names,
            problems=tuple(dict.fromkeys(self.problems)),
        )

    def _name(self) -> None:
        if self.name is None:
            return
        full = self.draft.project is not None and self.draft.region is not None
        name = f"projects/{self.draft.project}/locations/{self.draft.region}/services/{self.name}" if full else self.name
        self.draft.fields["name",] = Said(name, "SERVICE", self.name_line)


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
