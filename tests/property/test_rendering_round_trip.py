"""Whatever a spec asks for: rendered, it is read back as it was, in every form that a service is kept in, and the tools take it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from google.cloud import run_v2
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.cloudrun.documents import read_service_document, to_v1_yaml
from shared.cloudrun.gcloud import deploy_command
from shared.records.admission import admit
from shared.records.allow_lists import NO_LIMITS
from shared.records.desired import desired_serving
from shared.records.observed import Bounds
from shared.records.service import ServiceSpec
from shared.records.serving import EXPANSION, DesiredServing
from shared.rendering.adoption import adopted
from shared.rendering.differences import differences
from shared.rendering.document import read_document, rendered_document
from shared.rendering.messages import Json
from shared.rendering.reading import UnreadableServiceError
from shared.rendering.service_plan import new_service, plan_service
from shared.rendering.serving import overlay
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_json import from_json, to_json
from tests.support.gcloud_parser import parse_all, read_files
from tests.support.specs import SERVICE, TYPICAL, a_spec, service_specs
from tests.support.v2_services import services

Place = Callable[[str], dict[str, Any]]
NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
QUOTA = 2_000
VERSION = 7
"""For specs that ask for the latest."""
COMMANDS = 30
"""Specs that gcloud is asked about: it starts once for all of them."""

quick = settings(max_examples=60, deadline=None)


def wanted(spec: ServiceSpec) -> DesiredServing:
    assert admit(SERVICE, spec, NO_LIMITS) == ()
    return desired_serving(spec, version=VERSION)


def made(spec: ServiceSpec) -> tuple[DesiredServing, Json]:
    desired = wanted(spec)
    return desired, new_service(SERVICE, desired, spec.scale)


rendering = service_specs(own_entry=False)
keeping = service_specs(own_entry=True)


@quick
@given(rendering)
def test_what_is_rendered_is_read_back_the_same(spec: ServiceSpec) -> None:
    desired, document = made(spec)
    assert read_document(document) == desired
    assert differences(document, rendered_document(document, desired)) == ()


PLACES: tuple[Place, ...] = (
    lambda text: {"batching": {"thread_pool_name": text}},
    lambda text: {"model": {**TYPICAL["model"], "name": text}},
    lambda text: {"model": {**TYPICAL["model"], "uri": f"gs://acme-models/{text}"}},
    lambda text: {"model": {**TYPICAL["model"], "uri": f"/{text}", "source": "image"}},
    lambda text: {"model": {**TYPICAL["model"], "uri": f"gs://acme-models/{text}", "source": "copied"}},
    lambda text: {"image": f"acme/{text}:1"},
    lambda text: {"service_account": text},
    lambda text: {"environment": {"A": text}},
    lambda text: {"environment": {text: "a"}},
    lambda text: {"extra_flags": {"saved_model_tags": text}},
    lambda text: {"extra_flags": {"grpc_channel_arguments": f"a={text}"}},
    lambda text: {"extra_flags": {text: 1}},
)
"""Everywhere in a spec that an owner's text may stand and end in the container's arguments or variables."""


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(PLACES), st.text(st.sampled_from('$(aA0.-_)\n\\"$('), max_size=6))
def test_nothing_that_cloud_run_would_expand_is_rendered_wherever_it_is_written(place: Place, text: str) -> None:
    try:
        spec = a_spec(**place(text))
    except ValidationError:
        return
    if not admit(SERVICE, spec, NO_LIMITS):
        assert _expanded(made(spec)[1]) == []


def test_a_dollar_alone_is_rendered_as_it_is_and_a_bracket_behind_it_is_not() -> None:
    for place in (PLACES[0], PLACES[7]):
        assert _expanded(made(a_spec(**place("$a(")))[1]) == []
        with pytest.raises(ValidationError, match="would expand"):
            a_spec(**place("a$(b"))


@quick
@given(rendering)
def test_no_argument_and_no_variable_of_a_rendered_service_holds_what_cloud_run_would_expand(spec: ServiceSpec) -> None:
    assert _expanded(made(spec)[1]) == []


def _expanded(document: Json) -> list[str]:
    """The words and values of all containers in which Cloud Run would put a variable."""
    containers = document["template"]["containers"]
    words = [word for each in containers for word in (*each.get("command", []), *each.get("args", []))]
    values = [each.get("value", "") for container in containers for each in container.get("env", [])]
    assert words
    assert values
    return [text for text in (*words, *values) if EXPANSION in text]


@quick
@given(rendering)
def test_writing_it_again_is_no_write(spec: ServiceSpec) -> None:
    desired = wanted(spec)
    once = overlay(run_v2.Service(), desired, bounds=Bounds(max_instance_count=3))
    assert overlay(once, desired) is once


@quick
@given(rendering)
def test_it_survives_the_other_form_of_the_api(spec: ServiceSpec) -> None:
    desired, document = made(spec)
    back = read_service_document(to_v1_yaml(document))
    assert back.unmapped == {}
    assert differences(document, back.service) == ()
    assert read_document(back.service) == desired


@quick
@given(service_specs(own_entry=None).filter(lambda spec: spec.serving is not None))
def test_adopting_it_and_planning_that_changes_nothing(spec: ServiceSpec) -> None:
    _, document = made(spec)
    found = adopted(document, SERVICE).spec
    assert plan_service(document, desired_serving(found), service=SERVICE, bounds=found.scale).differences == ()


@quick
@given(keeping)
def test_an_owners_command_is_read_back_as_well(spec: ServiceSpec) -> None:
    desired, document = made(spec)
    assert differences(document, rendered_document(document, read_document(document))) == ()
    assert differences(document, rendered_document(document, desired)) == ()


@settings(max_examples=40, deadline=None)
@given(rendering)
def test_the_simulated_cloud_run_takes_it_and_gives_it_back(spec: ServiceSpec) -> None:
    desired, document = made(spec)
    cloud_run = SimulatedCloudRun(now=lambda: NOW)
    for accelerator in ("nvidia-l4", "nvidia-rtx-pro-6000"):
        for zonal in (True, False):
            cloud_run.set_gpu_quota(SERVICE.project, SERVICE.region, QUOTA, accelerator=accelerator, zonal_redundancy=zonal)
    cloud_run.set_cpu_quota(SERVICE.project, SERVICE.region, QUOTA * 100_000)
    cloud_run.set_memory_quota(SERVICE.project, SERVICE.region, QUOTA * 2**38)
    parent = f"projects/{SERVICE.project}/locations/{SERVICE.region}"
    message = from_json({**document, "name": ""}, run_v2.Service, at="service")
    cloud_run.create_service(parent, SERVICE.name, message, settled=True)
    there = to_json(cloud_run.get_service(SERVICE.resource_name))
    assert _said(read_document(there), desired) == desired
    assert differences(there, rendered_document(there, desired)) == ()


def _named(service: Json) -> Json:
    """Any service, with the texts in it that Cloud Run checks and the strategy does not."""
    template = {name: value for name, value in service.get("template", {}).items() if name not in {"serviceAccount", "vpcAccess"}}
    containers = [{**each, "image": "app:1"} for each in template.get("containers", [{}])]
    return {**service, "template": {**template, "containers": containers}}


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(services.map(_named))
def test_any_service_is_adopted_without_a_change_or_refused_with_the_value(service: Json) -> None:
    try:
        found = adopted(service, SERVICE).spec
    except UnreadableServiceError as error:
        assert "a spec says one GPU" in str(error) or "no spec can say this service" in str(error) or "name the accelerator" in str(error)  # noqa: PT017 (which it is depends on the service)
        return
    assert plan_service(service, desired_serving(found), service=SERVICE, bounds=found.scale).differences == ()


def test_gcloud_takes_the_command_and_the_file() -> None:
    commands: list[tuple[str, ...]] = []
    files: list[str] = []

    @settings(
        max_examples=COMMANDS,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(rendering)
    def gather(spec: ServiceSpec) -> None:
        _, document = made(spec)
        commands.append(deploy_command(document, project=SERVICE.project, region=SERVICE.region).argv)
        files.append(to_v1_yaml(document))

    gather()
    assert len(commands) == COMMANDS
    assert [each.error for each in (*parse_all(commands), *read_files(files)) if each.error is not None] == []


def _said(found: DesiredServing, desired: DesiredServing) -> DesiredServing:
    """Without what Cloud Run filled in where nothing was asked for: its own default account, its own ingress."""
    return found.model_copy(update={name: None for name, value in desired if value is None})
