import pytest

from shared.cloudrun.prices import usd_per_instance_hour

L4, RTX = "nvidia-l4", "nvidia-rtx-pro-6000"


def price(
    accelerator: str | None = L4,
    *,
    gpus: int = 1,
    cpu: float | None = 4,
    memory: float | None = 16,
    redundant: bool = False,
    region: str = "europe-west1",
    by_instance: bool = False,
) -> float | None:
    return usd_per_instance_hour(
        accelerator=accelerator,
        gpu_count=gpus,
        cpu=cpu,
        memory_gib=memory,
        gpu_zonal_redundancy=redundant,
        region=region,
        billed_by_instance=by_instance,
    )


def test_without_a_gpu_the_price_is_known_where_the_billing_is() -> None:
    assert price(None, gpus=0, cpu=2, memory=4, by_instance=True) == pytest.approx((2 * 0.000018 + 4 * 0.000002) * 3_600)
    assert price(None, gpus=0, cpu=2, memory=4) is None
    assert price(None, gpus=0, cpu=2, memory=4, by_instance=True, region="asia-southeast1") is None
    assert price(by_instance=True) == price()


@pytest.mark.parametrize(
    ("accelerator", "cpu", "memory", "redundant", "usd"),
    [
        (L4, 4, 16, False, 1.0465),
        (L4, 4, 16, True, 1.4216),
        (L4, 8, 32, False, 1.4209),
        (L4, 8, 32, True, 1.7960),
        (RTX, 20, 80, False, 3.1868),
        (RTX, 20, 80, True, 3.9209),
    ],
)
def test_each_published_shape_has_its_hourly_price(accelerator: str, cpu: float, memory: float, redundant: bool, usd: float) -> None:
    found = price(accelerator, cpu=cpu, memory=memory, redundant=redundant)
    assert found == pytest.approx(usd, abs=0.00006)


def test_two_gpus_cost_two_gpus() -> None:
    one, two = price(), price(gpus=2)
    assert one is not None
    assert two is not None
    assert two - one == pytest.approx(0.0001867 * 3600)


@pytest.mark.parametrize("region", ["us-central1", "us-east4", "europe-west4", "asia-south1"])
def test_tier_1_regions_have_the_same_price(region: str) -> None:
    assert price(region=region) == price()


@pytest.mark.parametrize("region", ["asia-southeast1", "asia-south2", "europe-west3", "", "mars-north1"])
def test_the_price_of_other_regions_is_not_known(region: str) -> None:
    assert price(region=region) is None


def test_what_is_not_stated_has_no_price() -> None:
    assert price(cpu=None) is None
    assert price(memory=None) is None
    assert price("nvidia-t4") is None
    assert price(None) is None
    assert price(gpus=0) is None
