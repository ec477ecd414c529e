"""Specs as lint's questions: what would be rendered is judged before anything is."""

import subprocess
import sys

from shared.cloudrun.described import Form
from shared.lint.specs import check_spec, described_of_spec
from shared.records.service import ServiceSpec
from tests.functions.apps import ROOT
from tests.support.specs import OWN_ENTRY, SERVICE, a_spec


def codes(spec: ServiceSpec) -> list[str]:
    return [each.code for each in check_spec(SERVICE, spec).findings]


def test_a_typical_spec_earns_one_word_on_the_quota() -> None:
    assert codes(a_spec()) == ["gpu-quota-default-exceeded"]
    assert codes(a_spec(scale={"max_instance_count": 3})) == []


def test_a_single_instance_is_warned_of() -> None:
    assert codes(a_spec(scale={"max_instance_count": 1})) == ["max-instances-one"]


def test_the_question_knows_what_the_spec_says_of_the_traffic_and_where_it_runs() -> None:
    given, described = described_of_spec(SERVICE, a_spec(rows_per_request=8, client_deadline_ms=900, top={"objective": {"p99_ms": 250}}))
    assert (given.p99_ms, given.workload.rows_per_request, given.workload.client_deadline_ms) == (250, 8, 900)
    assert (described.form, described.complete, described.region, described.project) == (Form.SPEC, True, "europe-west4", "acme-ml")


def test_a_latest_version_needs_no_version_to_be_judged() -> None:
    latest = {"name": "ranker", "uri": "gs://acme-models/ranker", "version": "latest"}
    assert codes(a_spec(model=latest, scale={"max_instance_count": 2})) == []


def test_of_an_owners_command_only_the_bounds_are_described() -> None:
    described = described_of_spec(SERVICE, a_spec(**OWN_ENTRY))[1]
    assert (described.complete, sorted(described.service)) == (False, ["name", "scaling"])
    assert described_of_spec(SERVICE, ServiceSpec.model_validate({"scale": {"max_instance_count": 4}}))[1].complete is False


def test_no_google_client_is_loaded_for_a_spec() -> None:
    clients = ("google.cloud.", "grpc", "google.api_core")
    script = f"import sys, shared.lint.specs; print([name for name in sys.modules if name.startswith({clients!r})])"
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
