"""Rules for the control plane and for what is observed: traffic, conflicts, queries, data that cannot carry a decision. Pure."""

import re
from collections.abc import Callable

from shared.diagnose.board import Board
from shared.diagnose.load_seen import FRESH_SECONDS, NOISE, Load, number
from shared.diagnose.measures import Measure
from shared.diagnose.metric_names import is_real, is_related
from shared.diagnose.picture import Picture
from shared.diagnose.traffic_seen import LATEST, newest_ready, traffic_shares
from shared.lint.query_rules import query_rules

_QUERIED = re.compile(r"metric\.type\s?=\s?\\?[\"']?(?P<type>[A-Za-z0-9_.:/-]{3,200})|(?P<bare>run\.googleapis\.com/[a-z_/]{3,100})")
_NOT_SETTLED = ("in-progress", "reconciling", "condition-failed", "condition-open", "no-gpu-left", "startup-probe", "not-listening")
"""Signs of a revision that is not ready, or not yet."""
_FEW = 10.0
"""Samples below which a tail says nothing."""
_CONFLICT = re.compile(r"\b409\b|\bABORTED\b|\bAborted\b")


def conflicts(picture: Picture, board: Board) -> None:
    """409 has two meanings: the text tells, and where it does not, whether the template names its revision."""
    named = isinstance(picture.deployment.template.get("revision"), str) and bool(picture.deployment.template.get("revision"))
    exists = picture.saw("exists")
    if exists is not None and picture.saw("revision-name-taken") is None and named:
        board.support(
            "revision-name-conflict",
            0.7,
            f"{exists}; the template names its revision {picture.deployment.template['revision']}",
            by_text=True,
        )
    if board.strongest(("stale-etag", "revision-name-conflict", "api-request-invalid")):
        if named and board.confidence("revision-name-conflict"):
            board.support("revision-name-conflict", 0.3, f"the template carries the name {picture.deployment.template['revision']}")
        return
    bare = next((line for line in picture.lines if line.http == 409 and _CONFLICT.search(line.text)), None)  # noqa: PLR2004 (an HTTP status)
    if bare is not None:
        board.support("stale-etag", 0.5, bare.quoted(), by_text=True)


def pinned(picture: Picture, board: Board) -> None:
    """A newer revision that is ready, and traffic that names an older one."""
    if picture.saw(*_NOT_SETTLED) is not None and picture.saw("condition-succeeded") is None:
        return
    newest = newest_ready(picture)
    shares = [share for share in traffic_shares(picture) if share.percent > 0]
    if newest is not None and shares and all(share.revision not in {newest[0], LATEST} for share in shares):
        board.support("traffic-pinned", 0.7, newest[1], by_text=True)
        board.support("traffic-pinned", 0.6, shares[0].told)
    names = {each.labels["revision_name"] for each in picture.measures.named("request_count") if "revision_name" in each.labels}
    rates = {name: rate for name in sorted(names) if (rate := _rate_of(picture, name)) is not None}
    silent = [each for each in rates.values() if each.value == 0]
    served = [each for each in rates.values() if each.value]
    if silent and served and (newest is None or any(each.labels["revision_name"] == newest[0] for each in silent)):
        youngest = max(rates)
        if newest is not None or youngest in {each.labels["revision_name"] for each in silent}:
            board.support("traffic-pinned", 0.4, f"{silent[0]}, while {served[0]}")


def _rate_of(picture: Picture, revision: str) -> Measure | None:
    return picture.measures.pick("request_count", where=lambda labels: labels.get("revision_name") == revision)


def queries(picture: Picture, board: Board) -> None:
    """Queries for names that do not exist, and aligners that are refused."""
    wrong = sorted((each for each in picture.measures.all if _is_wrong_name(each)), key=lambda each: (each.value is not None, each.key))
    for measure in wrong[:2]:
        board.support("metric-name-wrong", 0.75 if measure.value is None else 0.3, f"{measure}: there is no metric of that name")
    for line in picture.lines:
        names = [found["type"] or found["bare"] for found in _QUERIED.finditer(line.text)]
        if any(is_real(name) is False for name in names):
            empty = any(each.line is line for each in picture.all_seen("query-empty", "metric-unknown"))
            board.support("metric-name-wrong", 0.8 if empty else 0.55, f"{line.quoted()} [there is no metric of that name]", by_text=True)
    for finding in query_rules(picture.deployment):
        unknown = picture.measures.unknown
        beside = f"; {unknown[0]}" if unknown else ""
        board.support("metric-name-wrong", 0.8 if unknown else 0.7, f"{finding.where}: {finding.message}{beside}", by_text=True)
    if is_real(picture.alert_metric) is False:
        board.support("metric-name-wrong", 0.5, f"the alert watches {picture.alert_metric}, and there is no such metric", by_text=True)
    if board.confidence("metric-name-wrong"):
        lively = next((each for each in picture.measures.known if each.value and is_related(each.name)), None)
        if lively is not None:
            board.support("metric-name-wrong", 0.3, f"{lively}: other metrics of the service have points")


def _is_wrong_name(measure: Measure) -> bool:
    return is_real(measure.key.partition("{")[0].partition(" ")[0]) is False


def missing_data(picture: Picture, board: Board) -> None:
    """What no decision may rest on."""
    load, measures = picture.load, picture.measures
    unknown, known = measures.unknown, [each for each in measures.known if is_related(each.name)]
    if unknown and not known:
        board.support("insufficient-data", 0.9, f"every query returned nothing: {_listed(unknown)}. Unknown is neither idle nor healthy")
    elif unknown:
        board.support("insufficient-data", 0.5, f"no points for {_listed(unknown)}. Unknown is neither idle nor healthy")
        load_unknown = [each for each in unknown if is_related(each.name)]
        if len(load_unknown) >= len(known):
            board.support("insufficient-data", 0.5, "more of what tells the load is unknown than known")
    if load.too_fresh:
        board.support(
            "insufficient-data",
            0.9,
            f"the window ended {load.age_seconds:g} s before it was read, and points are complete only after {FRESH_SECONDS:g} s",
        )
    if load.sparse is not None:
        board.support("insufficient-data", 0.85, f"{load.sparse}: too few points of the window are there")
    few = next((each for each in measures.known if _counts_samples(each) and (each.value or 0) < _FEW), None)
    if few is not None:
        board.support("insufficient-data", 0.8, f"{few}: too few to tell a tail, or a trend")
    alert = picture.given.alert or {}
    if alert.get("state") == "closed" and not alert.get("observed_value") and unknown:
        board.support("insufficient-data", 0.6, "the incident closed without an observed value: data stopped, which is no recovery")


def _counts_samples(measure: Measure) -> bool:
    if measure.name in {"request_count", "request_latencies"}:
        return measure.statistic == "count" and not measure.labels
    return measure.name in {"samples", "sample_count", "points", "point_count", "data_points"} and measure.statistic in {"count", "value"}


def _listed(measures: tuple[Measure, ...]) -> str:
    names = [each.key for each in measures]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")  # noqa: PLR2004 (three are enough to recognise them)


def healthy(picture: Picture, board: Board) -> None:
    """Everything inside what was promised."""
    load, objective = picture.load, picture.objective_ms
    if picture.measures.unknown or load.too_fresh or load.sparse is not None or objective is None:
        return
    points = picture.measures.series("request_latencies", "tensorflow_serving_request_latency", "request_latency_e2e_latencies")
    over = [each for each in points if (each.value or 0.0) > objective]
    now = number(load.latency)
    if now is None or now > objective or (points and len(over) > len(points) / 4):
        return
    noisy = _errors_above_noise(load)
    if noisy is not None:
        return
    board.support("no-fault", 0.6, f"{load.latency}, and {objective:g} ms is promised")
    if over:
        board.support("no-fault", 0.3, f"{over[0]} is the one point above it")
    quiet = [code for code in ("5xx", "429") if load.answered(code) == 0]
    if quiet:
        board.support("no-fault", 0.4, f"Cloud Run answers nothing with {' or '.join(quiet)}")
    elif load.answered("2xx"):
        board.support("no-fault", 0.2, "requests are answered with 2xx")


def _errors_above_noise(load: Load) -> Measure | None:
    whole = load.answered_all or load.served_all or 0.0
    return next((each for each in load.errors if (each.value or 0.0) > NOISE * whole), None)


def wrong_names(picture: Picture) -> tuple[str, ...]:
    """Names that the question asks for and that no metric has, each once."""
    keys = [each.key.partition("{")[0].partition(" ")[0] for each in picture.measures.all]
    texts = [line.text for line in picture.lines] + ([picture.given.alert_policy.text] if picture.given.alert_policy is not None else [])
    asked = [found["type"] or found["bare"] for text in texts for found in _QUERIED.finditer(text)]
    return tuple(dict.fromkeys(name for name in (*keys, *asked, picture.alert_metric) if is_real(name) is False))


RULES: tuple[Callable[[Picture, Board], None], ...] = (conflicts, pinned, queries, missing_data, healthy)
