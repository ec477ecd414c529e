"""Writes docs/reference from the code, and the blocks of README.md that show what commands print; `--check` only compares.

Every table of settings, spec fields, denials, conditions, signals, park codes, timings and stored documents comes from here, so it
cannot say anything but what the code does.
"""

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from enum import EnumType
from pathlib import Path

from cost_page import costs_page
from pydantic import BaseModel
from terraform_pages import terraform_pages

from cli.explaining import NEW_REVISION
from cli.main import COMMANDS
from shared.control import conditions, remedies, timing
from shared.diagnose.cause_catalog import CAUSE_GROUPS
from shared.diagnose.known import KnownCause, KnownRemedy
from shared.diagnose.remedy_catalog import REMEDY_GROUPS
from shared.doctor.finding import CHECKS, Level, Verdict
from shared.lint.catalog import GROUPS, Code
from shared.records import (
    commands,
    decision,
    facts,
    fleet,
    hold_change,
    model,
    outgoing,
    parked,
    plan,
    rollout,
    server_flags,
    service,
    signals,
    state,
)
from shared.records.command_schema import command_schema
from shared.records.spec_schema import documented, field_rows, json_schema
from shared.settings import PREFIX, Settings
from shared.simulation.scenario_schema import load_rows, scenario_rows, scenario_schema
from shared.tfserving.flags import BY_NAME

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
NOTE = "<!-- Made by `make docs` from the code. Do not edit. -->\n\n"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


def enumeration(title: str, intro: str, kind: EnumType) -> str:
    """A page for an enumeration: value and meaning of each member."""
    said = documented(kind)
    members: dict[str, str] = {member.name: str(member.value) for member in kind}  # type: ignore[var-annotated]
    missing = sorted(set(members) - set(said))
    if missing:
        msg = f"{kind.__name__}: without a docstring: {missing}"
        raise SystemExit(msg)
    return f"# {title}\n\n{NOTE}{intro}\n\n" + table(("code", "meaning"), ((f"`{value}`", said[name]) for name, value in members.items()))


def settings_page() -> str:
    """docs/reference/settings.md."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = "required" if field.is_required() else f"`{field.default}`" if field.default is not None else "unset"
        rows.append((f"`{PREFIX}{name.upper()}`", default, field.description or ""))
    intro = "Environment variables of the functions, read at the first request. An unknown variable with the prefix is refused."
    return f"# Settings\n\n{NOTE}{intro}\n\n" + table(("variable", "default", "meaning"), rows)


SPEC_INTRO = """The file that says what a service is to be. `docs/examples/ranker.yaml` is one; `spec.schema.json` beside this page is its
JSON Schema (draft 2020-12) for editors. Whatever is not written has its default. A field without a default that is left out leaves
Cloud Run's value as it is; fields of `batching` are the exception, see there. What Cloud Run or TF Serving would refuse of a spec is
said when it is applied, before anything is written.
"""
FLAGS_INTRO = """`spec.serving.extra_flags` takes these flags of tensorflow_model_server, by name without dashes. All others are
refused with the reason; of those that Trimtab writes itself it names the field that decides them, where there is one.
"""


def spec_page() -> str:
    """docs/reference/spec.md."""
    fields = ((f"`{row.path}`", row.type, _shown_default(row.default), row.meaning) for row in field_rows())
    flags = ((f"`{name}`", str(BY_NAME[name].kind), _default_of(name), BY_NAME[name].note) for name in server_flags.FREE)
    return (
        f"# Spec\n\n{NOTE}{SPEC_INTRO}\n"
        + table(("field", "type", "default", "meaning"), fields)
        + f"\n## Flags\n\n{FLAGS_INTRO}\n"
        + table(("flag", "kind", "TF Serving's default", "note"), flags)
    )


SCENARIO_INTRO = """What `trimtab simulate` simulates. `docs/examples/scenario.yaml` is one; `scenario.schema.json` beside this page is its
JSON Schema (draft 2020-12) for editors. Whatever is not written has its default. `service` is one of `spec`, `spec_file`, `gcloud` and
`gcloud_file`; the fields of a spec are in [spec.md](spec.md). Files that are named are in the scenario's folder or below it.
"""


def scenario_page() -> str:
    """docs/reference/scenario.md."""
    head = ("field", "type", "default", "meaning")
    fields = table(head, ((f"`{row.path}`", row.type, _shown_default(row.default), row.meaning) for row in scenario_rows()))
    kinds = []
    for kind, (meaning, rows) in load_rows().items():
        own = table(head, ((f"`{row.path}`", row.type, _shown_default(row.default), row.meaning) for row in rows))
        kinds.append(f"### {kind}\n\n{meaning}\n\n{own}" if kind else own)
    said = "Rates are rows a second, over all requests. Times count from the end of the warm-up. Every kind has these:\n\n"
    return f"# Scenario\n\n{NOTE}{SCENARIO_INTRO}\n{fields}\n## Workload\n\n{said}" + "\n".join(kinds)


def _shown_default(default: str) -> str:
    return default if default in {"", "required"} else f"`{default}`"


def _default_of(flag: str) -> str:
    default = BY_NAME[flag].default
    return "depends on the CPUs" if default is None else f"`{str(default).lower()}`" if default != "" else ""


def timing_page() -> str:
    """docs/reference/timing.md."""
    said = documented(timing)
    values = {name: value for name, value in vars(timing).items() if name.isupper()}
    rows = ((f"`{name}`", f"{value:g}", said[name]) for name, value in values.items())
    return f"# Time constants and budgets\n\n{NOTE}" + table(("name", "value", "why"), rows)


def conditions_page() -> str:
    """docs/reference/conditions.md."""
    intro = "Statements about a service in its state, with Kubernetes' meaning: status True, False or Unknown, a reason, since when."
    rows = ((f"`{name}`", meaning) for name, meaning in conditions.MEANINGS.items())
    lifted = ", ".join(f"`{code.value}`" for code in plan.DenialCode if code in conditions.LIMITS)
    return f"# Conditions\n\n{NOTE}{intro}\n\n" + table(("type", "meaning"), rows) + f"\n`Unlimited` is False for the denials {lifted}.\n"


def signals_page() -> str:
    """docs/reference/signals.md."""
    said = documented(signals.Signal)
    moved = {
        signals.Signal.NO_INSTANCE: "at the bound: raises max instances to an absolute target; below it: raises min instances for a while",
        signals.Signal.PENDING_LATENCY: "raises min instances for a while",
        signals.Signal.IDLE: "lowers min instances one by one, and max instances back to where they rested",
    }
    done = {signal: moved.get(signal) or f"nothing: {remedies.NO_FAST_REMEDY[signal]}" for signal in signals.Signal}
    rows = ((f"`{signal.value}`", said[signal.name], what) for signal, what in done.items())
    intro = "What an alert can mean. Alert policies carry it in the user label `trimtab_signal`."
    return f"# Signals\n\n{NOTE}{intro}\n\n" + table(("signal", "meaning", "what the fast knob does"), rows)


def documents_page() -> str:
    """docs/reference/documents.md: the docstrings of the modules that own the records."""
    parts = []
    for module in (service, commands, facts, state, decision, model, parked, fleet):
        text = inspect.getdoc(module) or ""
        parts.append(f"## {module.__name__.rsplit('.', 1)[-1]}\n\n{text}\n")
    return f"# Stored documents\n\n{NOTE}" + "\n".join(parts)


EVENT_DATA: dict[outgoing.EventType, tuple[str, type[BaseModel]]] = {
    outgoing.EventType.DECISION: ("the decision's record", decision.Decision),
    outgoing.EventType.ROLLOUT: ("how the rollout ended, and the service", rollout.LastRollout),
    outgoing.EventType.HOLD: ("the hold, its service and who gave it", hold_change.HoldChange),
    outgoing.EventType.PARKED: ("the parked entry, without body and attributes", parked.Parked),
}


def events_page() -> str:
    """docs/reference/events.md."""
    intro = (
        "What is published on the topic of `TRIMTAB_EVENTS_TOPIC`: CloudEvents 1.0 in Pub/Sub's binary mode (the attributes `ce-id`, "
        "`ce-type`, `ce-source`, `ce-subject`, `ce-time`; the data is JSON). Each is published at least once; a repeat has the same id. "
        "Where the deployment sends spans (`trace_ratio`), the attribute `googclient_traceparent` names the trace that it was published in."
    )
    said = documented(outgoing.EventType)
    rows = [(f"`{kind.value}`", said[kind.name], EVENT_DATA[kind][0]) for kind in outgoing.EventType]
    schema = "The data of each type, as JSON Schema: [events.schema.json](events.schema.json).\n"
    return f"# Events\n\n{NOTE}{intro}\n\n" + table(("ce-type", "meaning", "data"), rows) + f"\n{schema}"


def events_schema() -> str:
    """docs/reference/events.schema.json: the schema of each type's data."""
    schemas = {kind.value: EVENT_DATA[kind][1].model_json_schema() for kind in outgoing.EventType}
    return json.dumps(schemas, indent=2, ensure_ascii=False) + "\n"


LINT_INTRO = """What `trimtab lint` can report. An error does not start, is refused, or certainly does not do what was meant; a warning
works and will hurt; an info is worth knowing. A rule whose numbers nobody gave is skipped. `trimtab explain CODE` prints the same.
"""
CAUSES_INTRO = """What `trimtab diagnose` can find. The words of a refusal say more than its code: RESOURCE_EXHAUSTED and UNAVAILABLE each
have several causes with opposite remedies. Remedies are in the order in which they are usually right; they are explained in
[remedies.md](remedies.md).
"""
REMEDIES_INTRO = """What `trimtab diagnose` can propose. A new revision costs a GPU cold start, and GPUs for both revisions while it lasts.
"""


def lint_page() -> str:
    """docs/reference/lint.md."""
    index = table(
        ("code", "severity", "what"),
        ((f"[`{code.name}`](#{code.name})", code.severity, code.title) for group in GROUPS for code in group.codes),
    )
    groups = (f"## {group.title}\n\n" + "\n".join(_lint_code(code) for code in group.codes) for group in GROUPS)
    return f"# Lint codes\n\n{NOTE}{LINT_INTRO}\n{index}\n" + "\n".join(groups)


def _lint_code(code: Code) -> str:
    sources = "\n".join(f"- {source}" for source in code.authority.split("; "))
    return (
        f"### {code.name}\n\n**{code.title}** ({code.severity})\n\nReported: {code.when}\n\nNot reported: {code.not_when}\n\n"
        f"Why: {code.why}\n\nFix: {code.fix}\n\n```text\n{code.example}\n```\n\nSource:\n\n{sources}\n"
    )


def causes_page() -> str:
    """docs/reference/causes.md."""
    groups = (f"## {group.title}\n\n" + "\n".join(_cause(cause) for cause in group.causes) for group in CAUSE_GROUPS)
    return f"# Causes\n\n{NOTE}{CAUSES_INTRO}\n" + "\n".join(groups)


def _cause(cause: KnownCause) -> str:
    others = "\n".join(f"- [`{other.cause}`](#{other.cause}): {other.tell}." for other in cause.not_to_be_confused_with)
    right = ", ".join(f"[`{name}`](remedies.md#{name})" for name in cause.remedies)
    wrong = "\n".join(f"- {', '.join(f'`{name}`' for name in harm.remedies)}: {harm.why}" for harm in cause.wrong_answers)
    return (
        f"### {cause.name}\n\n**{cause.title}**\n\nSeen: {cause.seen}\n\nWhere: {cause.where_visible}\n\n"
        f"Not to be confused with:\n\n{others}\n\nRemedies: {right}\n\nWrong answers:\n\n{wrong}\n"
    )


def remedies_page() -> str:
    """docs/reference/remedies.md."""
    groups = (f"## {group.title}\n\n" + "\n".join(_remedy(remedy) for remedy in group.remedies) for group in REMEDY_GROUPS)
    return f"# Remedies\n\n{NOTE}{REMEDIES_INTRO}\n" + "\n".join(groups)


def _remedy(remedy: KnownRemedy) -> str:
    return (
        f"### {remedy.name}\n\n**{remedy.title}**\n\nKnob: {remedy.knob}\n\n"
        f"New revision: {NEW_REVISION[remedy.new_revision]}\n\nRisk: {remedy.risk}\n\n```text\n{remedy.how}\n```\n"
    )


DOCTOR_INTRO = """What `trimtab doctor` looks at. What could not be looked at is `unknown`, neither healthy nor broken: a call that was
refused, or a kind of resource that a plan has none of and no variable of it leaves out. The guide is
[guides/doctor.md](../guides/doctor.md).
"""
DOCTOR_VERDICTS = """Of a check without a finding `--json` says:
"""


def doctor_page() -> str:
    """docs/reference/doctor.md."""
    levels, verdicts = (
        table((title, "meaning"), ((f"`{each.value}`", documented(kind)[each.name]) for each in kind))
        for title, kind in (("level", Level), ("verdict", Verdict))
    )
    return (
        f"# Doctor\n\n{NOTE}{DOCTOR_INTRO}\n"
        + table(("check", "what holds"), ((f"`{check}`", said) for check, said in CHECKS.items()))
        + f"\n{levels}\n{DOCTOR_VERDICTS}\n{verdicts}"
    )


def commands_page() -> str:
    """docs/reference/commands.md: what `--help` prints."""
    parts = []
    for name in ("", *COMMANDS):
        shown = run(["trimtab", *([name] if name else []), "--help"])
        parts.append(f"## trimtab {name}".rstrip() + f"\n\n```text\n{shown}```\n")
    return f"# Commands\n\n{NOTE}" + "\n".join(parts)


def run(command: list[str]) -> str:
    """What a command of this environment prints, without trailing spaces."""
    executable = Path(sys.executable).parent / command[0]
    environment = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([str(executable), *command[1:]], capture_output=True, text=True, check=False, env=environment, cwd=ROOT)  # noqa: S603
    if done.returncode not in {0, 1}:  # 1: lint found errors
        msg = f"{' '.join(command)} ended with {done.returncode}: {done.stderr}"
        raise SystemExit(msg)
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip("\n") + "\n"


def readme(text: str) -> str:
    """README.md with its blocks `<!-- output: COMMAND -->` filled with what the command prints."""

    def fill(match: re.Match[str]) -> str:
        return f"{match['open']}\n```text\n{run(match['command'].split())}```\n<!-- end -->"

    return re.sub(r"(?P<open><!-- output: (?P<command>[a-z0-9 ./_-]+) -->)\n.*?<!-- end -->", fill, text, flags=re.DOTALL)


def pages() -> dict[Path, str]:
    """Every generated file and what must stand in it."""
    readme_path = ROOT / "README.md"
    return {
        REFERENCE / "settings.md": settings_page(),
        REFERENCE / "spec.md": spec_page(),
        REFERENCE / "spec.schema.json": json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n",
        REFERENCE / "scenario.md": scenario_page(),
        REFERENCE / "scenario.schema.json": json.dumps(scenario_schema(), indent=2, ensure_ascii=False) + "\n",
        REFERENCE / "command.schema.json": json.dumps(command_schema(), indent=2, ensure_ascii=False) + "\n",
        REFERENCE / "timing.md": timing_page(),
        REFERENCE / "conditions.md": conditions_page(),
        REFERENCE / "signals.md": signals_page(),
        REFERENCE / "documents.md": documents_page(),
        REFERENCE / "events.md": events_page(),
        REFERENCE / "events.schema.json": events_schema(),
        REFERENCE / "lint.md": lint_page(),
        REFERENCE / "causes.md": causes_page(),
        REFERENCE / "remedies.md": remedies_page(),
        REFERENCE / "commands.md": commands_page(),
        REFERENCE / "doctor.md": doctor_page(),
        REFERENCE / "denials.md": enumeration("Denials", "Why a wanted change was not made.", plan.DenialCode),
        REFERENCE / "parked.md": enumeration("Park codes", "Why an event is parked.", parked.ParkCode),
        REFERENCE / "autonomy.md": enumeration("Autonomy", "How far Trimtab may go with a service.", service.Autonomy),
        readme_path: readme(readme_path.read_text()),
        ROOT / "docs" / "costs.md": costs_page(),
        **terraform_pages(),
    }


def main() -> int:
    """Write what is out of date, or with `--check` only name it."""
    check = "--check" in sys.argv[1:]
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{'out of date' if check else 'written'}: {path.relative_to(ROOT)}")
    if check:
        return 1 if stale else 0
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
