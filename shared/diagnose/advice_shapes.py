"""Larger CPU, memory and start-up windows that Cloud Run takes, from what is known of those in force. Pure."""

import math
import re
from dataclasses import dataclass

from shared.cloudrun.probes import GPU_STARTUP_WINDOW_SECONDS, MAX_STARTUP_FIELD_SECONDS, STARTUP_WINDOW_SECONDS
from shared.cloudrun.shapes import ACCELERATORS, MEMORY_GIB_BY_CPU, Accelerator, memory_range_gib
from shared.diagnose.picture import Picture
from shared.diagnose.rules_start import elapsed_seconds, lasted_seconds

_PERIOD_S = 10
_START_MARGIN, _WINDOW_MARGIN = 1.5, 2.0
_MEMORY_LIMIT = re.compile(r"memory limit of (?P<number>\d{1,7}(?:\.\d{1,3})?) ?(?P<unit>mib|mb|m|gib|gb|g|mi|gi)\b", re.IGNORECASE)
_MIB = 1024.0
_SAME_LIMIT = 0.1
_STEADY_S = 300.0


@dataclass(frozen=True, slots=True)
class Pair:
    """vCPU and memory of a container; `cpu` is None where it stays what it is, or is not known."""

    cpu: float | None
    memory_gib: float

    def __str__(self) -> str:
        memory = f"{self.memory_gib:g}Gi" if self.memory_gib >= 1 else f"{self.memory_gib * _MIB:g}Mi"
        return memory if self.cpu is None else f"--cpu={self.cpu:g} --memory={memory}"


def memory_now(picture: Picture) -> float | None:
    """GiB of the limit in force: as the log's sentence about it says, else as described.

    The log speaks of the instance. With several containers that is the sum of theirs, so the description of the one stays.
    """
    described, logged = picture.settings.memory_gib, _logged_limit(picture)
    if described is None:
        return logged
    return described if logged is None or not _differs(picture, described, logged) else logged


def limit_contradicted(picture: Picture) -> str | None:
    """A sentence where the log names another memory limit than the description; None where they agree or one is not known."""
    described, logged = picture.settings.memory_gib, _logged_limit(picture)
    if described is None or logged is None or not _differs(picture, described, logged):
        return None
    return (
        f"The log names a limit of {Pair(None, logged)}, the description says {Pair(None, described)}: the instance ran with other "
        "settings than those given, so read the service again before you deploy"
    )


def _differs(picture: Picture, described: float, logged: float) -> bool:
    return len(picture.deployment.containers) <= 1 and abs(described - logged) > _SAME_LIMIT * max(described, logged)


def _logged_limit(picture: Picture) -> float | None:
    found = next((each for line in picture.lines if (each := _MEMORY_LIMIT.search(line.text)) is not None), None)
    if found is None:
        return None
    return float(found["number"]) / (1.0 if found["unit"].lower().startswith("g") else _MIB)


def more_memory(picture: Picture) -> Pair | None:
    """Twice the memory, or as much as there is, with the least vCPU that takes it; None where nothing larger exists or nothing is known."""
    now, cpu, card = memory_now(picture), picture.settings.vcpu, _card(picture)
    if now is None:
        return None
    stale = limit_contradicted(picture) is not None
    if stale and cpu is not None and not _range(card, cpu)[0] <= now <= _range(card, cpu)[1]:
        cpu = min((each for each in _cpus(card) if _range(card, each)[1] >= now), default=cpu)
    floor = max(2 * now, picture.settings.memory_gib or 0.0) if stale else 2 * now
    shapes = [(each, high) for each in _cpus(card) if (cpu is None or each >= cpu) and (high := _range(card, each)[1]) > now]
    if not shapes:
        return None
    fits = next(((each, high) for each, high in shapes if high >= floor), shapes[-1])
    wanted = min(floor, fits[1])
    wanted = max(wanted, _range(card, fits[0])[0])
    return Pair(None if (fits[0] == cpu and not stale) or (cpu is None and wanted <= MEMORY_GIB_BY_CPU[1][1]) else fits[0], wanted)


def more_cpu(picture: Picture) -> Pair | None:
    """About twice the vCPU, with the memory that it takes at least; None where there is no more or nothing is known."""
    cpu, memory, card = picture.settings.vcpu, picture.settings.memory_gib, _card(picture)
    if cpu is None:
        return None
    larger = [each for each in _cpus(card) if each > cpu]
    if not larger:
        return None
    wanted = next((each for each in larger if each >= 2 * cpu), larger[-1])
    low, high = _range(card, wanted)
    return Pair(wanted, low if memory is None else min(max(memory, low), high))


def _card(picture: Picture) -> Accelerator | None:
    if not picture.settings.gpu:
        return None
    name = picture.deployment.accelerator or "nvidia-l4"
    return ACCELERATORS.get(name)


def _cpus(card: Accelerator | None) -> tuple[float, ...]:
    return tuple(card.cpus) if card is not None else tuple(MEMORY_GIB_BY_CPU)


def _range(card: Accelerator | None, cpu: float) -> tuple[float, float]:
    return card.memory_range_gib(cpu) if card is not None else memory_range_gib(cpu) or (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Window:
    """A start-up window: what failed, what to set instead, and the most there is. Texts, for a remedy."""

    before: str | None
    after: str
    at_most: bool = False
    """Whether the window that failed is the longest already; `after` is then the same again."""


def longer_window(picture: Picture) -> Window:
    """A window longer than the one that failed, never a shorter one; a period that is not known is left as it is."""
    settings, given, elapsed = picture.settings, window_in_force(picture), elapsed_seconds(picture)
    floor = max((each for each in (given, elapsed) if each is not None), default=None)
    limit = _limit(picture, floor)
    start_s = picture.given.workload.start_s
    before = None if given is None else f"{given:g} s"
    if floor is None:
        return Window(None, _without_a_window(picture, limit))
    if floor >= limit:
        return Window(before, _timing(limit), at_most=given is not None and given >= limit)
    needed = start_s * _START_MARGIN if start_s is not None and start_s * _START_MARGIN > floor else floor * _WINDOW_MARGIN
    if settings.gpu and start_s is None:
        needed = max(needed, limit / 3)
    return Window(before, _timing(min(needed, limit)))


def window_in_force(picture: Picture) -> float | None:
    """Seconds that the probe is known to have given: by its settings, its attempts, or the log's own times; None where nothing tells."""
    settings, times = picture.settings, probe_attempts(picture)
    period = settings.startup_probe.get("periodSeconds", _PERIOD_S) if settings.startup_probe else None
    known = [settings.startup_window_s, lasted_seconds(picture)]
    if times is not None and isinstance(period, int | float) and not isinstance(period, bool):
        known.append(times * float(period))
    return max((each for each in known if each is not None and each > 0), default=None)


def probe_attempts(picture: Picture) -> int | None:
    """How often the start-up probe failed, by the platform's sentence."""
    sighting = picture.saw("startup-probe")
    said = sighting.match.groupdict().get("times") if sighting is not None else None
    return int(said) if said else None


def _limit(picture: Picture, floor: float | None) -> float:
    """The longest window; of a service that is not described, what it had already tells whether it has a GPU."""
    plain = picture.deployment.complete and not picture.settings.gpu
    had = floor or 0.0
    with_gpu = picture.settings.gpu or had > STARTUP_WINDOW_SECONDS or (not plain and had >= STARTUP_WINDOW_SECONDS)
    return float(GPU_STARTUP_WINDOW_SECONDS if with_gpu else STARTUP_WINDOW_SECONDS)


def _without_a_window(picture: Picture, limit: float) -> str:
    times = probe_attempts(picture)
    if times is None or times == 1:
        return _timing(limit)
    attempts = min(_WINDOW_MARGIN * times, MAX_STARTUP_FIELD_SECONDS)
    return (
        f"tcpSocket, failureThreshold: {max(attempts, times):g} at the periodSeconds that it has "
        f"(together at most {GPU_STARTUP_WINDOW_SECONDS} s with a GPU, {STARTUP_WINDOW_SECONDS} s without)"
    )


def _timing(seconds: float) -> str:
    attempts = math.ceil(seconds / _PERIOD_S)
    return f"tcpSocket, periodSeconds: {_PERIOD_S}, failureThreshold: {attempts} ({attempts * _PERIOD_S} s)"


def steady_window(picture: Picture) -> str:
    """A TCP probe with many short attempts that gives no less time than the one in force."""
    floor, times = window_in_force(picture), probe_attempts(picture)
    if floor is None and times is not None and times > 1:
        return "tcpSocket on the serving port, with the periodSeconds and failureThreshold that it has"
    return _timing(float(STARTUP_WINDOW_SECONDS) if floor is None else max(floor, _STEADY_S))
