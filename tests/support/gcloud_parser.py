"""The installed gcloud's own reading of its commands and files, offline: nothing is executed and nothing is sent.

A subprocess with gcloud's own Python imports gcloud's code, parses each command line with gcloud's parser, and applies gcloud's own
changes to a new service, up to the point where gcloud would send it. Starting costs most, so callers send everything at once.
"""

import atexit
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

ROOTS = (Path("/usr/lib/google-cloud-sdk"), Path.home() / "google-cloud-sdk", Path("/opt/google-cloud-sdk"))

_PROGRAM = r"""
import contextlib, io, json, sys, traceback

root, answers = sys.argv[1], sys.stdout
sys.stdout = sys.stderr  # what gcloud prints is no answer
sys.path[:0] = [root + "/lib", root + "/lib/third_party"]
from apitools.base.py import encoding
from googlecloudsdk import gcloud_main
from googlecloudsdk.api_lib.run import global_methods, service
from googlecloudsdk.api_lib.util import apis
from googlecloudsdk.api_lib.util import messages as messages_util
from googlecloudsdk.calliope import arg_parsers, base
from googlecloudsdk.command_lib.run import config_changes, flags
from googlecloudsdk.core import log, properties, yaml

messages = apis.GetMessagesModule(global_methods.SERVERLESS_API_NAME, global_methods.SERVERLESS_API_VERSION)
flags.CheckCloudSQLApiEnablement = lambda: None  # asks the network
log.error = lambda text, *_, **__: print(f"ERROR: {text}", file=sys.stderr)  # not to a file, and not to what was standard error once
cli = gcloud_main.CreateCLI([])
parser = cli._CLI__parser


def plain(value):
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if hasattr(value, "GetSpecifiedArgsDict") or hasattr(value, "_specified_args"):
        return specified(value)
    return plain(vars(value))


def specified(namespace):
    return {name: plain(getattr(namespace, name)) for name in namespace._specified_args if hasattr(namespace, name)}


def parse(argv, base=None):
    errors = io.StringIO()
    properties.VALUES.PushInvocationValues()  # what one command's --platform says is not the next one's
    try:
        with contextlib.redirect_stderr(errors):
            args = parser.parse_args(argv[1:])
            command = args._GetCommand()
            track = command.ReleaseTrack()
            if base is None:
                if hasattr(command._common_type, "_ValidateAndGetContainers"):
                    command._common_type._ValidateAndGetContainers(command._common_type(cli, None), args)
                client = type("Client", (), {"_VERSION": "v1", "MESSAGES_MODULE": messages})
                made = service.Service.New(client, "acme-ml")
            else:
                made = service.Service(encoding.PyValueToMessage(messages.Service, base), messages)
            made.name = args.SERVICE
            changes = flags.GetServiceConfigurationChanges(args, track)
            if base is not None:
                command._common_type._AssertChanges(None, changes, "", False)
            changes.append(config_changes.SetLaunchStageAnnotationChange(track))
            made = config_changes.WithChanges(made, changes)
        return {"flags": specified(args), "service": encoding.MessageToPyValue(made.Message()), "error": None}
    except (SystemExit, Exception) as error:
        return {"flags": {}, "service": {}, "error": errors.getvalue() + traceback.format_exc()}
    finally:
        properties.VALUES.PopInvocationValues()


def flags_of(path):
    command = cli._TopElement()
    for word in path:
        command = command.LoadSubElement(word)
    groups, found = [], {}

    def walk(argument):
        if not getattr(argument, "is_group", False):
            return [argument.option_strings[0] if argument.option_strings else argument.dest]
        parts = [walk(each) for each in argument.arguments]
        if argument.is_mutex and len(parts) > 1:
            groups.append(parts)
        return [name for part in parts for name in part]

    for argument in command.ai.arguments:
        walk(argument)
    for action in command._parser._actions:
        for name in action.option_strings:
            kind = type(getattr(action, "type", None)).__name__
            choices = sorted(action.choices) if action.choices else []
            found[name] = {"type": kind, "value": action.nargs != 0, "choices": choices, "action": type(action).__name__}
    return {"flags": found, "groups": groups}


def replace(text):
    try:
        found = yaml.load(text)
        found.pop("status", None)
        message = messages_util.DictToMessageWithErrorCheck(found, messages.Service)
        return {"flags": {}, "service": encoding.MessageToPyValue(message), "error": None}
    except Exception as error:
        return {"flags": {}, "service": {}, "error": repr(error)}


for line in sys.stdin:
    job = json.loads(line)
    out = [flags_of(path) for path in job["tables"]]
    out += [parse(argv) for argv in job["commands"]] + [replace(text) for text in job["files"]]
    out += [parse(argv, job["base"]) for argv in job["updates"]]
    answers.write(json.dumps(out) + "\n")
    answers.flush()
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """What gcloud made of a command or a file: the flags given, by gcloud's names; the v1 service it would send; or its refusal."""

    flags: dict[str, Any]
    service: dict[str, Any]
    error: str | None


@cache
def _root() -> Path | None:
    return next((root for root in ROOTS if (root / "lib/googlecloudsdk/command_lib/run/flags.py").exists()), None)


def parse_all(commands: Sequence[Sequence[str]]) -> list[Reading]:
    """gcloud's reading of each `gcloud run deploy` or `gcloud run services update` command line; skipped where gcloud is not installed."""
    return _ask(commands=[list(argv) for argv in commands])


def parse_updates(commands: Sequence[Sequence[str]], base: Mapping[str, Any]) -> list[Reading]:
    """gcloud's reading of each `gcloud run services update` command line, on a service that is the v1 document `base` before."""
    return _ask(updates=[list(argv) for argv in commands], base=dict(base))


def read_files(texts: Sequence[str]) -> list[Reading]:
    """gcloud's reading of each text as the file of `gcloud run services replace FILE`."""
    return _ask(files=list(texts))


def installed() -> bool:
    """Whether gcloud is on this machine."""
    return _root() is not None


def flag_tables(paths: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """The flags of each command, given as the words behind gcloud: by name what they take, and the groups of which one may be given."""
    return _answers(tables=[list(path) for path in paths])


def _ask(**jobs: Any) -> list[Reading]:
    return [Reading(**each) for each in _answers(**jobs)]


def _answers(**jobs: Any) -> list[dict[str, Any]]:
    root = _root()
    if root is None:
        pytest.skip("gcloud is not installed: its own parser cannot be asked")
    gcloud = _started(root)
    assert gcloud.stdin is not None
    assert gcloud.stdout is not None
    gcloud.stdin.write(json.dumps({"tables": [], "commands": [], "files": [], "updates": [], **jobs}) + "\n")
    gcloud.stdin.flush()
    answer = gcloud.stdout.readline()
    assert answer, f"gcloud's code ended with {gcloud.wait()}"
    found: list[dict[str, Any]] = json.loads(answer)
    return found


@cache
def _started(root: Path) -> subprocess.Popen[str]:
    home = TemporaryDirectory()
    bundled = root / "platform/bundledpythonunix/bin/python3"
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": home.name,
        "CLOUDSDK_CONFIG": home.name,
        "CLOUDSDK_CORE_PROJECT": "acme-ml",
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_RUN_PLATFORM": "managed",
        "PYTHONUTF8": "1",
    }
    gcloud = subprocess.Popen(
        [str(bundled) if bundled.exists() else "python3", "-S", "-c", _PROGRAM, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
        encoding="utf-8",
    )
    atexit.register(_end, gcloud, home)
    return gcloud


def _end(gcloud: subprocess.Popen[str], home: TemporaryDirectory[str]) -> None:
    gcloud.terminate()
    gcloud.communicate()
    home.cleanup()
