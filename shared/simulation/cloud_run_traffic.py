"""The simulated Cloud Run's traffic: which revision gets how much, under which tag and at which address. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from google.cloud import run_v2

from shared.simulation.cloud_run_errors import ServiceName

LATEST = run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST
REVISION = run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION
WHOLE = 100
"""Percent."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one target of the traffic sends where. `revision` is the short name; empty while no revision is ready."""

    revision: str
    percent: int
    tag: str
    latest: bool


def targets_of(service: run_v2.Service) -> list[run_v2.TrafficTarget]:
    """The service's traffic; none at all means everything to the latest ready revision (the client's docstring of `traffic`)."""
    return list(service.traffic) or [run_v2.TrafficTarget(type_=LATEST, percent=WHOLE)]


def shares_of(targets: Sequence[run_v2.TrafficTarget], latest_ready: str) -> tuple[Share, ...]:
    """The targets with LATEST resolved to the latest ready revision (short name)."""
    return tuple(Share(target.revision or latest_ready, target.percent, target.tag, latest=not target.revision) for target in targets)


def statuses_of(targets: Sequence[run_v2.TrafficTarget]) -> list[run_v2.TrafficTargetStatus]:
    """The targets as `traffic_statuses`; addresses are filled in when the service is shown."""
    return [
        run_v2.TrafficTargetStatus(
            type_=REVISION if target.revision else LATEST, revision=target.revision, percent=target.percent, tag=target.tag
        )
        for target in targets
    ]


def uri_of(name: ServiceName, *, base_url: str | None, tag: str = "") -> str:
    """The address of the service, or of the revision under the tag.

    Cloud Run puts a tag and three dashes before the service's host name. Where the simulation answers requests itself the
    address is a path below its base URL.
    """
    if base_url is not None:
        return "/".join([f"{base_url}/urls/{name.project}/{name.region}/{name.service}", *([tag] if tag else [])])
    return f"https://{f'{tag}---' if tag else ''}{name.service}-simulated.{name.region}.run.app"


def revision_for(shares: Sequence[Share], number: int) -> str | None:
    """Where the request of that number goes: in every hundred each revision gets its percent, well mixed; no chance in it."""
    # 37 and 100 have no common divisor: a hundred requests in a row meet each slot once.
    slot = number * 37 % WHOLE
    for share in shares:
        if slot < share.percent:
            return share.revision
        slot -= share.percent
    return None
