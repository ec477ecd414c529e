"""The page of costs: counted operations only, and no size that is cheaper than a smaller one."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from shared.lint.queries import read_queries
from shared.local.world.alerts import policies
from shared.records.service import Objective

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cost_page", ROOT / "docs" / "cost_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["cost_page"] = module
    spec.loader.exec_module(module)
    return module


def test_every_operation_of_the_benchmarks_table_is_billed_as_something(page: ModuleType) -> None:
    """But for what only people do by hand, and what is not in the sum."""
    counted = {name for counts in page.measured().values() for name in counts}
    known = {*page.READS, *page.WRITES, *page.SERIES, *page.FREE, "bucket.list_objects", "bucket.read_object"}
    assert {name for name in counted - known if not name.startswith(("bus.", "events."))} == {"redriver.republish"}


def test_an_operation_that_nobody_has_priced_ends_the_run(page: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"what store\.invented is billed as is not said"):
        page._billed(page.Counter({"store.invented": 1}))


def test_more_services_cost_more_and_what_is_free_only_lowers(page: ModuleType) -> None:
    sums = [(page.dollars(page.monthly(size), free=False), page.dollars(page.monthly(size), free=True)) for size in page.SIZES]
    bare = [sum(each.values()) for each, _ in sums]
    assert bare == sorted(bare)
    assert all(free[name] <= whole[name] for whole, free in sums for name in whole)


def test_a_look_is_counted_as_often_as_the_schedule_makes_it(page: ModuleType) -> None:
    """Of one more service: 4,320 settled looks a month, four documents each, and the listing of its slot."""
    more = page.monthly(1_001)["reads"] - page.monthly(1_000)["reads"]
    settled = 30 * 24 * 60 / 10
    assert settled * 5 < more < settled * 8


def test_the_verdict_beside_the_peer_is_what_the_table_says(page: ModuleType) -> None:
    text = " ".join(page.costs_page().split())
    for size in (1, 10):
        said = page._usd(sum(page.dollars(page.monthly(size), free=True).values()))
        assert f"{said} for {'one service' if size == 1 else 'ten'}" in text


def test_the_alert_policies_of_a_service_are_counted_with_every_metric_that_they_name(page: ModuleType) -> None:
    """Those of the simulation, which a test holds equal to Terraform's."""
    queries = [each.query for each in policies(Objective(p99_ms=100))]
    named = [{metric for part in read_queries(query) for metric in part.metrics} for query in queries]
    assert (len(queries), sum(map(len, named))) == (page.ALERT_CONDITIONS, page.ALERT_METRICS)


def test_trimtabs_own_alert_policies_and_log_metrics_are_those_of_terraform(page: ModuleType) -> None:
    control_plane = ROOT / "terraform/modules/control-plane"
    conditions, series = page.own_alerts()
    titles = re.findall(r"^      title += ", (control_plane / "alerts.tf").read_text(), re.MULTILINE)
    assert conditions == len(titles) + 1  # and that no tick came
    assert conditions <= series <= conditions * 6
    metrics = re.findall(r"^    [a-z_]+ = {$", (control_plane / "log_metrics.tf").read_text(), re.MULTILINE)
    assert len(metrics) <= page.log_series() <= len(metrics) * 6


def test_the_totals_name_what_alert_policies_will_cost_and_the_page_what_is_not_counted(page: ModuleType) -> None:
    text = page.costs_page()
    own, free = page.own_alert_dollars(), sum(page.dollars(page.monthly(1), free=True).values())
    assert f"**{page._usd(free + own + page.alert_dollars(1))}**" in text
    for said in ("## Not counted", "Cold starts", "europe-west1", "point-in-time recovery", "log-based metrics", "minutes of Cloud Build"):
        assert said in text
    assert "one\ndatabase of a project" in text
    assert "verything else is counted" not in text


def test_a_recorded_request_is_a_span_and_each_call_that_goes_out_one_more(page: ModuleType) -> None:
    operations = page._operations(10)
    assert page.spans(10) == page.monthly(10)["requests"] + sum(operations.values())
    assert {name.partition(".")[0] for name in operations} >= {"store", "bus", "platform", "metrics", "logs"}


def test_spans_are_in_no_sum_and_the_guide_says_when_they_cost_something(page: ModuleType) -> None:
    """A hundred services stay below what is free with every request recorded, a thousand do not."""
    assert "spans" not in page.monthly(1)
    assert "spans" not in page.PRICES
    dollars = {size: page._span_dollars(size, free=True) for size in page.SIZES}
    assert (dollars[100], dollars[1_000] > 0) == (0, True)
    text = page.costs_page()
    for size in page.SIZES:
        assert f"{page._amount(page.spans(size))} |" in text
    guide = " ".join((ROOT / "docs/guides/deploy.md").read_text(encoding="utf-8").split())
    price = f"${page.SPANS.usd:.2f} per million spans beyond {page.SPANS.free / 1e6:g} million a month"
    assert f"{price}, which a hundred services do not reach with every request recorded" in guide
    assert price in " ".join(text.split())


def test_the_readme_says_what_the_page_says(page: ModuleType) -> None:
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    sums = {free: sum(page.dollars(page.monthly(10), free=free).values()) for free in (True, False)}
    assert f"{page._usd(sums[True])} a month for ten services" in readme
    assert f"{page._usd(sums[False])} where what Google gives free is used up" in readme
    assert f"{page._usd(page.own_alert_dollars())} a month more for the alerts on Trimtab itself" in readme
    assert f"{page._usd(page.alert_dollars(1))} for those of each service" in readme
