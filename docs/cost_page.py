"""docs/costs.md: what the control plane costs a month, from the measured operations of docs/benchmarks.md and public prices.

Operations come from the table of `tests.benchmarks.cost`; what they are in billed units stands in `READS` and `WRITES`, and an operation
that stands in none of them ends the run: a new one cannot be free by oversight.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shared.handlers.schedule import MISSED_WITHIN
from shared.records.subject import SWEEP_SLOTS

ROOT = Path(__file__).parent.parent
NOTE = "<!-- Made by `make docs` from the code and docs/benchmarks.md. Do not edit. -->\n\n"
SIZES = (1, 10, 100, 1_000)
DAYS = 30
MINUTES = DAYS * 24 * 60


@dataclass(frozen=True, slots=True)
class Price:
    """What a unit costs beyond what is free in a month. `seen` is when the page, or a public copy of it, said so."""

    unit: str
    usd: float
    per: float
    free: float
    page: str
    seen: str


RUN = "https://cloud.google.com/run/pricing"
FIRESTORE = "https://cloud.google.com/firestore/pricing"
OBSERVABILITY = "https://cloud.google.com/products/observability/pricing"
STORAGE = "https://cloud.google.com/storage/pricing"
PRICES: Mapping[str, Price] = {
    "requests": Price("requests to functions", 0.40, 1e6, 2e6, RUN, "2026-09"),
    "vcpu_seconds": Price("vCPU-seconds, request-based billing", 0.000024, 1, 180_000, RUN, "2026-09"),
    "gib_seconds": Price("GiB-seconds of memory", 0.0000025, 1, 360_000, RUN, "2026-09"),
    "reads": Price("Firestore document reads", 0.03, 1e5, 50_000 * DAYS, FIRESTORE, "2026-07"),
    "writes": Price("Firestore document writes", 0.09, 1e5, 20_000 * DAYS, FIRESTORE, "2026-07"),
    "deletes": Price("Firestore deletes by time-to-live", 0.01, 1e5, 0, FIRESTORE, "2026-07"),
    "pubsub_gib": Price("GiB of Pub/Sub throughput", 40.0, 1_024, 10, "https://cloud.google.com/pubsub/pricing", "2026-09-20"),
    "jobs": Price("Cloud Scheduler jobs", 0.10, 1, 3, "https://cloud.google.com/scheduler/pricing", "2026-10"),
    "series": Price("time series read from Cloud Monitoring", 0.50, 1e6, 1e6, OBSERVABILITY, "2026-10-08"),
    "log_gib": Price("GiB of logs", 0.50, 1, 50, OBSERVABILITY, "2026-09"),
    "listings": Price("listings of Cloud Storage (class A)", 0.005, 1_000, 0, STORAGE, "not looked up"),
    "object_reads": Price("reads of Cloud Storage (class B)", 0.0004, 1_000, 0, STORAGE, "not looked up"),
    "image_gib": Price(
        "GiB of images in Artifact Registry", 0.10, 1, 0.5, "https://cloud.google.com/artifact-registry/pricing", "not looked up"
    ),
}
"""us-central1 and Cloud Run's tier 1. What is free is free once a billing account (Firestore: a project's one free database)."""
ALERT_REFERENCE_USD, ALERT_POINTS_USD = 0.35, 0.50 / 1e6
"""Of a metric that a policy's condition names, a month; of a point that its query returns. Charged from 1 September 2027."""
ALERT_CONDITIONS = 10
"""Of a served service with an objective: one for each signal that Terraform makes a policy of."""
ALERT_PERIODS = DAYS * 24 * 60 * 2
"""A condition is evaluated every thirty seconds."""

READS: Mapping[str, int] = {
    "store.read": 3,
    "store.read_spec": 1,
    "store.read_fleet": 1,
    "store.read_model": 1,
    "store.read_parked": 1,
    "store.facts_after": 1,
    "store.state_token": 1,
    "store.acts_in_minute": 1,
    "store.has_command": 1,
    "store.followers": 1,
    "store.due_services": 2,
    "store.due_models": 1,
    "store.begin_tick": 1,
    "store.commanded_services": 1,
    "store.unfolded_services": 1,
    "store.unlisted_models": 1,
}
"""Documents that an operation reads; a query that finds nothing is billed as one."""
WRITES: Mapping[str, int] = {
    "store.create_fact": 1,
    "store.create_upload": 1,
    "store.create_command": 1,
    "store.commit": 3,
    "store.commit_spec": 2,
    "store.commit_model": 1,
    "store.commit_fleet": 1,
    "store.begin_tick": 1,
    "store.park": 1,
    "store.discard_parked": 1,
}
"""Documents that an operation writes at most: a commit of state has an act slot and a decision with it."""
FREE = frozenset({"platform.get_service", "platform.read_service", "platform.get_operation", "platform.update_scaling", "logs.recent"})
"""The Admin API of Cloud Run and reading logs are not charged."""
SERIES: Mapping[str, int] = {"metrics.readings": 30, "metrics.instance_count": 2}
"""Time series that come back: two states of instances, half a dozen response codes, one of each distribution, TF Serving's statuses."""

INCIDENTS, INCIDENT_MINUTES, ACTS = 4, 20, 2
CHANGES, COMMANDS, VERSIONS, OBJECTS = 20, 10, 8, 10
LOOKS_OF_A_VERSION = 4
LOOK_SECONDS, EVENT_SECONDS = 0.3, 0.1
VCPU, MEMORY_GIB = 1.0, 0.5
MESSAGE_GIB = 1_000 / 2**30
"""A message is billed as no less than 1,000 bytes, when it is published and when it is delivered."""
LOG_GIB = 1_500 / 2**30
IMAGE_GIB = 2.0

ASSUMED = (
    ("a service's incidents a month", f"{INCIDENTS}, of {INCIDENT_MINUTES} minutes each with a look a minute, {ACTS} changes in each"),
    ("changes by others, commands, a month and service", f"{CHANGES}, {COMMANDS}"),
    ("model versions a month and service", f"{VERSIONS}, of {OBJECTS} objects, {LOOKS_OF_A_VERSION} looks at the model each"),
    ("how long a look takes, and any other request", f"{LOOK_SECONDS:g} s, {EVENT_SECONDS:g} s: not measured on Google Cloud"),
    ("requests that share an instance", "none: the upper bound. A tick's wakes arrive together, and an instance takes eight at a time"),
    ("a function's instance", f"{VCPU:g} vCPU, {MEMORY_GIB:g} GiB (Terraform's defaults), none kept warm"),
    ("logs", "1.5 kB for each request, Cloud Run's own entry included"),
    ("images", f"{IMAGE_GIB:g} GiB for six functions and the versions kept of them"),
)


def measured() -> dict[str, Counter[str]]:
    """Operations of each event, from the table of docs/benchmarks.md."""
    found: dict[str, Counter[str]] = {}
    for line in (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        parts = re.findall(r"(\d+) ([a-z]+\.[a-z_]+)", cells[1]) if len(cells) > 1 else []
        if parts:
            found[cells[0]] = Counter({name: int(count) for count, name in parts})
    return found


def monthly(services: int) -> dict[str, float]:
    """Billed units a month."""
    events = measured()
    tick = next(counts for name, counts in events.items() if name.startswith("tick over"))
    looks = services * MINUTES / SWEEP_SLOTS
    worried = services * INCIDENTS * INCIDENT_MINUTES
    facts = services * (2 * INCIDENTS + CHANGES + COMMANDS)
    uploads = services * VERSIONS * OBJECTS
    happened: list[tuple[Counter[str], float]] = [
        (tick, MINUTES),
        (events["reconcile, nothing to do"], looks + facts),
        (events["the same open incident, with logs and metrics"], worried),
        (events["reconcile that acts (folds, decides, announces, writes, records)"], services * INCIDENTS * ACTS),
        (events["new alert"], services * 2 * INCIDENTS),
        (events["new audit entry"], services * CHANGES),
        (events["command: patch"], services * COMMANDS),
        (events["new upload notification"], uploads),
        (events["model, listed, a version is found complete, its follower woken"], services * VERSIONS * LOOKS_OF_A_VERSION),
    ]
    total: Counter[str] = Counter()
    for operations, times in happened:
        for name, count in operations.items():
            total[name] += count * times  # type: ignore[assignment]  # a mean need not be whole
    units = _billed(total)
    # Every tick lists the services of its slot, and again each fact of the last while.
    units["reads"] += services * MINUTES / SWEEP_SLOTS + (facts + uploads) * MISSED_WITHIN.total_seconds() / 60
    requests_of_reconcile = looks + facts + worried + services * (INCIDENTS * ACTS + VERSIONS * LOOKS_OF_A_VERSION)
    others = MINUTES + facts + uploads
    seconds = requests_of_reconcile * LOOK_SECONDS + others * EVENT_SECONDS
    requests = requests_of_reconcile + others
    return units | {
        "requests": requests,
        "vcpu_seconds": seconds * VCPU,
        "gib_seconds": seconds * MEMORY_GIB,
        "pubsub_gib": 2 * requests * MESSAGE_GIB,
        "log_gib": requests * LOG_GIB,
        "deletes": units["writes"] - MINUTES,  # all but the tick's own document is deleted some day
        "jobs": 1,
        "image_gib": IMAGE_GIB,
    }


def _billed(operations: Counter[str]) -> dict[str, float]:
    """Operations in billed units; those of Pub/Sub are counted with the requests that they become."""
    units = dict.fromkeys(("reads", "writes", "series", "listings", "object_reads"), 0.0)
    for name, times in operations.items():
        if name.startswith("bus.") or name in FREE:
            continue
        known = [table for table in (READS, WRITES, SERIES) if name in table]
        if name == "bucket.list_objects":
            units["listings"] += times
        elif name == "bucket.read_object":
            units["object_reads"] += times
        elif not known:
            msg = f"docs/cost_page.py: what {name} is billed as is not said"
            raise SystemExit(msg)
        units["reads"] += READS.get(name, 0) * times
        units["writes"] += WRITES.get(name, 0) * times
        units["series"] += SERIES.get(name, 0) * times
    return units


def dollars(units: Mapping[str, float], *, free: bool) -> dict[str, float]:
    """What each unit costs a month, with what is free taken off or not."""
    return {name: max(0.0, units[name] - (price.free if free else 0)) * price.usd / price.per for name, price in PRICES.items()}


def alert_dollars(services: int) -> float:
    """What the alert policies of the served services will cost from September 2027: one series a condition."""
    return services * ALERT_CONDITIONS * (ALERT_REFERENCE_USD + ALERT_PERIODS * ALERT_POINTS_USD)


INTRO = """What Trimtab itself costs a month in list prices of us-central1, computed from the operations that are counted
([benchmarks.md](benchmarks.md)) and the assumptions below. Not measured on a bill. The GPUs that it steers are not in it: one L4
instance costs about $750 a month.
"""
ASSUMED_INTRO = "\n## Assumed\n\nEverything else is counted or is a constant of the code.\n"
TIME_MATTERS = "\nThe time of a request matters most, and could not be measured: twice as long is nearly twice the vCPU-seconds.\n"
PRICES_INTRO = """
## Prices

By Google's pages, as public copies of them had it in that month; look them up before you rely on them.
"""
ALERTS = f"""
Alert policies are free until 1 September 2027, then $0.35 a month for each metric that a condition names and $0.50 per million points
([page]({OBSERVABILITY}), seen 2026-09-08). A service has {ALERT_CONDITIONS} conditions; some name two or three metrics and cost as many
times that. Whoever alerts on a service pays this with any controller.
"""
PEER = """
## Beside a peer

The README of [cloud-run-kafka-scaler](https://github.com/GoogleCloudPlatform/cloud-run-kafka-scaler) says of that scaler that it
"typically" costs less than $1 a month, for one service, without saying how it was counted. By this page Trimtab costs {one} for one
service and {ten} for ten with what Google gives free, and {bare_one} and {bare_ten} where others use that up. A fixed {fixed} of that is
the tick, the job and the images, which do not grow with the services.
"""


def costs_page() -> str:
    """docs/costs.md."""
    units = {size: monthly(size) for size in SIZES}
    free = {size: dollars(units[size], free=True) for size in SIZES}
    bare = {size: dollars(units[size], free=False) for size in SIZES}
    head = ["", *(f"{size:,} service{'s' if size > 1 else ''}" for size in SIZES)]
    totals = [
        ["**all, with what is free**", *(f"**{_usd(sum(free[size].values()))}**" for size in SIZES)],
        ["for each service", *(_usd(sum(free[size].values()) / size) for size in SIZES)],
        ["all, nothing free", *(_usd(sum(bare[size].values())) for size in SIZES)],
        ["the same, eight looks share an instance", *(_usd(_shared(bare[size])) for size in SIZES)],
        ["from September 2027: alert policies of the services, besides", *(_usd(alert_dollars(size)) for size in SIZES)],
    ]
    rows = [[price.unit, *(f"{_amount(units[size][name])}: {_usd(free[size][name])}" for size in SIZES)] for name, price in PRICES.items()]
    prices = [[price.unit, _per(price), f"{price.free:,.10g}", price.page, price.seen] for price in PRICES.values()]
    words = PEER.format(
        one=_usd(sum(free[1].values())),
        ten=_usd(sum(free[10].values())),
        bare_one=_usd(sum(bare[1].values())),
        bare_ten=_usd(sum(bare[10].values())),
        fixed=_usd(_fixed(bare)),
    )
    parts = [
        f"# Costs\n\n{NOTE}{INTRO}",
        *_table([head, *totals]),
        "\n## What it is made of\n\nUnits a month, and what they cost beyond what is free:\n",
        *_table([head, *rows]),
        ASSUMED_INTRO,
        *_table([["what", "assumed"], *map(list, ASSUMED)]),
        TIME_MATTERS + PRICES_INTRO,
        *_table([["unit", "USD", "free a month", "page", "seen"], *prices]),
        ALERTS + words,
    ]
    return "\n".join(parts).rstrip("\n") + "\n"


def _shared(bare: Mapping[str, float]) -> float:
    """With the time of instances divided by the eight requests that one takes at a time."""
    return sum(usd / (8 if name in {"vcpu_seconds", "gib_seconds"} else 1) for name, usd in bare.items())


def _fixed(bare: Mapping[int, Mapping[str, float]]) -> float:
    """What no service at all would cost, by the straight line through the two largest."""
    small, large = sum(bare[100].values()), sum(bare[1_000].values())
    return small - (large - small) / 900 * 100


def _table(rows: list[list[str]]) -> Iterator[str]:
    head, *body = rows
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in body)


def _per(price: Price) -> str:
    """Without an exponent, however small."""
    usd = f"{price.usd:.7f}".rstrip("0").rstrip(".") if price.usd < 0.01 else f"{price.usd:.2f}"  # noqa: PLR2004 (a cent)
    return f"${usd}" if price.per == 1 else f"${usd} per {price.per:,.0f}"


def _usd(value: float) -> str:
    return "$0" if value == 0 else f"${value:,.2f}" if value >= 0.005 else "under a cent"  # noqa: PLR2004 (half a cent)


def _amount(value: float) -> str:
    """Three digits, with the thousands that they are."""
    if value >= 1:
        digits = 3 - 1 - math.floor(math.log10(value))
        return f"{round(value, digits):,.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004 (three digits)
    return f"{value:.2g}"
