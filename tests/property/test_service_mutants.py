"""Lint and the simulated Cloud Run judge the same changed services: what one refuses is an error of the other, and nothing else is.

Three differences are meant, and are counted apart. Cloud Run's validation lets a probe's timeout be longer than its period, and lint does
not; lint compares the revision's minimum with the service's maximum; and for lint a GPU's type alone asks for a GPU.
"""

import json
from collections import Counter
from functools import cache

from google.cloud import run_v2

from shared.cloudrun.described_documents import read_described_document
from shared.lint import document_rules, probe_rules, service_rules
from shared.lint.finding import Finding
from shared.lint.given import Given, Text
from shared.lint.resolving import resolve
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import SimulatedError
from shared.simulation.cloud_run_json import from_json
from tests.support.service_mutants import PARENT, Json, healthy, mutant
from tests.support.simulated_service import StandingClock

MUTANTS = 2_000
OF_THE_ADMIN_API = frozenset(
    {
        "cloud-run-limit",
        "cpu-memory-shape",
        "env-reserved",
        "gen2-required",
        "gpu-cpu-throttled",
        "gpu-request-invalid",
        "probe-liveness-tcp",
        "service-document-invalid",
    }
)
"""The codes of what the Admin API refuses; other errors are about a service that it takes."""


@cache
def cloud_run() -> SimulatedCloudRun:
    """A simulated Cloud Run that has every quota, so that only the service itself can be refused."""
    made = SimulatedCloudRun(now=StandingClock().now)
    for accelerator in ("nvidia-l4", "nvidia-rtx-pro-6000", "nvidia-tesla-t4"):
        for zonal_redundancy in (False, True):
            made.set_gpu_quota("acme-ml", "europe-west4", 1_000, accelerator=accelerator, zonal_redundancy=zonal_redundancy)
    return made


def refusal(service: Json) -> str | None:
    try:
        message = from_json(service, run_v2.Service, at="service")
        cloud_run().create_service(PARENT, service["name"].rpartition("/")[2], message, validate_only=True)
    except SimulatedError as error:
        return f"{error.status}: {error.text}"
    return None


def errors(service: Json) -> list[Finding]:
    text = json.dumps(service, indent=1)
    given = Given("mutant.json", deploy=Text(text, "mutant.json"))
    deployment = resolve(given, read_described_document(text), batching=None, models=None, monitoring=None)
    rules = (*document_rules.RULES, *service_rules.RULES, *probe_rules.RULES)
    return [found for rule in rules for found in rule(deployment) if found.severity == "error" and found.code in OF_THE_ADMIN_API]


def meant_difference(service: Json, found: list[Finding]) -> str | None:
    """Which of the differences all of these errors are."""
    if all("up to periodSeconds" in each.message for each in found):
        return "a probe's timeout above its period"
    if all("above the service's maximum" in each.message for each in found):
        return "the revision's minimum above the service's maximum"
    asks = any("nvidia.com/gpu" in each.get("resources", {}).get("limits", {}) for each in service["template"]["containers"])
    if not asks and "nodeSelector" in service["template"]:
        return "a GPU's type without a GPU"
    return None


def test_healthy_services_are_taken_by_both() -> None:
    for service in healthy().values():
        assert refusal(service) is None
        assert errors(service) == []


def test_what_cloud_run_refuses_is_an_error_and_what_it_takes_is_none() -> None:
    counts: Counter[str] = Counter()
    missed: list[str] = []
    false: list[str] = []
    for number in range(MUTANTS):
        said, service = mutant(number)
        refused, found = refusal(service), errors(service)
        if refused is not None:
            counts["refused"] += 1
            missed += [] if found else [f"{number} {said}: {refused}"]
            continue
        counts["taken"] += 1
        if found:
            difference = meant_difference(service, found)
            counts[difference or "false"] += 1
            false += [] if difference else [f"{number} {said}: {[each.message for each in found]}"]
    print(f"{MUTANTS} changed services: {dict(counts)}, missed {len(missed)}, false {len(false)}")
    assert min(counts["refused"], counts["taken"]) > MUTANTS / 5
    assert len(missed) <= counts["refused"] * 0.01, missed[:5]
    assert len(false) <= counts["taken"] * 0.01, false[:5]
