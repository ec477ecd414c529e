"""The service of a spec as plain JSON is the one that the client library renders."""

from hypothesis import given, settings

from shared.records.service import ServiceSpec
from shared.rendering.plain import plain_service
from tests.property.test_rendering_round_trip import made
from tests.support.specs import SERVICE, service_specs


@settings(max_examples=150, deadline=None)
@given(service_specs(own_entry=False))
def test_a_spec_says_the_same_service_with_and_without_the_client_library(spec: ServiceSpec) -> None:
    desired, document = made(spec)
    scaling = document["template"].get("scaling", {})
    for set_point in ("cpuUtilization", "concurrencyUtilization"):
        scaling.pop(set_point, None)
    scale = spec.scale
    plain = plain_service(
        SERVICE.resource_name, desired, min_instance_count=scale.min_instance_count, max_instance_count=scale.max_instance_count
    )
    assert plain == document
