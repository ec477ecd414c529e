"""`check(given)`: all rules over one question. Pure."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from shared.cloudrun.described import Described
from shared.cloudrun.described_documents import read_described_document
from shared.cloudrun.fields import ServiceDocumentError
from shared.cloudrun.gcloud_reading import read_commands
from shared.lint import (
    batching_form,
    batching_meaning,
    document_rules,
    flag_rules,
    listing_rules,
    model_rules,
    monitoring_rules,
    probe_rules,
    query_rules,
    service_rules,
)
from shared.lint.deployment import Deployment
from shared.lint.finding import Finding
from shared.lint.flood import limited
from shared.lint.given import Given
from shared.lint.recognition import Kind, kind_of
from shared.lint.resolving import resolve, texts
from shared.tfserving.batching_reading import read_batching_file
from shared.tfserving.models_reading import read_models_file
from shared.tfserving.monitoring_reading import read_monitoring_file

Rule = Callable[[Deployment], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    *document_rules.RULES,
    *service_rules.RULES,
    *probe_rules.RULES,
    *batching_form.RULES,
    *batching_meaning.RULES,
    *flag_rules.RULES,
    *model_rules.RULES,
    *listing_rules.RULES,
    *monitoring_rules.RULES,
    *query_rules.RULES,
)


@dataclass(frozen=True, slots=True)
class Checked:
    """A question resolved, and what was found in it, in the order of the files' lines where these are known."""

    deployment: Deployment
    findings: tuple[Finding, ...]


def check(given: Given, described: Described | None = None) -> Checked:
    """Resolve the question and run every rule; `described` is the service where the caller knows it already (a plan, a spec)."""
    deployment = resolved(given, described)
    found = limited(itertools.chain(deployment.found, (finding for rule in RULES for finding in rule(deployment))))
    return Checked(deployment, tuple(sorted(found, key=_place)))


def resolved(given: Given, described: Described | None = None) -> Deployment:
    """The question with all its texts read."""
    found: list[Finding] = []
    if described is None and given.deploy is not None:
        described = _described(given, found)
    files = texts(given, described)
    models = read_models_file(files["models"].text) if "models" in files else None
    batching = read_batching_file(files["batching"].text) if "batching" in files else None
    if batching is None and models is not None and models.misplaced:
        batching = read_batching_file(models.misplaced[0].text)
    monitoring = read_monitoring_file(files["monitoring"].text) if "monitoring" in files else None
    deployment = resolve(given, described, batching=batching, models=models, monitoring=monitoring)
    return replace(deployment, found=tuple(found)) if found else deployment


def _described(given: Given, found: list[Finding]) -> Described | None:
    deploy = given.deploy
    assert deploy is not None  # noqa: S101 (the caller asks only then; this is for the type checker)
    kind = kind_of(deploy.text)
    commands = read_commands(deploy.text) if kind is not Kind.SERVICE else None
    if commands is not None:
        return commands
    try:
        return read_described_document(deploy.text)
    except ServiceDocumentError as error:
        if kind is not Kind.SERVICE:
            return None  # commands that deploy nothing, a Dockerfile: nothing is described, and nothing can be said of it
        where = deploy.where("deploy", error.line, error.field)
        found.append(Finding("service-document-invalid", error.message, where, "write one Cloud Run service, as YAML or JSON"))
        return None


def _place(finding: Finding) -> tuple[str, int, str]:
    return finding.where.file, finding.where.line or 0, finding.code
