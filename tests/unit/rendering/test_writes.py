"""The one request that a change becomes."""

import pytest

from shared.records.serving import TrafficTarget
from shared.rendering.messages import service_to_json
from shared.rendering.serving import overlay
from shared.rendering.writes import rest_update, service_update, traffic_json, with_traffic
from tests.support.desired import desired, rendered

STABLE = (TrafficTarget(revision="ranker-abcdefghij-1", percent=100),)
BIGGER = desired(cpu="8", memory="32Gi")


def test_template_and_traffic_go_in_one_request_under_the_revisions_name() -> None:
    before = rendered()
    request = service_update(before, with_traffic(overlay(before, BIGGER), STABLE), etag="7", revision="ranker-klmnopqrst-1", version="1.2")
    assert request is not None
    assert list(request.update_mask.paths) == ["client", "client_version", "template", "traffic"]
    assert (request.service.etag, request.service.template.revision) == ("7", "ranker-klmnopqrst-1")
    assert (request.service.client, request.service.client_version) == ("trimtab", "1.2")
    assert [(target.revision, target.percent) for target in request.service.traffic] == [("ranker-abcdefghij-1", 100)]


def test_where_nothing_differs_there_is_nothing_to_write() -> None:
    before = rendered()
    assert service_update(before, overlay(before, desired()), etag="7", revision="ranker-klmnopqrst-1", version="1") is None
    document = service_to_json(before)
    assert rest_update({**document, "name": "n"}, document, etag="7", revision=None, version="1") is None


def test_traffic_alone_makes_no_revision_and_needs_no_name() -> None:
    before = rendered()
    request = service_update(before, with_traffic(before, STABLE), etag="7", revision=None, version="1")
    assert request is not None
    assert list(request.update_mask.paths) == ["client", "client_version", "traffic"]


def test_a_template_without_a_name_for_its_revision_is_not_written() -> None:
    before = rendered()
    with pytest.raises(ValueError, match="no revision is named"):
        service_update(before, overlay(before, BIGGER), etag="7", revision=None, version="1")


def test_a_write_that_would_not_look_is_not_made() -> None:
    before = rendered()
    with pytest.raises(ValueError, match="etag is empty"):
        service_update(before, overlay(before, BIGGER), etag="", revision="ranker-klmnopqrst-1", version="1")


def test_over_rest_the_body_holds_what_the_mask_names_and_the_etag() -> None:
    before = {**service_to_json(rendered()), "name": "projects/p/locations/l/services/s"}
    after = {**before, "template": {**before["template"], "scaling": {"maxInstanceCount": 10, "cpuUtilization": 0.5}}}
    update = rest_update(before, after, etag="7", revision="s-klmnopqrst-1", version="1")
    assert update is not None
    assert update.mask == ("client", "clientVersion", "template")
    assert set(update.body) == {"client", "clientVersion", "template", "name", "etag"}
    assert update.body["template"]["revision"] == "s-klmnopqrst-1"
    assert update.body["template"]["scaling"]["cpuUtilization"] == 0.5


def test_shares_that_are_not_a_hundred_are_refused() -> None:
    with pytest.raises(ValueError, match="add up to 90: they must be 100"):
        traffic_json([TrafficTarget(revision="a-1", percent=90)])


def test_a_tag_names_one_revision() -> None:
    twice = [TrafficTarget(revision="a-1", percent=100, tag="next"), TrafficTarget(revision="a-2", percent=0, tag="next")]
    with pytest.raises(ValueError, match="a tag is given twice"):
        traffic_json(twice)


def test_traffic_is_never_sent_to_the_latest() -> None:
    assert traffic_json([*STABLE, TrafficTarget(revision="a-2", percent=0, tag="next")]) == [
        {"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION", "revision": "ranker-abcdefghij-1", "percent": 100},
        {"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION", "revision": "a-2", "percent": 0, "tag": "next"},
    ]
