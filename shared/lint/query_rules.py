"""metric-query-invalid: alerts and charts on metrics, resources or aligners that do not exist; they stay silent whatever happens. Pure."""

import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches

from shared.cloudrun import aligners
from shared.cloudrun import metrics as cloud_run
from shared.cloudrun.metrics import CLOUD_RUN_METRICS, MetricKind, Value
from shared.lint.deployment import Deployment
from shared.lint.finding import Finding
from shared.lint.given import Text
from shared.lint.queries import PROMETHEUS, Aligned, read_queries
from shared.tfserving import metrics as serving
from shared.tfserving.metrics import TF_SERVING_METRICS

_PROMQL = "run_googleapis_com:"
_SUFFIXES = ("_bucket", "_sum", "_count")
_NOT_PROMQL = re.compile(r"[^A-Za-z0-9_:]")
_EXPORTED = ("counter", "gauge", "histogram", "summary")


def query_rules(deployment: Deployment) -> Iterator[Finding]:
    """Each wrong name once. Custom metrics and those of other services are never judged."""
    text = deployment.given.alert_policy
    if text is None:
        return
    told: set[str] = set()
    for part in read_queries(text.text):
        for finding in _of_part(text, part):
            if finding.message not in told:
                told.add(finding.message)
                yield finding


RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = (query_rules,)


def _of_part(text: Text, part: Aligned) -> Iterator[Finding]:
    wrong = [finding for name in part.metrics if (finding := _of_name(text, name, part.aligner)) is not None]
    yield from wrong
    yield from (finding for name in part.resources if (finding := _of_resource(text, name)) is not None)
    aligner = part.aligner
    if aligner is None:
        return
    kinds = [(name, kind) for name in part.metrics if (kind := _kind(name)) is not None]
    if not aligners.is_aligner(aligner):
        near = get_close_matches(aligner.upper(), aligners.ALIGNERS, n=1, cutoff=0.0)[0]
        better = aligners.fitting(aligner, kinds[0][1]) if kinds else near
        yield _finding(text, aligner, f"{aligner} is no aligner of Cloud Monitoring: the query is refused", better)
        return
    if wrong:
        return
    for name, kind in kinds:
        if not aligners.fits(aligner, kind):
            yield _finding(
                text,
                aligner,
                f"{aligner} on {name}: its points are {kind}, and Cloud Monitoring refuses the query with `The aligner cannot be applied "
                f"to metrics with kind {kind.kind or 'GAUGE'} and value type {kind.value}.`",
                aligners.fitting(aligner, kind),
            )
            return


def _of_name(text: Text, name: str, aligner: str | None) -> Finding | None:
    """What is wrong with a metric's name; None where nothing is, or where it is not ours to judge."""
    if name.startswith(_PROMQL):
        return _of_promql(text, name)
    exported = name.removeprefix(PROMETHEUS)
    if exported.startswith(serving.PREFIX):
        return _of_serving(text, name, exported)
    if not cloud_run.is_wrong(name):
        return None
    near = cloud_run.nearest(name)
    fix = near or "one of Cloud Run's metrics"
    if near is not None and aligner is not None and aligners.is_aligner(aligner) and not aligners.fits(aligner, CLOUD_RUN_METRICS[near]):
        fix += f" with {aligners.fitting(aligner, CLOUD_RUN_METRICS[near])}"
    return _finding(text, name, f"Cloud Run has no metric {name}: the query is empty for ever, and empty is not zero", fix)


def _of_promql(text: Text, name: str) -> Finding | None:
    known = {_promql_name(metric): kind for metric, kind in CLOUD_RUN_METRICS.items()}
    base = next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix) and _is_series(known, name, suffix)), name)
    if base in known:
        return None
    plain = next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)
    suffix = name.removeprefix(plain)
    near = cloud_run.nearest(f"{cloud_run.PREFIX}{plain.removeprefix(_PROMQL)}")
    fix = "one of Cloud Run's metrics"
    if near is not None:
        fix = _promql_name(near) + (suffix if CLOUD_RUN_METRICS[near].value is Value.DISTRIBUTION else "")
    return _finding(text, name, f"Cloud Run has no metric {name}: the query is empty for ever, and empty is not zero", fix)


def _is_series(known: dict[str, MetricKind], name: str, suffix: str) -> bool:
    kind = known.get(name.removesuffix(suffix))
    return kind is not None and kind.value is Value.DISTRIBUTION


def _of_serving(text: Text, name: str, exported: str) -> Finding | None:
    metric, slash, kind = exported.partition("/")
    base = serving.base_name(metric)
    if base is not None:
        right = TF_SERVING_METRICS[base].kind
        if not slash or kind not in _EXPORTED or kind == right:
            return None
        return _finding(text, name, f"{base} is a {right}, not a {kind}: no series has the type {name}", f"{PROMETHEUS}{base}/{right}")
    if not serving.is_wrong(metric):
        return None
    near = serving.nearest(metric)
    fix = near or "a name from the server's metrics page"
    if near is not None and name.startswith(PROMETHEUS):
        fix = f"{PROMETHEUS}{near}/{TF_SERVING_METRICS[serving.base_name(near) or near].kind}"
    return _finding(text, name, f"TF Serving has no metric {metric}: the query is empty for ever, and empty is not zero", fix)


def _of_resource(text: Text, name: str) -> Finding | None:
    if not name.startswith(("cloud_run", "cloudrun")) or name in cloud_run.RESOURCES:
        return None
    near = get_close_matches(name, cloud_run.RESOURCES, n=1, cutoff=0.9)
    fix = near[0] if near else cloud_run.RESOURCES[0]
    return _finding(text, name, f"Cloud Monitoring has no resource type {name}: the query matches nothing", f'resource.type = "{fix}"')


def _kind(name: str) -> MetricKind | None:
    """What the metric's points are, as Cloud Monitoring has them: what a sidecar writes is cumulative."""
    if name in CLOUD_RUN_METRICS:
        return CLOUD_RUN_METRICS[name]
    metric, slash, _ = name.removeprefix(PROMETHEUS).partition("/")
    if not slash or not name.startswith(PROMETHEUS) or metric not in TF_SERVING_METRICS:
        return None
    value = Value.DISTRIBUTION if TF_SERVING_METRICS[metric].kind is serving.Kind.HISTOGRAM else Value.DOUBLE
    return MetricKind(cloud_run.Kind.CUMULATIVE, value, TF_SERVING_METRICS[metric].unit, TF_SERVING_METRICS[metric].labels)


def _promql_name(metric: str) -> str:
    """The first slash becomes a colon, all else that PromQL has no place for an underscore."""
    return _NOT_PROMQL.sub("_", metric.replace("/", ":", 1))


def _finding(text: Text, named: str, message: str, fix: str) -> Finding:
    at = re.search(rf"{re.escape(named)}(?![\w/])", text.text)
    line = text.text.count("\n", 0, at.start()) + 1 if at is not None else None
    return Finding("metric-query-invalid", message, text.where("alert_policy", line, named), fix)
