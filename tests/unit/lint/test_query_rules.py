"""Alerts and charts on metrics and aligners that do not exist."""

import json
from typing import Any

import pytest

from shared.lint.finding import Finding
from shared.lint.queries import MAX_QUERY, read_queries
from shared.lint.query_rules import query_rules
from tests.support.lint_deployments import deployed, found

RUN = "run.googleapis.com/"


def said(policy: str) -> list[Finding]:
    return found(query_rules, deployed(alert_policy=policy))


def condition(metric: str, aligner: str | None = None, **rest: Any) -> dict[str, Any]:
    threshold: dict[str, Any] = {"filter": f'resource.type = "cloud_run_revision" AND metric.type = "{metric}"', **rest}
    if aligner is not None:
        threshold["aggregations"] = [{"alignmentPeriod": "60s", "perSeriesAligner": aligner}]
    return {"displayName": "a condition", "conditionThreshold": threshold}


def policy(*conditions: dict[str, Any]) -> str:
    return json.dumps({"displayName": "a policy", "conditions": list(conditions)})


YAML = """\
displayName: GPU saturation
documentation: {content: 'looks at metric.type = "run.googleapis.com/container/gpu/load"'}
conditions:
- displayName: busy
  conditionThreshold:
    filter: resource.type = "cloud_run_revision" AND metric.type = "run.googleapis.com/container/gpu/utilization"
    comparison: COMPARISON_GT
    aggregations: [{alignmentPeriod: 60s, perSeriesAligner: ALIGN_PERCENTILE_99}]
"""


def test_a_name_that_does_not_exist_is_told_with_its_line_and_the_real_one() -> None:
    (finding,) = said(YAML)
    assert finding.code == "metric-query-invalid"
    assert finding.fix == "run.googleapis.com/container/gpu/utilizations"
    assert (finding.where.part, finding.where.line) == ("alert_policy", 6)


def test_the_real_name_has_no_finding_and_prose_is_no_query() -> None:
    assert said(YAML.replace("gpu/utilization", "gpu/utilizations")) == []


@pytest.mark.parametrize(
    "text",
    [
        'metric.type="run.googleapis.com/container/cpu/utilization" AND resource.labels.service_name="a"',
        "metric.type = 'run.googleapis.com/container/cpu/utilization'",
        "metric.type=run.googleapis.com/container/cpu/utilization",
        'filter = "resource.type=\\"cloud_run_revision\\" AND metric.type=\\"run.googleapis.com/container/cpu/utilization\\""',
        'metric.type = one_of("run.googleapis.com/request_count", "run.googleapis.com/container/cpu/utilization")',
        "fetch cloud_run_revision\n| metric 'run.googleapis.com/container/cpu/utilization'\n| align mean(1m)",
        "fetch cloud_run_revision::run.googleapis.com/container/cpu/utilization | every 1m",
        "avg(run_googleapis_com:container_cpu_utilization{service_name='a'})",
        "histogram_quantile(0.99, sum by (le) (rate(run_googleapis_com:container_cpu_utilization_bucket[5m])))",
        '{"run.googleapis.com/container/cpu/utilization", service_name="a"} > 0.9',
        '{__name__="run.googleapis.com/container/cpu/utilization"}',
        "gcloud monitoring time-series list --filter='metric.type=\"run.googleapis.com/container/cpu/utilization\"'",
        "conditionPrometheusQueryLanguage:\n  query: avg(run_googleapis_com:container_cpu_utilization) > 0.9\n",
        "condition_monitoring_query_language:\n  query: fetch cloud_run_revision | metric 'run.googleapis.com/container/cpu/utilization'\n",
        'dashboardFilters: []\ntimeSeriesFilter:\n  filter: metric.type="run.googleapis.com/container/cpu/utilization"\n',
    ],
)
def test_a_wrong_name_is_found_in_every_language(text: str) -> None:
    (finding,) = said(text)
    assert finding.fix.startswith(("run.googleapis.com/container/cpu/utilizations", "run_googleapis_com:container_cpu_utilizations"))


@pytest.mark.parametrize(
    "text",
    [
        'metric.type="run.googleapis.com/request_count"',
        'metric.type = starts_with("run.googleapis.com/container/")',
        'metric.type = monitoring.regex.full_match("run.googleapis.com/request_(count|latencies)")',
        'metric.type="custom.googleapis.com/container/cpu/utilization"',
        'metric.type="compute.googleapis.com/instance/cpu/utilization" resource.type="gce_instance"',
        'metric.type="run.googleapis.com/${var.metric}"',
        'metric.type="run.googleapis.com/infrastructure/vpc/new_thing"',
        'logName="projects/p/logs/run.googleapis.com%2Frequests" severity>=ERROR',
        'labels."run.googleapis.com/base_image_versions":"x"',
        "sum(rate(run_googleapis_com:request_latencies_bucket[5m])) by (le)",
        "sum(rate(run_googleapis_com:request_count{response_code_class='5xx'}[5m]))",
        "rate(:tensorflow:serving:request_latency_sum[5m]) / rate(:tensorflow:serving:request_latency_count[5m])",
        "increase(:tensorflow:core:graph_runs[5m])",
        ":tensorflow:serving:batching:processed_batch_size_v2_count",
        "SELECT * FROM metrics WHERE name = 'cpu'",
        '# metric.type = "run.googleapis.com/container/cpu/utilization"\nmetric.type = "run.googleapis.com/request_count"',
        "{{ not: [yaml",
        "",
    ],
)
def test_real_names_patterns_and_what_is_not_ours_give_nothing(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("name", "real"),
    [
        ("container/gpu/memory/utilizations", "container/gpu/memory_utilizations"),
        ("container/concurrent_requests", "container/max_request_concurrencies"),
        ("container/memory/utilization", "container/memory/utilizations"),
        ("container/instances", "container/instance_count"),
        ("request_latency", "request_latencies"),
        ("container/startup_latency", "container/startup_latencies"),
        ("pending_requests", "pending_queue/pending_requests"),
        ("container/gpu/duty_cycle", "container/gpu/utilizations"),
    ],
)
def test_the_name_that_was_meant_is_the_fix(name: str, real: str) -> None:
    (finding,) = said(f'metric.type="{RUN}{name}"')
    assert finding.fix == f"{RUN}{real}"


def test_each_wrong_name_is_told_once() -> None:
    assert len(said(policy(condition(f"{RUN}container/gpu/utilization"), condition(f"{RUN}container/gpu/utilization")))) == 1
    assert len(said(policy(condition(f"{RUN}container/gpu/utilization"), condition(f"{RUN}container/cpu/utilization")))) == 2


@pytest.mark.parametrize(
    ("metric", "aligner", "fix"),
    [
        ("container/max_request_concurrencies", "ALIGN_MAX", "ALIGN_PERCENTILE_99"),
        ("request_latencies", "ALIGN_MEAN", "ALIGN_PERCENTILE_50"),
        ("request_latencies", "ALIGN_RATE", "ALIGN_PERCENTILE_99"),
        ("container/gpu/utilizations", "ALIGN_MAX", "ALIGN_PERCENTILE_99"),
        ("container/cpu/utilizations", "ALIGN_COUNT", "ALIGN_PERCENTILE_99"),
        ("container/instance_count", "ALIGN_RATE", "ALIGN_MAX"),
        ("container/instance_count", "ALIGN_DELTA", "ALIGN_MAX"),
        ("request_count", "ALIGN_PERCENTILE_99", "ALIGN_RATE"),
        ("request_latencies", "ALIGN_P99", "ALIGN_PERCENTILE_99"),
    ],
)
def test_an_aligner_that_cloud_monitoring_refuses_for_the_metric(metric: str, aligner: str, fix: str) -> None:
    (finding,) = said(policy(condition(f"{RUN}{metric}", aligner)))
    assert finding.fix == fix
    assert aligner in finding.message


@pytest.mark.parametrize(
    ("metric", "aligner"),
    [
        ("container/max_request_concurrencies", "ALIGN_PERCENTILE_99"),
        ("request_latencies", "ALIGN_DELTA"),
        ("request_latencies", "ALIGN_SUM"),
        ("request_count", "ALIGN_RATE"),
        ("request_count", "ALIGN_SUM"),
        ("container/instance_count", "ALIGN_MAX"),
        ("container/instance_count", "ALIGN_MEAN"),
        ("container/gpu/utilizations", "ALIGN_PERCENTILE_50"),
        ("container/billable_instance_time", "ALIGN_RATE"),
    ],
)
def test_an_aligner_that_fits(metric: str, aligner: str) -> None:
    assert said(policy(condition(f"{RUN}{metric}", aligner))) == []


def test_only_the_first_aggregation_meets_the_metric_itself() -> None:
    both = [{"perSeriesAligner": "ALIGN_PERCENTILE_99"}, {"perSeriesAligner": "ALIGN_MAX"}]
    assert said(policy(condition(f"{RUN}request_latencies", aggregations=both))) == []


def test_the_denominator_has_an_aligner_of_its_own() -> None:
    divided = condition(
        f"{RUN}request_count",
        "ALIGN_RATE",
        denominatorFilter=f'metric.type="{RUN}container/instance_count"',
        denominatorAggregations=[{"perSeriesAligner": "ALIGN_RATE"}],
    )
    (finding,) = said(policy(divided))
    assert "instance_count" in finding.message


def test_a_wrong_name_with_an_aligner_that_would_not_fit_the_real_one_is_one_finding() -> None:
    (finding,) = said(policy(condition(f"{RUN}container/concurrent_requests", "ALIGN_MEAN")))
    assert finding.fix == "run.googleapis.com/container/max_request_concurrencies with ALIGN_PERCENTILE_50"


TERRAFORM = """\
resource "google_monitoring_alert_policy" "busy" {
  conditions {
    display_name = "concurrency"
    condition_threshold {
      filter = "resource.type = \\"cloud_run_revision\\" AND metric.type = \\"run.googleapis.com/container/max_request_concurrencies\\""
      aggregations {
        alignment_period   = "60s"
        per_series_aligner = "ALIGN_MAX"
      }
    }
  }
  conditions {
    condition_threshold {
      filter = join(" AND ", ["metric.type=\\"run.googleapis.com/container/instance_count\\""])
      aggregations {
        per_series_aligner = "ALIGN_MAX" # instances
      }
    }
  }
}
"""


def test_terraforms_own_language_is_read_condition_by_condition() -> None:
    (finding,) = said(TERRAFORM)
    assert finding.fix == "ALIGN_PERCENTILE_99"
    assert finding.where.line == 8


def test_snake_case_fields_of_a_document_are_read_too() -> None:
    text = """\
conditions:
- condition_threshold:
    filter: metric.type="run.googleapis.com/request_latencies"
    aggregations: [{per_series_aligner: ALIGN_MEAN}]
"""
    (finding,) = said(text)
    assert finding.fix == "ALIGN_PERCENTILE_50"


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        (
            "prometheus.googleapis.com/:tensorflow:serving:request_counts/counter",
            "prometheus.googleapis.com/:tensorflow:serving:request_count/counter",
        ),
        (
            "prometheus.googleapis.com/:tensorflow:serving:request_latency/counter",
            "prometheus.googleapis.com/:tensorflow:serving:request_latency/histogram",
        ),
    ],
)
def test_a_metric_that_tf_serving_does_not_export(name: str, fix: str) -> None:
    (finding,) = said(f'metric.type="{name}" AND resource.type="prometheus_target"')
    assert finding.fix == fix


@pytest.mark.parametrize(
    "name",
    ["request_count/counter", "request_latency/histogram", "batching_session:queuing_latency/histogram", "request_count/unknown:counter"],
)
def test_a_metric_that_tf_serving_exports(name: str) -> None:
    assert said(f'metric.type="prometheus.googleapis.com/:tensorflow:serving:{name}"') == []


def test_a_wrong_name_in_promql_keeps_its_suffix() -> None:
    (finding,) = said("rate(:tensorflow:serving:batching_session:queue_latency_sum[5m])")
    assert finding.fix == ":tensorflow:serving:batching_session:queuing_latency_sum"


def test_percentiles_of_a_sidecars_histograms_are_refused() -> None:
    (finding,) = said(policy(condition("prometheus.googleapis.com/:tensorflow:serving:request_latency/histogram", "ALIGN_PERCENTILE_99")))
    assert finding.fix == "ALIGN_DELTA"


def test_a_services_metrics_are_those_of_its_revisions() -> None:
    (finding,) = said('resource.type="cloud_run_service" AND metric.type="run.googleapis.com/request_count"')
    assert finding.fix == 'resource.type = "cloud_run_revision"'


def test_without_a_policy_nothing_is_said() -> None:
    assert found(query_rules, deployed()) == []


def test_a_long_text_is_read_to_a_limit() -> None:
    wrong = 'metric.type="run.googleapis.com/container/cpu/utilization"'
    assert len(read_queries(wrong + " " * MAX_QUERY)) == 1
    assert read_queries(" " * MAX_QUERY + wrong) == []
