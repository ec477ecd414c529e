"""A scenario as `trimtab simulate` takes it: its file and the files that it names, read with every mistake named."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cli.input import STANDARD_INPUT, read_text
from cli.shown import one_line, stop
from cli.spec_input import SpecTextError, load_yaml
from shared.lint.recognition import Kind, UnreadableError, kind_of
from shared.records.spec_file import SpecFileError, read_spec_file
from shared.records.spec_problems import problems_of
from shared.simulation.scenario import Scenario, ScenarioError, ServiceSettings, read_scenario, read_settings
from shared.simulation.scenario_workload import CsvError, ReplayLoad, series_of_csv

MARK = "\ufeff"
"""Editors of Windows begin a file in UTF-8 with it."""
HINT = "docs/examples/scenario.yaml is one, docs/reference/scenario.md lists every field"


def scenario_of(name: str) -> Scenario:
    """The scenario in the file, or in standard input for `-`, files that it names included; ends the command where it is none."""
    try:
        return _complete(read_scenario(_data(name)), _folder(name))
    except ScenarioError as error:
        stop(f"{name}: {error}\n{HINT}")


def need(name: str) -> None:
    """End the command where there is no such file, or it cannot be read."""
    if name != STANDARD_INPUT:
        _text(name)


def settings_of(name: str) -> ServiceSettings:
    """Settings to compare: of another scenario, of a file with what stands under `service`, of a spec's file, or a gcloud command."""
    text = _text(name)
    if kind_of(text) is Kind.COMMANDS:
        return ServiceSettings(gcloud=text.removeprefix(MARK))
    data = _parsed(name, text)
    try:
        if isinstance(data, Mapping) and "workload" in data:
            return _with_files(read_scenario(data).service, _folder(name))
        return _with_files(read_settings(data), _folder(name))
    except ScenarioError as error:
        stop(f"{name}: {error}")


def _complete(scenario: Scenario, folder: Path) -> Scenario:
    if not scenario.has_files:
        return scenario
    fields: dict[str, Any] = {field: getattr(scenario, field) for field in scenario.model_fields_set}
    fields["service"] = _with_files(scenario.service, folder)
    fields["compare"] = {name: _with_files(settings, folder) for name, settings in scenario.compare.items()}
    fields["workload"] = _load(scenario, folder)
    try:
        return Scenario(**fields)
    except ValidationError as error:
        raise ScenarioError(problems_of(error, Scenario, {})) from None


def _load(scenario: Scenario, folder: Path) -> Any:
    load = scenario.workload
    if not isinstance(load, ReplayLoad) or load.csv_file is None:
        return load
    name = _beside(folder, load.csv_file, "workload.csv_file")
    try:
        series = series_of_csv(_text(name))
    except CsvError as error:
        stop(f"{name}: {error}")
    try:
        return ReplayLoad.model_validate({**load.model_dump(exclude={"csv_file", "series"}), "series": series})
    except ValidationError as error:
        stop("\n".join(f"{name}: {problem}" for problem in problems_of(error, ReplayLoad, {"series": series})))


def _with_files(settings: ServiceSettings, folder: Path) -> ServiceSettings:
    if settings.spec_file is not None:
        name = _beside(folder, settings.spec_file, "service.spec_file")
        try:
            found = read_spec_file(_parsed(name, _text(name)))
        except SpecFileError as error:
            stop(f"{name}: {error}")
        return ServiceSettings(service=settings.service or found.service, spec=found.spec)
    update: dict[str, Any] = {}
    for field in ("gcloud", "batching"):
        file = getattr(settings, f"{field}_file")
        if file is not None:
            text = _text(_beside(folder, file, f"service.{field}_file"))
            # TF Serving stumbles over a byte order mark, so it stays in its own file.
            update |= {field: text.removeprefix(MARK) if field == "gcloud" else text, f"{field}_file": None}
    return settings.model_copy(update=update)


def _beside(folder: Path, file: str, field: str) -> str:
    """The path of a file in the scenario's folder or below it: whoever wrote the scenario chooses no other file of this machine."""
    try:
        path = (folder / file).resolve()
    except (OSError, ValueError):
        stop(f"{field}: {one_line(file)}: its name is none that a file can have")
    if not path.is_relative_to(folder.resolve()):
        stop(f"{field}: {one_line(file)}: it is not in the scenario's folder ({folder}) or below it: copy it there")
    return str(path)


def _folder(name: str) -> Path:
    return Path() if name == STANDARD_INPUT else Path(name).parent


def _data(name: str) -> Any:
    return _parsed(name, _text(name))


def _parsed(name: str, text: str) -> Any:
    try:
        return load_yaml(text)
    except SpecTextError as error:
        stop(f"{name}: {error}")


def _text(name: str) -> str:
    try:
        if name == STANDARD_INPUT and sys.stdin.isatty():
            stop(f"-: nothing comes in on standard input: name a file; {HINT}")
        return read_text(name)
    except UnreadableError as error:
        stop(f"{one_line(name)}: {error}")
