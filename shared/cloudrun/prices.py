"""What one Cloud Run GPU instance costs per hour.

List prices of Cloud Run's pricing page for instance-based billing: for as long as an instance is up, without a fee per request. GPU
services are always billed so; others only where their CPU is never throttled. Committed-use discounts, free tier and network are left
out.

The table holds for the regions the page calls tier 1. GPU prices of the other regions are not published in one table with them,
so a tier 2 region (Singapore, for one) has no known price here rather than a wrong one.
"""

SECONDS_PER_HOUR = 3_600

USD_PER_VCPU_SECOND = 0.000018
"""Instance-based billing, tier 1."""
USD_PER_GIB_SECOND = 0.000002
"""Instance-based billing, tier 1."""

USD_PER_GPU_SECOND: dict[tuple[str, bool], float] = {
    ("nvidia-l4", False): 0.0001867,
    ("nvidia-l4", True): 0.0002909,
    ("nvidia-rtx-pro-6000", False): 0.00036522,
    ("nvidia-rtx-pro-6000", True): 0.00056913,
}
"""By accelerator and whether the service has GPU zonal redundancy."""

TIER_1_REGIONS = frozenset(
    {
        "asia-east1",
        "asia-northeast1",
        "asia-northeast2",
        "asia-south1",
        "asia-southeast3",
        "europe-north1",
        "europe-north2",
        "europe-southwest1",
        "europe-west1",
        "europe-west4",
        "europe-west8",
        "europe-west9",
        "me-west1",
        "northamerica-south1",
        "us-central1",
        "us-east1",
        "us-east4",
        "us-east5",
        "us-south1",
        "us-west1",
    }
)
"""Cloud Run's documentation on locations, "Subject to Tier 1 pricing"."""


def usd_per_instance_hour(
    *,
    accelerator: str | None,
    gpu_count: int,
    cpu: float | None,
    memory_gib: float | None,
    gpu_zonal_redundancy: bool,
    region: str,
    billed_by_instance: bool = False,
) -> float | None:
    """USD that one instance costs for one hour of being up, busy or idle; None where the price is not known.

    `billed_by_instance`: that the service's CPU is billed so is known; it matters without a GPU only.

    Not known: an accelerator outside the table, no GPU and not `billed_by_instance` (the billing mode is not part of a shape), CPU (vCPU
    of all containers) or memory (GiB of all containers) not stated, a region outside tier 1.
    """
    if cpu is None or memory_gib is None or region not in TIER_1_REGIONS:
        return None
    has_gpu = accelerator is not None and gpu_count > 0
    if not has_gpu and not billed_by_instance:
        return None
    gpu_price = USD_PER_GPU_SECOND.get((accelerator or "", gpu_zonal_redundancy)) if has_gpu else 0.0
    if gpu_price is None:
        return None
    per_second = (gpu_count if has_gpu else 0) * gpu_price + cpu * USD_PER_VCPU_SECOND + memory_gib * USD_PER_GIB_SECOND
    return per_second * SECONDS_PER_HOUR
