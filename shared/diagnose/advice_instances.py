"""What to do where instances are missing: at the maximum, at a quota, at a rollout, or because they come too late. Pure."""

import math
from collections.abc import Iterator, Mapping

from shared.cloudrun.quotas import QuotaViolation, allowed_instances_in, violations_in
from shared.diagnose.advice import Adviser, do, has_room, higher_maximum, thread_flag
from shared.diagnose.answer import Avoid, Remedy
from shared.diagnose.load_seen import above
from shared.diagnose.picture import Picture

_HALF = 0.5
_MILLI = 1_000
_LINEAR_GROWTH = 0.8
"""From this share on a row in a large batch costs what it costs alone, and batching saves nothing."""


def cap(picture: Picture) -> Iterator[Remedy | Avoid]:
    """More requests in each instance where it has room; else more instances inside the quota; else a person."""
    settings, load = picture.settings, picture.load
    full = settings.concurrency is not None and above(load.in_flight, 0.8 * settings.concurrency)
    if full and has_room(picture) and settings.concurrency is not None:
        yield do(
            "raise-concurrency",
            f"instances are full at {settings.concurrency} requests while {load.gpu or load.cpu}; {thread_flag(settings)} must follow",
            settings.concurrency,
            2 * settings.concurrency,
        )
        yield from batching_instead(picture)
        if has_room(picture, _HALF):
            return
    elif load.gpu is not None and not has_room(picture):
        yield Avoid("raise-concurrency", f"{load.gpu}: more requests on a busy card only turn refusals into waiting")
    yield from higher_maximum(picture)
    if settings.gpu_quota is not None and settings.max_instances is not None and settings.max_instances >= settings.gpu_quota:
        yield Avoid("raise-max-instances", f"the maximum of {settings.max_instances} is the whole GPU quota: the call is refused")


def batching_instead(picture: Picture) -> Iterator[Remedy]:
    """Batches on a GPU where batching is known to be off, requests bring a row each, several are there, and a row may get cheaper."""
    settings, flight = picture.settings, picture.load.in_flight
    sizes = sorted(settings.batch_ms)
    growth = settings.growth(sizes[0], sizes[-1]) if len(sizes) > 1 else None
    if not settings.gpu or settings.batching_on is not False or settings.rows > 1 or not above(flight, 2):
        return
    if growth is None or growth < _LINEAR_GROWTH:
        yield do("enable-batching", f"{flight}, and each runs on the card alone: together they cost less", "off", "--enable_batching=true")


def admin_rate(_picture: Picture) -> Iterator[Remedy | Avoid]:
    """Fewer calls."""
    yield do(
        "back-off-admin-calls",
        "only calls of the Admin API count there: cache what is read, skip writes that change nothing, spread the rest, wait a minute "
        "with jitter",
    )


def _violations(picture: Picture) -> tuple[QuotaViolation, ...]:
    return tuple(each for line in picture.lines for each in violations_in(line.text))


def gpu_quota(picture: Picture) -> Iterator[Remedy | Avoid]:
    """The most that the answer allows; where nothing is allowed, the other kind of redundancy or a person."""
    settings = picture.settings
    text = picture.saw("gpu-quota", "no-gpu-quota", "no-redundant-quota")
    allowed = allowed_instances_in(text.line.text) if text is not None else None
    if allowed is None:
        allowed = next((each.allowed for each in _violations(picture) if "GpuAlloc" in each.metric and each.allowed < 1_000), None)  # noqa: PLR2004 (larger numbers are thousandths)
    counted = next((each for each in _violations(picture) if "GpuAlloc" in each.metric), None)
    most = settings.max_instances
    asked = None if counted is None else _gpus(counted, counted.requested)
    if asked is not None and most is not None and asked > most:
        yield do(
            "free-gpu-headroom",
            f"{asked:g} GPUs are counted and this template asks for {most}: old revisions and other services of the region hold the rest. "
            "Delete revisions that are not needed, or lower what they may use",
            None if counted is None else f"{asked:g} counted, {_gpus(counted, counted.allowed):g} allowed",
        )
    redundancy_off = picture.deployment.template.get("gpuZonalRedundancyDisabled")
    redundant = (text is not None and text.signature.sign == "no-redundant-quota") or any(
        "GpuAllocPer" in each.metric for each in _violations(picture)
    )
    if allowed is not None and allowed > 0 and (settings.max_instances is None or allowed < settings.max_instances):
        yield do(
            "clamp-max-instances",
            f"the quota is checked as maximum x 1 GPU at the call, and the answer names what it accepts: {allowed}",
            settings.max_instances,
            allowed,
        )
    if redundancy_off is True:
        yield Avoid("disable-gpu-zonal-redundancy", "it is off already: the quota that was asked is the one without redundancy")
    if redundant and redundancy_off is not True:
        yield do(
            "disable-gpu-zonal-redundancy",
            "the quota with zonal redundancy is another one, 0 in a fresh project; without it a zone's outage may take the service down",
            "false (redundancy on)",
            "true",
        )
    yield do(
        "request-quota-increase",
        "a person asks at g.co/cloudrun/gpu-quota; it takes days",
        allowed if counted is None else _gpus(counted, counted.allowed),
        asked,
    )


def _gpus(violation: QuotaViolation, count: int) -> float:
    """GPUs of a quota's number, which newer cards have in thousandths."""
    thousandths = violation.requested >= _MILLI and violation.requested % _MILLI == 0
    return count / _MILLI if thousandths else float(count)


def cpu_memory_quota(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Fewer instances where at least one fits, else a person."""
    settings = picture.settings
    limits = [
        each.allowed / (each.requested / settings.max_instances)
        for each in _violations(picture)
        if each.requested and settings.max_instances
    ]
    said = next((count for line in picture.lines if (count := allowed_instances_in(line.text)) is not None), None)
    older = next((each.match["fits"] for each in picture.all_seen("cpu-memory-quota") if "fits" in each.match.groupdict()), None)
    said = int(older) if said is None and older is not None else said
    fitting = [int(each) for each in limits] + ([said] if said is not None else [])
    fits = min(fitting, default=0)
    if fits >= 1:
        yield do("clamp-max-instances", f"{fits} instance(s) of this size fit the quota", settings.max_instances, fits)
    else:
        yield Avoid("clamp-max-instances", "one instance alone is above the quota: no maximum makes it fit")
    numbers = "; ".join(map(str, _violations(picture)))
    yield do(
        "request-quota-increase",
        f"CPU and memory quota of the region{': ' + numbers if numbers else ''}",
        knob="CPU and memory allocation quota per project and region",
    )


def surge(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Room for the new revision beside the old one, or later."""
    settings = picture.settings
    total, quota = picture.load.instance_total, settings.gpu_quota
    holds = total is not None and quota is not None and total >= quota
    most = settings.max_instances
    if holds or (most is not None and quota is not None and most >= quota):
        yield do(
            "free-gpu-headroom",
            "the new revision starts beside the old one, which holds the GPUs: lower its instances, delete retired revisions",
            None if total is None else f"{total:g} in use of {quota}",
        )
    yield do("retry-rollout-later", "the image was not tried, so nothing speaks against it; the old revision keeps the traffic")
    if holds:
        least = settings.min_instances or 1
        yield do(
            "request-quota-increase",
            f"as many GPUs above the maximum as a new revision starts with ({least}), so that every rollout has room",
            quota,
            None if quota is None or most is None else max(quota, most) + least,
        )


def scale_out(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Instances that are there before the load is; a faster start."""
    settings, load = picture.settings, picture.load
    total = load.instance_total
    after = None if total is None else max(1, math.ceil(total))
    if after is not None and settings.max_instances is not None:
        after = min(after, settings.max_instances)
    if after is not None and settings.min_instances is not None and after <= settings.min_instances:
        after = settings.min_instances + 1
    yield do(
        "raise-min-instances",
        "the maximum is not what stops it: instances come too late, and those kept warm are there before the load",
        settings.min_instances,
        after,
    )
    if (
        has_room(picture)
        and load.gpu is not None
        and settings.concurrency is not None
        and above(load.in_flight, 0.8 * settings.concurrency)
    ):
        yield do("raise-concurrency", f"each instance could take more: {load.gpu}", settings.concurrency, 2 * settings.concurrency)
    base = f"{picture.deployment.env.get('MODEL_BASE_PATH', '')} {picture.deployment.flag('model_base_path') or ''}"
    if "gs://" in base and above(load.startup, 30_000):
        yield do(
            "move-model-local", f"{load.startup}: the model is fetched from Cloud Storage at every start", base.strip(), "in the image"
        )
    yield Avoid("raise-max-instances", "the maximum was not reached")


ADVISERS: Mapping[str, Adviser] = {
    "instance-cap-reached": cap,
    "admin-api-rate-limit": admin_rate,
    "gpu-quota-refused": gpu_quota,
    "cpu-memory-quota-refused": cpu_memory_quota,
    "gpu-surge-at-rollout": surge,
    "scale-out-lag": scale_out,
}
