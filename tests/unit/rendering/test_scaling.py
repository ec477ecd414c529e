import pytest
from google.cloud import run_v2

from shared.records.observed import Bounds
from shared.records.service import OwnedField
from shared.rendering.scaling import scaling_update

BOUNDS = Bounds(min_instance_count=2, max_instance_count=5)
MIN, MAX = OwnedField.MIN_INSTANCE_COUNT, OwnedField.MAX_INSTANCE_COUNT


def test_only_the_named_field_is_sent() -> None:
    request = scaling_update("projects/p/locations/r/services/s", etag="7", bounds=BOUNDS, fields=[MAX])
    raw = run_v2.UpdateServiceRequest.pb(request)
    assert list(raw.update_mask.paths) == ["scaling.max_instance_count"]
    assert (raw.service.name, raw.service.etag) == ("projects/p/locations/r/services/s", "7")
    assert (raw.service.scaling.min_instance_count, raw.service.scaling.max_instance_count) == (0, 5)
    assert {field.name for field, _ in raw.service.ListFields()} == {"name", "etag", "scaling"}


def test_a_zero_is_sent_as_well() -> None:
    request = scaling_update("n", etag="7", bounds=Bounds(), fields=[MAX, MIN, MIN])
    raw = run_v2.UpdateServiceRequest.pb(request)
    assert list(raw.update_mask.paths) == ["scaling.max_instance_count", "scaling.min_instance_count"]
    assert raw.service.HasField("scaling")


def test_neither_an_empty_mask_nor_an_empty_etag_is_sent() -> None:
    with pytest.raises(ValueError, match="fields is empty"):
        scaling_update("n", etag="7", bounds=BOUNDS, fields=[])
    with pytest.raises(ValueError, match="etag is empty"):
        scaling_update("n", etag="", bounds=BOUNDS, fields=[MIN])
