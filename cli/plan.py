"""`trimtab plan`: what a spec would change of the service that runs. Nothing is written.

`--format json` is one object, whose keys stay:

* `service`, `source`: which service, and where `now` was read.
* `exists`, `differs`: whether it is there, and whether anything would change.
* `revision`: the new revision's name, null where there is none.
* `differences`: `field` (Cloud Run's names), `before`, `after`, `new_revision`.
* `settings`: `setting` (the spec's names), `before`, `after`.
* `usd_per_hour`: `region`, `now` (null where there is no service) and `then`: `per_instance`, `at_min`, `at_max`, `min_instances`,
  `max_instances`, `allowed_instances`, `when_all_allowed` (if decisions raise the maximum as far as the spec lets them), `unknown` (why
  the price is null). List prices.
* `notes`: sentences.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.shown import MAX_VERSION, change, one_line, printed, stop

if TYPE_CHECKING:
    from cli.service_input import FoundService
    from shared.records.serving import ModelSpec
    from shared.records.subject import ServiceId
    from shared.rendering.differences import Difference
    from shared.rendering.service_plan import Cost, ServicePlan

EXIT_DIFFERS = 1


class Format(StrEnum):
    """How the plan is printed."""

    TEXT = "text"
    JSON = "json"


def plan(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec's YAML file; docs/examples/ranker.yaml is one.")],
    against: Annotated[
        Path | None, typer.Option(help="Take the service as it is from this document (v1 or v2, YAML or JSON) instead of Cloud Run.")
    ] = None,
    version: Annotated[
        int | None,
        typer.Option(min=0, max=MAX_VERSION, help="The model's version, where the spec says latest; without it the one that runs stays."),
    ] = None,
    output_format: Annotated[Format, typer.Option("--format", help="For people, or one JSON object.")] = Format.TEXT,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 where anything differs, as git diff does.")] = False,
) -> None:
    """Say what a spec would change of its service, field by field, whether that takes a new revision, and what it costs. Writes nothing.

    The service is read from Cloud Run with the environment's credentials, or from a file with --against. Its scaling bounds move by
    decisions and are compared only where they are outside the spec's.

    Exit code 0: the plan was made. 1: something differs, where --exit-code asks for that. 2: the spec or the document cannot be read,
    or is refused. 3: Cloud Run could not be read.
    """
    from cli.service_input import cloud_run, from_file, read_now
    from cli.spec_input import desired_of, notes_of, serving_of, spec_of
    from shared.errors import TrimtabError
    from shared.rendering.plan_notes import plan_notes
    from shared.rendering.service_plan import plan_service

    file = spec_of(spec)
    serving = serving_of(spec, file)
    now: FoundService | None
    if against is not None:
        now = from_file(against, project=file.service.project, region=file.service.region)
        if now.service.name != file.service.name:
            stop(
                f"{against}: this is the service {now.service.name}, the spec is of {file.service.name}: give the document of the same one"
            )
    else:
        now = read_now(cloud_run(file.service), file.service)
    if (
        version is None
        and now is not None
        and serving.own_entry is None
        and serving.model is not None
        and serving.model.version == "latest"
    ):
        version = _running_version(now, serving.model)
    desired = desired_of(spec, file, version)
    try:
        document = None if now is None else now.document
        found = plan_service(document, desired, service=file.service, bounds=file.spec.scale)
        found = replace(found, notes=(*plan_notes(document, file.spec, desired, found), *notes_of(file)))
    except (TrimtabError, ValueError) as error:
        stop(f"{now.source if now else spec}: not a service that can be read: {one_line(str(error))}")
    source = "there is no such service" if now is None else now.source
    if output_format is Format.JSON:
        typer.echo(json.dumps(_as_json(found, file.service, source), indent=2))
    else:
        printed(list(_text(found, file.service, source)))
    if exit_code and found.differences:
        raise typer.Exit(EXIT_DIFFERS)


def _running_version(now: "FoundService", wanted: "ModelSpec") -> int | None:
    """The version that is pinned in the running service, if it serves the same model."""
    from shared.errors import TrimtabError
    from shared.rendering.document import read_document

    try:
        model = read_document(now.document).model
    except (TrimtabError, ValueError):
        return None  # nobody's words say it: --version is asked for
    same = model is not None and (model.name, model.uri) == (wanted.name, wanted.uri)
    return model.version if model is not None and same else None


def _text(found: "ServicePlan", service: "ServiceId", source: str) -> Iterator[str]:
    if found.now is None:
        yield f"{service}: {source}: it would be created, its first revision {found.revision}"
    elif not found.differences:
        yield f"{service}: nothing differs; read from {source}"
    else:
        count = len(found.differences)
        what = f"new revision {found.revision}" if found.new_revision else "no new revision"
        yield f"{service}: {count} {'field differs' if count == 1 else 'fields differ'}, {what}; read from {source}"
    if found.settings:
        yield ""
        yield "In the spec's words"
        for each in found.settings:
            yield from change(each.setting, each.before, each.after)
    if found.differences:
        yield ""
        yield "In Cloud Run's words"
        for difference in found.differences:
            yield from _shown(difference)
    yield ""
    yield f"Dollars per hour, list prices of {service.region}"
    if found.now is not None:
        yield from _cost("now", found.now)
    yield from _cost("then", found.then)
    if found.notes:
        yield ""
    for note in found.notes:
        yield f"Note: {note}"


def _shown(difference: "Difference") -> Iterator[str]:
    before, after = difference.before, difference.after
    if difference.path == "template.timeout":
        before, after = (None if each is None else f"{each:g}s" for each in (before, after))
    if difference.path.endswith(".ports"):
        before, after = _ports(before), _ports(after)
    yield from change(one_line(difference.path), before, after)


def _ports(given: Any) -> Any:
    """`8500 (h2c)`: the one port of a container with the protocol on it."""
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        return given
    return ", ".join(f"{each.get('containerPort')} ({each.get('name')})" for each in given)


def _cost(when: str, cost: "Cost") -> Iterator[str]:
    span = f"{cost.min_instances} to {cost.max_instances} instances"
    if cost.usd_per_instance is None or cost.usd_at_min is None or cost.usd_at_max is None:
        yield f"  {when + ':':<6}unknown: {cost.unknown}; {span}"
        return
    line = f"  {when + ':':<6}{cost.usd_per_instance:.2f} per instance; {span}: {cost.usd_at_min:.2f} to {cost.usd_at_max:.2f}"
    if when == "then" and cost.usd_when_all_allowed is not None and cost.allowed_instances != cost.max_instances:
        line += f"; the spec allows {cost.allowed_instances}: {cost.usd_when_all_allowed:.2f}"
    yield line


def _as_json(found: "ServicePlan", service: "ServiceId", source: str) -> dict[str, Any]:
    return {
        "service": str(service),
        "source": source,
        "exists": found.now is not None,
        "differs": bool(found.differences),
        "revision": found.revision,
        "differences": [
            {"field": each.path, "before": each.before, "after": each.after, "new_revision": each.new_revision}
            for each in found.differences
        ],
        "settings": [{"setting": each.setting, "before": each.before, "after": each.after} for each in found.settings],
        "usd_per_hour": {
            "region": service.region,
            "now": None if found.now is None else _cost_json(found.now),
            "then": _cost_json(found.then),
        },
        "notes": list(found.notes),
    }


def _cost_json(cost: "Cost") -> dict[str, Any]:
    return {
        "per_instance": _rounded(cost.usd_per_instance),
        "at_min": _rounded(cost.usd_at_min),
        "at_max": _rounded(cost.usd_at_max),
        "min_instances": cost.min_instances,
        "max_instances": cost.max_instances,
        "allowed_instances": cost.allowed_instances,
        "when_all_allowed": _rounded(cost.usd_when_all_allowed),
        "unknown": cost.unknown,
    }


def _rounded(usd: float | None) -> float | None:
    """To a hundredth of a cent, so that the same plan is the same text."""
    return None if usd is None else round(usd, 4)
