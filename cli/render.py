"""`trimtab render`: what a spec becomes, as files of the tools that people have. Nothing is sent anywhere."""

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.shown import MAX_VERSION, comments, stop

if TYPE_CHECKING:
    from shared.records.serving import DesiredServing
    from shared.records.spec_file import SpecFile


class Format(StrEnum):
    """Which of the files is printed."""

    ALL = "all"
    YAML = "yaml"
    COMMAND = "command"
    BATCHING = "batching"
    MODELS = "models"
    FLAGS = "flags"


CAREFUL = {
    Format.YAML: (
        "CAREFUL: for a new service. Over one that exists it sends all traffic to the new revision at once, pinned or not, and removes",
        "what is not in it: environment variables, labels, sidecars, volumes. trimtab plan says what Trimtab itself would change.",
    ),
    Format.COMMAND: (
        "CAREFUL: for a new service. On one that exists it sends all traffic to the new revision at once, unless its traffic names",
        "revisions, and removes the environment variables that it does not name. trimtab plan says what Trimtab itself would change.",
    ),
}
"""Above what gcloud would write; without a word on traffic `replace` gives all to the latest revision, `deploy` leaves it as it is."""

HEADINGS = {
    Format.YAML: "The service, for gcloud run services replace FILE",
    Format.COMMAND: "The same as one command",
    Format.BATCHING: "batching.config, for --batching_parameters_file",
    Format.MODELS: "models.config, for --model_config_file",
    Format.FLAGS: "The arguments of tensorflow_model_server",
}


def render(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec's YAML file; docs/examples/ranker.yaml is one.")],
    version: Annotated[int | None, typer.Option(min=0, max=MAX_VERSION, help="The model's version, where the spec says latest.")] = None,
    output_format: Annotated[
        Format, typer.Option("--format", help="all: every file under a heading; any other: that file and nothing else, to be redirected.")
    ] = Format.ALL,
) -> None:
    """Print what a spec becomes: Cloud Run's service as YAML and as a gcloud command, and TF Serving's files and flags.

    It is the service made from nothing. For what would change of one that is there, use trimtab plan: written over a service that is
    there, these files move all traffic at once and take out what is not in them.

    Exit code 0: printed. 2: the file cannot be read, the spec is refused, or there is nothing of that kind to print.
    """
    from cli.spec_input import desired_of, spec_of

    file = spec_of(spec)
    desired = desired_of(spec, file, version)
    if output_format is not Format.ALL:
        text = _text(output_format, file, desired)
        if text is None:
            stop(f"{spec}: {_why_nothing(output_format, desired)}")
        typer.echo(text, nl=False)
        return
    for number, each in enumerate(HEADINGS):
        text = _text(each, file, desired)
        heading = f"{'' if number == 0 else chr(10)}# ---- {HEADINGS[each]}\n"
        typer.echo(heading + (f"# Nothing: {_why_nothing(each, desired)}\n" if text is None else text), nl=False)


def _text(which: Format, file: "SpecFile", desired: "DesiredServing") -> str | None:
    """The whole file; None where there is none."""
    from shared.rendering.entry import rendered_entry
    from shared.tfserving.command import BATCHING, MODEL_CONFIG

    if which is Format.YAML:
        return _yaml(file, desired)
    if which is Format.COMMAND:
        return _command(file, desired)
    if desired.own_entry is not None:
        return None
    entry = rendered_entry(desired)
    if which is Format.FLAGS:
        return "".join(f"{argument}\n" for argument in entry.args)
    return entry.environment.get(BATCHING if which is Format.BATCHING else MODEL_CONFIG)


def _why_nothing(which: Format, desired: "DesiredServing") -> str:
    if desired.own_entry is not None:
        return "own_entry keeps the owner's command, so its files and flags are the owner's, too"
    return f"spec.serving.batching is off: there is no {which} file"


def _yaml(file: "SpecFile", desired: "DesiredServing") -> str:
    from shared.cloudrun.documents import to_v1_yaml
    from shared.cloudrun.knative import to_v1
    from shared.rendering.service_plan import new_service

    document = new_service(file.service, desired, file.spec.scale)
    said = [
        f"{file.service}: gcloud run services replace FILE --project={file.service.project} --region={file.service.region}",
        *CAREFUL[Format.YAML],
        "The revision's name and the traffic are not in it: Trimtab's executor adds both when it writes.",
        *_warnings(file, desired),
        *(
            f"v1 has no place for {_named(where)}: {value!r}; the service made from this file alone is another one"
            for where, value in to_v1(document).unmapped.items()
        ),
    ]
    return comments(said) + to_v1_yaml(document)


def _command(file: "SpecFile", desired: "DesiredServing") -> str:
    from shared.cloudrun.gcloud import deploy_command
    from shared.rendering.service_plan import new_service

    document = new_service(file.service, desired, file.spec.scale)
    command = deploy_command(document, project=file.service.project, region=file.service.region)
    said = [
        *CAREFUL[Format.COMMAND],
        "For a new service gcloud asks whether to let everybody call it: answer no, or add --no-allow-unauthenticated.",
        *_warnings(file, desired),
        *(f"gcloud cannot say {_named(each)}: the command alone makes another service than the spec" for each in command.not_expressible),
        *(f"The command {each}" for each in command.notes if each.startswith("uses ")),
        *(each for each in command.notes if not each.startswith("uses ")),
    ]
    return comments(said) + command.text


SPEC_FIELDS = {
    "/ingress": "spec.serving.ingress",
    "/scaling": "spec.scale",
    "/template/scaling/cpuUtilization": "spec.serving.set_points.cpu_utilization",
    "/template/scaling/concurrencyUtilization": "spec.serving.set_points.concurrency_utilization",
    "/template/scaling/maxInstanceCount": "spec.scale.max_instance_count",
    "/template/vpcAccess": "spec.serving.vpc_access",
}
"""By where it stands in Cloud Run's document, the longest beginning counts; what is not here is under the same name in both."""
_ELEMENTS = (
    (re.compile(r"/template/containers/[0-9]+/env(?=/|:|$)"), "spec.serving.environment"),
    (re.compile(r"/template/containers/[0-9]+/(?:command|args)(?=/|:|$)"), "spec.serving.own_entry"),
)


def _named(said: str) -> str:
    """What begins with a pointer into Cloud Run's document, behind the field of the spec that it comes from."""
    fields = [field for where, field in SPEC_FIELDS.items() if re.match(rf"{where}(?=/|:|$)", said)]
    fields += [field for where, field in _ELEMENTS if where.match(said)]
    return f"{max(fields, key=len)} ({said})" if fields else said


def _warnings(file: "SpecFile", desired: "DesiredServing") -> list[str]:
    from shared.records.batching_rules import batching_notes

    found = [] if file.spec.serving is None else list(batching_notes(file.spec.serving))
    if desired.service_account is None:
        found.append(
            "service_account is not set: instances get the project's default account, whose rights are often wide; name one of their own"
        )
    if desired.own_entry is None:
        return found
    return [
        *found,
        "CAREFUL: own_entry. The environment, probes, sidecars and volumes of the service that is there are not in the spec, so they are",
        "not here: replacing that service with this would take them out. trimtab plan says what Trimtab itself would change.",
    ]
