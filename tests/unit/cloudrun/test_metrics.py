"""Cloud Run's metrics, and which aligner Cloud Monitoring applies to them."""

import pytest

from shared.cloudrun.aligners import ALIGNERS, fits, fitting
from shared.cloudrun.metrics import CLOUD_RUN_METRICS, PREFIX, Kind, MetricKind, Value, is_metric, is_wrong, nearest


def test_the_utilisations_are_distributions_with_plural_names() -> None:
    for part in ("cpu", "memory", "gpu"):
        assert CLOUD_RUN_METRICS[f"{PREFIX}container/{part}/utilizations"].value is Value.DISTRIBUTION
        assert not is_metric(f"{PREFIX}container/{part}/utilization")


@pytest.mark.parametrize("name", CLOUD_RUN_METRICS)
def test_every_metric_is_known_and_nearest_to_itself(name: str) -> None:
    assert not is_wrong(name)
    assert nearest(name) == name


def test_names_of_families_that_are_not_listed_whole_are_not_called_wrong() -> None:
    assert not is_wrong(f"{PREFIX}infrastructure/vpc/packets")
    assert not is_wrong(f"{PREFIX}workers/load")
    assert is_wrong(f"{PREFIX}scaling/recommended_instance")
    assert not is_wrong("custom.googleapis.com/container/cpu/utilization")


def test_nothing_alike_has_no_nearest_name() -> None:
    assert nearest(f"{PREFIX}container/colour") is None


@pytest.mark.parametrize("metric", CLOUD_RUN_METRICS.values(), ids=list(CLOUD_RUN_METRICS))
@pytest.mark.parametrize("meant", ["ALIGN_MAX", "ALIGN_MEAN", "ALIGN_MIN", "ALIGN_SUM", "ALIGN_P95", "ALIGN_COUNT", "ALIGN_RATE"])
def test_a_proposed_aligner_fits(metric: MetricKind, meant: str) -> None:
    proposed = fitting(meant, metric)
    assert proposed in ALIGNERS
    assert fits(proposed, metric)


def test_a_kind_that_is_not_known_fits_every_aligner_of_its_values() -> None:
    assert fits("ALIGN_DELTA", MetricKind(None, Value.DISTRIBUTION, "1"))
    assert not fits("ALIGN_DELTA", MetricKind(Kind.GAUGE, Value.DISTRIBUTION, "1"))
    assert not fits("ALIGN_MAX", MetricKind(None, Value.DISTRIBUTION, "1"))
