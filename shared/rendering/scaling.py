"""The request that changes a service's scaling bounds and nothing else."""

from collections.abc import Sequence

from google.cloud import run_v2
from google.protobuf import field_mask_pb2

from shared.records.observed import Bounds
from shared.records.service import OwnedField


def scaling_update(name: str, *, etag: str, bounds: Bounds, fields: Sequence[OwnedField]) -> run_v2.UpdateServiceRequest:
    """The update of exactly `fields` of the service of that full name, if its etag still is `etag`.

    The request carries the name, the etag, the masked values and the mask: whatever else the service holds, fields this code has
    never heard of included, is neither read nor written.

    Raises:
        ValueError: no field named (Cloud Run takes an empty mask as "replace everything"), or no etag (it would not check).
    """
    if not fields:
        raise ValueError("fields is empty: an update without a mask replaces the whole service; name at least one field")
    if not etag:
        raise ValueError("etag is empty: Cloud Run would write without looking whether the service changed; read it first")
    scaling = run_v2.ServiceScaling()
    if OwnedField.MIN_INSTANCE_COUNT in fields:
        scaling.min_instance_count = bounds.min_instance_count
    if OwnedField.MAX_INSTANCE_COUNT in fields:
        scaling.max_instance_count = bounds.max_instance_count
    return run_v2.UpdateServiceRequest(
        service=run_v2.Service(name=name, etag=etag, scaling=scaling),
        update_mask=field_mask_pb2.FieldMask(paths=sorted({field.value for field in fields})),
    )
