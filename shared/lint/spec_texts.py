"""The text of a spec as lint's question: what its file and its admission refuse, then what it would be rendered to. Pure."""

import re
from collections.abc import Mapping
from dataclasses import replace

from shared.cloudrun.yaml_values import YamlTextError, load_yaml, plain_value
from shared.lint.checking import Checked
from shared.lint.deployment import Deployment
from shared.lint.finding import Finding, Where
from shared.lint.given import Given, Text
from shared.lint.resolving import resolve
from shared.lint.specs import check_spec
from shared.records.admission import admit
from shared.records.allow_lists import NO_LIMITS
from shared.records.spec_file import SpecFileError, read_spec_file

SERVING = "spec.serving"
_FIELDS: tuple[tuple[str, str], ...] = (
    ("/scaling/maxInstanceCount", "spec.scale.max_instance_count"),
    ("/scaling/minInstanceCount", "spec.scale.min_instance_count"),
    ("/template/scaling/maxInstanceCount", "spec.scale.max_instance_count"),
    ("/template/maxInstanceRequestConcurrency", f"{SERVING}.max_instance_request_concurrency"),
    ("/template/timeout", f"{SERVING}.timeout_seconds"),
    ("/template/nodeSelector", f"{SERVING}.accelerator"),
    ("/template/gpuZonalRedundancyDisabled", f"{SERVING}.gpu_zonal_redundancy"),
    ("/template/serviceAccount", f"{SERVING}.service_account"),
    ("/template/vpcAccess", f"{SERVING}.vpc_access"),
    ("/template/containers/0/image", f"{SERVING}.image"),
    ("/template/containers/0/resources/limits/cpu", f"{SERVING}.cpu"),
    ("/template/containers/0/resources/limits/memory", f"{SERVING}.memory"),
    ("/template/containers/0/resources", f"{SERVING}.cpu"),
    ("/template/containers/0/env", f"{SERVING}.environment"),
    ("/template/containers/0/args", f"{SERVING}.extra_flags"),
    ("/template/containers/0/startupProbe", f"{SERVING}.start_up_seconds"),
    ("/template", SERVING),
    ("", "spec"),
)
"""The field of a spec that a field of its service comes from; the first that matches."""
_PASTES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"scaling:\n\s*maxInstanceCount: (\d+)"), r"spec.scale.max_instance_count: \1"),
    (re.compile(r"\bmaxInstanceRequestConcurrency: (\d+)"), rf"{SERVING}.max_instance_request_concurrency: \1"),
    (re.compile(r"^(?:containers:\n- )?image: (\S+)", re.MULTILINE), rf"{SERVING}.image: \1"),
    (re.compile(r"\b(\w+) \{ value: (\w+) \}"), rf"{SERVING}.batching.\1: \2"),
)
"""What a fix writes of a service or a batching file, and how a spec says it."""
_INDEX = re.compile(r"\[(\d+)\]")


def check_spec_text(given: Given, text: Text) -> Checked:
    """What lint finds in the text of a spec."""
    try:
        data, lines = load_yaml(text.text, plain_value)
    except YamlTextError as error:
        return _refused(
            given, [Finding("spec-invalid", str(error), text.where("spec", error.line, error.field), "write the YAML of one spec")]
        )
    try:
        file = read_spec_file(data)
    except SpecFileError as error:
        return _refused(
            given,
            [
                Finding(
                    "spec-invalid",
                    ": ".join(part for part in (problem.field, problem.value, problem.wrong) if part),
                    text.where("spec", _line(problem.field, lines), problem.field),
                    problem.fix,
                )
                for problem in error.problems
            ],
        )
    refusals = [
        Finding(
            "spec-invalid",
            f"{refusal.field} is {refusal.value}: {refusal.why}; allowed: {refusal.limit}",
            text.where("spec", _line(refusal.field, lines), refusal.field),
            refusal.fix,
        )
        for refusal in admit(file.service, file.spec, NO_LIMITS)
    ]
    if refusals:
        return _refused(given, refusals)
    checked = check_spec(file.service, file.spec, file=text.file)
    return replace(checked, findings=tuple(_in_the_specs_words(finding, text, lines) for finding in checked.findings))


def _refused(given: Given, findings: list[Finding]) -> Checked:
    deployment: Deployment = resolve(given, None, batching=None, models=None, monitoring=None)
    return Checked(deployment, tuple(findings))


def _in_the_specs_words(finding: Finding, text: Text, lines: Mapping[str, int]) -> Finding:
    field = finding.where.field
    if finding.where.part == "batching":
        named = f"{SERVING}.batching.{field}" if field else f"{SERVING}.batching"
    else:
        named = next(name for pointer, name in _FIELDS if field.startswith(pointer))
    fix = finding.fix
    for pattern, words in _PASTES:
        fix = pattern.sub(words, fix)
    return replace(finding, where=Where("spec", text.file, text.where("spec", _line(named, lines)).line, named), fix=fix)


def _line(field: str, lines: Mapping[str, int]) -> int | None:
    """The line of a field as specs name them (`spec.serving.batching`), or of what is around it."""
    way = "/" + _INDEX.sub(r".\1", field).replace(".", "/")
    while way and way not in lines:
        way = way.rpartition("/")[0]
    return lines.get(way)
