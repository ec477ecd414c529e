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

from shared.deployment import FUNCTIONS
from shared.handlers.schedule import MISSED_WITHIN
from shared.records.decision import DECISION_TTL_SECONDS
from shared.records.subject import SWEEP_SLOTS

ROOT = Path(__file__).parent.parent
CONTROL_PLANE = ROOT / "terraform" / "modules" / "control-plane"
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
    "firestore_gib": Price("GiB stored in Firestore", 0.15, 1, 1, FIRESTORE, "not looked up"),
    "recovery_gib": Price("GiB of Firestore's point-in-time recovery", 0.15, 1, 0, FIRESTORE, "not looked up"),
    "metric_mib": Price("MiB of log-based metrics", 0.258, 1, 150, OBSERVABILITY, "2026-09"),
    "archive_gib": Price("GiB of archives in Cloud Storage", 0.02, 1, 0, STORAGE, "not looked up"),
    "build_minutes": Price("minutes of Cloud Build", 0.006, 1, 2_500, "https://cloud.google.com/build/pricing", "2026-09"),
    "image_gib": Price(
        "GiB of images in Artifact Registry", 0.10, 1, 0.5, "https://cloud.google.com/artifact-registry/pricing", "not looked up"
    ),
}
"""us-central1 and Cloud Run's tier 1. What is free is free once a billing account (logs: a project; Firestore: a database of a project)."""
SPANS = Price("spans of Cloud Trace", 0.20, 1e6, 2.5e6, OBSERVABILITY, "2026-08-29")
"""Only where the deployment says `trace_ratio`: in no sum. What is free is free once a billing account."""
ALERT_REFERENCE_USD, ALERT_POINTS_USD = 0.35, 0.50 / 1e6
"""Of a metric that a policy's condition names, a month; of a point that its query returns. Charged from 1 September 2027."""
ALERT_CONDITIONS, ALERT_METRICS = 10, 12
"""Of a served service with an objective: one condition for each signal that Terraform makes a policy of, and the metrics that they name."""
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
DOCUMENT_KIB = 4.0
KEPT_DAYS = DECISION_TTL_SECONDS / 86_400
"""The longest that a document is kept: every one is counted as if it were."""
RECOVERY_DAYS = 7
DEPLOYMENTS, BUILD_MINUTES, ARCHIVE_GIB = 4, 2.0, 4 * 2**20 / 2**30
METRIC_POINT_MIB = 8 / 2**20
"""A point of a counter; one a minute of each time series at most."""
COLD_SECONDS = 5.0

ASSUMED = (
    ("a service's incidents a month", f"{INCIDENTS}, of {INCIDENT_MINUTES} minutes each with a look a minute, {ACTS} changes in each"),
    ("changes by others, commands, a month and service", f"{CHANGES}, {COMMANDS}"),
    ("model versions a month and service", f"{VERSIONS}, of {OBJECTS} objects, {LOOKS_OF_A_VERSION} looks at the model each"),
    ("how long a look takes, and any other request", f"{LOOK_SECONDS:g} s, {EVENT_SECONDS:g} s: not measured on Google Cloud"),
    ("requests that share an instance", "none: the upper bound. A tick's wakes arrive together, and an instance takes eight at a time"),
    ("a function's instance", f"{VCPU:g} vCPU, {MEMORY_GIB:g} GiB (Terraform's defaults), none kept warm"),
    ("logs", "1.5 kB for each request, Cloud Run's own entry included"),
    ("documents", f"{DOCUMENT_KIB:g} KiB each with their index entries, all kept {KEPT_DAYS:g} days as decisions are; not measured"),
    ("point-in-time recovery", f"all that was written in {RECOVERY_DAYS} days, once more"),
    ("log-based metrics", "a time series for each function that may write the line, and a point in each every minute: the upper bound"),
    (
        "deployments",
        f"{DEPLOYMENTS} a month; of each six builds of {BUILD_MINUTES:g} minutes and an archive of 4 MiB that is kept for a year",
    ),
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


def spans(services: int) -> float:
    """Spans a month if every request is recorded: one of each request, and one of each call that goes out of it."""
    return monthly(services)["requests"] + sum(_operations(services).values())


def _span_dollars(services: int, *, free: bool) -> float:
    return max(0.0, spans(services) - (SPANS.free if free else 0)) * SPANS.usd / SPANS.per


def _operations(services: int) -> Counter[str]:
    """How often each operation is done a month."""
    events = measured()
    tick = next(counts for name, counts in events.items() if name.startswith("tick over"))
    looks, worried, facts, uploads = _counts(services)
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
    return total


def _counts(services: int) -> tuple[float, float, float, float]:
    """A month's settled looks, looks with an incident open, facts, and uploaded objects."""
    return (
        services * MINUTES / SWEEP_SLOTS,
        services * INCIDENTS * INCIDENT_MINUTES,
        services * (2 * INCIDENTS + CHANGES + COMMANDS),
        services * VERSIONS * OBJECTS,
    )


def monthly(services: int) -> dict[str, float]:
    """Billed units a month."""
    looks, worried, facts, uploads = _counts(services)
    units = _billed(_operations(services))
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
        "firestore_gib": (units["writes"] - MINUTES) * KEPT_DAYS / DAYS * DOCUMENT_KIB / 2**20,
        "recovery_gib": units["writes"] * RECOVERY_DAYS / DAYS * DOCUMENT_KIB / 2**20,
        "metric_mib": log_series() * MINUTES * METRIC_POINT_MIB,
        "archive_gib": ARCHIVE_GIB * DEPLOYMENTS * 12,
        "build_minutes": DEPLOYMENTS * len(FUNCTIONS) * BUILD_MINUTES,
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
    return services * (ALERT_METRICS * ALERT_REFERENCE_USD + ALERT_CONDITIONS * ALERT_PERIODS * ALERT_POINTS_USD)


def own_alerts() -> tuple[int, int]:
    """Conditions of the alert policies on Trimtab itself, one metric each, and the time series that their queries return."""
    text = (CONTROL_PLANE / "alerts.tf").read_text(encoding="utf-8")
    groups = re.findall(r"^ +group_by += \[(.*)\]$", text, re.MULTILINE)
    absences = len(re.findall(r"condition_absent {", text))
    return len(groups) + absences, sum(len(FUNCTIONS) if group else 1 for group in groups) + absences


def log_series() -> int:
    """Time series of the log-based metrics that Terraform makes: one for each function that may write the line."""
    text = (CONTROL_PLANE / "log_metrics.tf").read_text(encoding="utf-8")
    filters = re.findall(r"^ {6}filter += (.*)$", text, re.MULTILINE)
    return sum(1 if "jsonPayload.function=" in each else len(FUNCTIONS) for each in filters)


def own_alert_dollars() -> float:
    """What the alert policies on Trimtab itself will cost from September 2027, however many services there are."""
    conditions, series = own_alerts()
    return conditions * ALERT_REFERENCE_USD + series * ALERT_PERIODS * ALERT_POINTS_USD


def cold_start_dollars() -> float:
    """Of one service, if each event found no instance: what starting them would cost a month."""
    events = 2 * INCIDENTS + CHANGES + COMMANDS + VERSIONS * OBJECTS
    prices = VCPU * PRICES["vcpu_seconds"].usd + MEMORY_GIB * PRICES["gib_seconds"].usd
    return events * COLD_SECONDS * prices


INTRO = """What Trimtab itself costs a month in list prices of us-central1, computed from the operations that are counted
([benchmarks.md](benchmarks.md)) and the assumptions below. Not measured on a bill. The GPUs that it steers are not in it: one L4
instance costs about $750 a month.

The examples of these documents deploy to europe-west1, whose prices were not looked up. What is free is free once: of Firestore for one
database of a project. Where that is another, or the rest is used up by others, the line "all, nothing free" holds.
"""
LOOKS = """
A look is one run of the function `reconcile` over one service. Looks are counted as if each had an instance to itself, which is the upper
bound; an instance takes eight requests at a time, and "where instances are shared" is what is paid if it always does.
"""
ASSUMED_INTRO = "\n## Assumed\n\nNobody has measured these; the operations of each event are counted.\n"
NOT_COUNTED = """
## Not counted

* **Cold starts.** Cloud Run bills the seconds in which an instance starts. The tick and the looks keep two functions warm; if every event
  of one service found no instance of the other four, {cold_s:g} s each would come to {cold} a month.
* **Samples of the collector** beside TF Serving (Managed Prometheus bills by the sample), and its own CPU and memory in each instance: they
  are the served service's, with any controller that reads TF Serving's metrics.
* **Data transfer** out of a region, the models' buckets, Cloud Storage's own notifications, Terraform's state, audit logs of data access.
* **Functions kept warm** (`min_instances`), notifications to people, and storms: alerts and retries without end are bounded by
  `max_instances` alone.
"""
TIME_MATTERS = "\nThe time of a request matters most, and could not be measured: twice as long is nearly twice the vCPU-seconds.\n"
PRICES_INTRO = """
## Prices

By Google's pages, as public copies of them had it in that month; look them up before you rely on them.
"""
ALERTS = f"""
Alert policies are free until 1 September 2027, then $0.35 a month for each metric that a condition names and $0.50 per million points
([page]({OBSERVABILITY}), seen 2026-09-08). A service has {ALERT_CONDITIONS} conditions that name
{ALERT_METRICS} metrics; whoever alerts on a service pays this with any controller. Those on Trimtab itself
are {{own}} conditions, which return {{series}} time series: {{usd}} a month, as much for one service as for a thousand.
"""
SWITCHED = """
## With the switches

None of this is in the sums: both are off unless the deployment says `trace_ratio` or `cloud_profiler`
([guides/deploy.md](guides/deploy.md)).

**Spans.** A recorded request is one span, and each call that goes out of it one more. If every request were recorded:

{table}
{price} per million spans beyond {free} million a month and billing account
([page]({page}), seen {seen}). `trace_ratio` is the share of requests that are recorded; besides, those that
their caller traces are, as Cloud Run does by itself with about one in ten seconds of each instance: with few
services that can be nearly all of them. A recorded request also waits until its spans are sent, and that time is
billed as every other of an instance.

**Profiles.** Google's page names no price for them. The images are larger (the profiler and what it needs are 111 MB), builds take longer
because it is compiled in each, and the samples take processor time of the instances. Not measured on Google Cloud.
"""
PEER = """
## Beside a peer

The README of [cloud-run-kafka-scaler](https://github.com/GoogleCloudPlatform/cloud-run-kafka-scaler) says of that scaler that it
"typically" costs less than $1 a month, for one service, without saying how it was counted. By this page Trimtab costs {one} for one
service and {ten} for ten with what Google gives free, and {bare_one} and {bare_ten} where others use that up. A fixed {fixed} of that is
the tick, the job, the log-based metrics, the builds and the images, which do not grow with the services. From September 2027 the alert
policies on Trimtab itself come on top: with what is free, {one} and {own} are {later} for one service, more than $1.
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
        ["the same, where instances are shared (see below)", *(_usd(_shared(bare[size])) for size in SIZES)],
        ["from September 2027, besides: alert policies on Trimtab itself", *(_usd(own_alert_dollars()) for _ in SIZES)],
        ["from September 2027, besides: alert policies of the services", *(_usd(alert_dollars(size)) for size in SIZES)],
        ["**all from September 2027, with what is free**", *(f"**{_usd(later(size, free[size]))}**" for size in SIZES)],
    ]
    rows = [[price.unit, *(f"{_amount(units[size][name])}: {_usd(free[size][name])}" for size in SIZES)] for name, price in PRICES.items()]
    prices = [[price.unit, _per(price), f"{price.free:,.10g}", price.page, price.seen] for price in PRICES.values()]
    words = PEER.format(
        one=_usd(sum(free[1].values())),
        ten=_usd(sum(free[10].values())),
        bare_one=_usd(sum(bare[1].values())),
        bare_ten=_usd(sum(bare[10].values())),
        fixed=_usd(_fixed(bare)),
        own=_usd(own_alert_dollars()),
        later=_usd(sum(free[1].values()) + own_alert_dollars()),
    )
    conditions, series = own_alerts()
    alerts = ALERTS.format(own=conditions, series=series, usd=_usd(own_alert_dollars()))
    recorded = [
        ["spans", *(_amount(spans(size)) for size in SIZES)],
        ["with what is free", *(_usd(_span_dollars(size, free=True)) for size in SIZES)],
        ["nothing free", *(_usd(_span_dollars(size, free=False)) for size in SIZES)],
    ]
    switched = SWITCHED.format(
        table="\n".join(_table([head, *recorded])) + "\n",
        price=f"${SPANS.usd:.2f}",
        free=f"{SPANS.free / 1e6:g}",
        page=SPANS.page,
        seen=SPANS.seen,
    )
    uncounted = NOT_COUNTED.format(cold_s=COLD_SECONDS, cold=_usd(cold_start_dollars()))
    parts = [
        f"# Costs\n\n{NOTE}{INTRO}",
        *_table([head, *totals]),
        LOOKS,
        "## What it is made of\n\nUnits a month, and what they cost beyond what is free:\n",
        *_table([head, *rows]),
        ASSUMED_INTRO,
        *_table([["what", "assumed"], *map(list, ASSUMED)]),
        TIME_MATTERS + uncounted + PRICES_INTRO,
        *_table([["unit", "USD", "free a month", "page", "seen"], *prices]),
        alerts + switched + words,
    ]
    return "\n".join(parts).rstrip("\n") + "\n"


def later(services: int, dollars_of: Mapping[str, float]) -> float:
    """All that a month costs once alert policies are charged."""
    return sum(dollars_of.values()) + own_alert_dollars() + alert_dollars(services)


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
    whole, _, digits = f"{price.usd:.7f}".rstrip("0").partition(".")
    usd = f"{whole}.{digits.ljust(2, '0')}"
    return f"${usd}" if price.per == 1 else f"${usd} per {price.per:,.0f}"


def _usd(value: float) -> str:
    return "$0" if value == 0 else f"${value:,.2f}" if value >= 0.005 else "under a cent"  # noqa: PLR2004 (half a cent)


def _amount(value: float) -> str:
    """Three digits, with the thousands that they are."""
    if value >= 1:
        digits = 3 - 1 - math.floor(math.log10(value))
        return f"{round(value, digits):,.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004 (three digits)
    return f"{value:.2g}"
