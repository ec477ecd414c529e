"""Any value of any service's document may be of the wrong type: that is said, and nothing worse happens."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.cloudrun.documents import read_service_document
from shared.cloudrun.fields import ServiceDocumentError
from shared.records.desired import desired_serving
from shared.records.service import ScaleBounds
from shared.records.subject import ServiceId
from shared.rendering.adoption import adopted, pinned_traffic
from shared.rendering.reading import UnreadableServiceError
from shared.rendering.service_plan import ServicePlan, plan_service
from tests.support.commands import PROJECT, REGION, SERVICES
from tests.support.desired import desired
from tests.support.documents import loaded

SERVICE = ServiceId(project=PROJECT, region=REGION, name="ranker")
WRONG: tuple[Any, ...] = ([], {}, 1, "x", None)
PLANNED = 10
"""One in so many is planned as well: that takes most of the time."""
DOCUMENTS = sorted(SERVICES.iterdir())


def spoiled(value: Any) -> Iterator[Any]:
    """The value with each node of it, itself included, replaced by each wrong one in turn."""
    yield from WRONG
    if isinstance(value, dict):
        yield from ({**value, name: each} for name, inner in value.items() for each in spoiled(inner))
    elif isinstance(value, list):
        yield from ([*value[:at], each, *value[at + 1 :]] for at, inner in enumerate(value) for each in spoiled(inner))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_a_value_of_the_wrong_type_is_a_refusal_or_means_nothing(document: Path) -> None:
    kept = 0
    for each in spoiled(loaded(document)):
        try:
            service = read_service_document(json.dumps(each)).service
            spec = adopted(service, SERVICE).spec
            pinned_traffic(service)
        except (ServiceDocumentError, UnreadableServiceError):
            continue
        kept += 1
        if kept % PLANNED == 1:
            assert plan_service(service, desired_serving(spec), service=SERVICE, bounds=spec.scale).differences == ()
    assert kept


@pytest.mark.parametrize("document", DOCUMENTS[::4], ids=lambda path: path.stem)
def test_a_plan_of_a_value_of_the_wrong_type_is_made_or_refused(document: Path) -> None:
    bounds = ScaleBounds(max_instance_count=4)
    for each in list(spoiled(loaded(document)))[::PLANNED]:
        with contextlib.suppress(ServiceDocumentError):
            service = read_service_document(json.dumps(each)).service
            with contextlib.suppress(ValueError, UnreadableServiceError):
                assert isinstance(plan_service(service, desired(), service=SERVICE, bounds=bounds), ServicePlan)
