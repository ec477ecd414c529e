"""A scenario: settings of a service, a model, a workload and an objective, to be simulated. Read strictly, every mistake named. Pure.

Nothing here needs the compiled world; `scenario_world` makes its parts of a scenario.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeVar

from pydantic import Field, StringConstraints, ValidationError, model_validator

from shared.errors import TrimtabError
from shared.records.base import Record
from shared.records.evidence import INGESTION_DELAY_SECONDS
from shared.records.refusal import shown
from shared.records.service import MAX_INSTANCES_LIMIT, ServiceSpec
from shared.records.spec_file import PROBLEMS_LIMIT, ServiceText
from shared.records.spec_problems import Problem, problems_of
from shared.simulation.scenario_booleans import booleans_as_numbers
from shared.simulation.scenario_limits import too_much
from shared.simulation.scenario_workload import MAX_ROWS, HeavyTail, Load, ReplayLoad

MINUTE_S = 60
"""Figures are of whole minutes."""
MAX_DURATION_S = 86_400
MAX_WARM_UP_S = 7_200
LONGEST_START_S = 1_800.0
MAX_TIME_MS = 600_000.0
MAX_TABLE = 200
MAX_COMPARED = 12
TEXT_LIMIT = 100_000

Milliseconds = Annotated[float, Field(ge=0, le=MAX_TIME_MS, allow_inf_nan=False)]
BatchTable = Annotated[
    Mapping[Annotated[int, Field(ge=1, le=MAX_ROWS)], Annotated[float, Field(gt=0, le=MAX_TIME_MS, allow_inf_nan=False)]],
    Field(max_length=MAX_TABLE),
]
FileText = Annotated[str, StringConstraints(min_length=1, max_length=TEXT_LIMIT)]
RelativePath = Annotated[str, StringConstraints(min_length=1, max_length=512)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+-]*$", max_length=40)]
Read = TypeVar("Read", bound=Record)


class ScenarioError(TrimtabError):
    """The file is no scenario. `problems` are all that were found, the message names the first of them."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(problems)
        named = [f"  {problem}" for problem in problems[:PROBLEMS_LIMIT]]
        if len(problems) > PROBLEMS_LIMIT:
            named.append(f"  and {len(problems) - PROBLEMS_LIMIT} more")
        super().__init__("\n".join([f"the scenario has {'1 problem' if len(problems) == 1 else f'{len(problems)} problems'}:", *named]))


class ServiceSettings(Record):
    """A service's settings: Trimtab's spec (what stands in a spec's file may stand here), or a gcloud command with its batching file."""

    service: ServiceText | None = None
    """With `spec`: the service, as in a spec's file. It decides the region, and so the price."""
    spec: ServiceSpec | None = None
    """What stands under `spec` in a spec's file."""
    spec_file: RelativePath | None = None
    """A spec's file, in the scenario's folder or below it."""
    gcloud: FileText | None = None
    """The text of a `gcloud run deploy` command. It is read, never run."""
    gcloud_file: RelativePath | None = None
    """A file with that text, in the scenario's folder or below it."""
    batching: FileText | None = None
    """With `gcloud`: the text of the file that --batching_parameters_file names."""
    batching_file: RelativePath | None = None
    """A file with that text, in the scenario's folder or below it."""
    flags: Annotated[tuple[Annotated[str, StringConstraints(min_length=1, max_length=1_000)], ...], Field(max_length=100)] = ()
    """With `gcloud`: flags of tensorflow_model_server behind those of the command."""

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        ways = [name for name in ("spec", "spec_file", "gcloud", "gcloud_file") if getattr(self, name) is not None]
        if len(ways) != 1:
            said = " and ".join(ways) or "nothing of it is there"
            raise ValueError(f"a service is one of spec, spec_file, gcloud and gcloud_file: {said}")
        if ways[0].startswith("spec"):
            others = [name for name in ("batching", "batching_file", "flags") if getattr(self, name)]
            if others:
                raise ValueError(f"{others[0]} belongs to a gcloud command; a spec says it in spec.serving")
        elif self.service is not None:
            raise ValueError("service belongs to a spec; of a command it is in the command")
        if self.batching is not None and self.batching_file is not None:
            raise ValueError("batching and batching_file are the same thing: write one of them")
        return self


class Model(Record):
    """How long the model takes: a straight line, or a table of measured batches."""

    a_ms: Milliseconds | None = None
    """A batch of b rows takes `a_ms + c_ms * b`."""
    c_ms: Milliseconds | None = None
    """Of each row."""
    table: (
        Annotated[
            Mapping[Annotated[int, Field(ge=1, le=10_000)], Annotated[float, Field(gt=0, le=MAX_TIME_MS)]], Field(max_length=MAX_TABLE)
        ]
        | None
    ) = None
    """Instead of a_ms and c_ms: rows of a batch to the milliseconds it takes; between them straight lines."""
    host_ms: Milliseconds = 0.0
    """Of each batch, the part on the CPU: it overlaps with another batch on the GPU."""
    cpu_ms_per_request: Milliseconds = 0.0
    """CPU work of each request before it reaches the queue: parse, decode."""

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        line = self.a_ms is not None or self.c_ms is not None
        if line == (self.table is not None):
            raise ValueError("a model is either a_ms and c_ms, or a table: write one of them")
        if line and (self.a_ms is None or self.c_ms is None):
            raise ValueError(f"{'a_ms' if self.a_ms is None else 'c_ms'} is not there; a straight line has a_ms and c_ms")
        shortest = min(self.table.values(), default=0.0) if self.table is not None else self.a_ms or 0.0
        if self.table is not None and not self.table:
            raise ValueError("table is empty: write the milliseconds of one batch at least")
        if self.host_ms > shortest:
            raise ValueError(
                f"host_ms {self.host_ms:g} is the CPU's part of every batch, so it is at most {shortest:g}, which every batch takes: "
                "lower it"
            )
        if self.a_ms == 0 and self.c_ms == 0:
            raise ValueError("a_ms and c_ms are both 0: a batch takes some time")
        return self


Count = Annotated[int, Field(ge=0, le=MAX_INSTANCES_LIMIT, strict=True)]


class Limits(Record):
    """What is around the service. Unset: as the service's settings say."""

    gpu_quota: Annotated[int, Field(ge=1, le=MAX_INSTANCES_LIMIT, strict=True)] | None = None
    """GPUs that the service may have at once; unset: as many as its maximum."""
    min_instances: Count | None = None
    """In place of the service's own minimum."""
    max_instances: Annotated[int, Field(ge=1, le=MAX_INSTANCES_LIMIT, strict=True)] | None = None
    """In place of the service's own maximum."""
    warm_instances: Count | None = None
    """Instances that serve at the beginning; unset: the minimum, and one at least."""
    start_s: Annotated[float, Field(ge=1, le=LONGEST_START_S, allow_inf_nan=False)] = 25.0
    """From the decision to start an instance to its first request: image, GPU, model."""
    client_timeout_s: Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)] | None = None
    """The deadline of the clients' calls, which the server knows over gRPC; unset: they wait."""
    usd_per_instance_s: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    """In place of the list price of the service's CPU, memory and GPU."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_instances is not None and self.max_instances is not None and self.min_instances > self.max_instances:
            raise ValueError(f"min_instances {self.min_instances} is above max_instances {self.max_instances}: lower the first")
        most = min((count for count in (self.max_instances, self.gpu_quota) if count is not None), default=None)
        for name, count in (("min_instances", self.min_instances), ("warm_instances", self.warm_instances)):
            if most is not None and (count or 0) > most:
                raise ValueError(f"{name} {count} is above {most}, the most that may run: lower it")
        return self


class Goal(Record):
    """What the service is to keep."""

    p99_ms: Annotated[float, Field(gt=0, le=3_600_000, allow_inf_nan=False)]
    """An answer is good that came within this time after the client's first try."""
    usd_per_hour: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)] | None = None
    """What it may cost; only told beside what it costs, and heeded by Trimtab in the loop."""


class Scenario(Record):
    """One service under one workload."""

    service: ServiceSettings
    """The settings that are simulated."""
    model: Model
    """How long the model takes."""
    workload: Load
    """What is asked of the service over time."""
    limits: Limits = Limits()
    """What is around the service."""
    objective: Goal | None = None
    """What the service is to keep; unset: the objective of its spec."""
    lag_s: Annotated[float, Field(ge=0, le=3_600, allow_inf_nan=False)] = float(INGESTION_DELAY_SECONDS)
    """How long after a minute its metrics can be read. Only Trimtab in the loop reads them."""
    seed: Annotated[int, Field(ge=0, lt=2**63, strict=True)] = 0
    """Of all chance in it: the same seed, the same figures."""
    duration_s: Annotated[int, Field(ge=MINUTE_S, le=MAX_DURATION_S, multiple_of=MINUTE_S)] = 1_200
    """What is counted, in whole minutes."""
    warm_up_s: Annotated[int, Field(ge=0, le=MAX_WARM_UP_S, multiple_of=MINUTE_S)] = 420
    """What runs before and is not counted, in whole minutes."""
    compare: Annotated[Mapping[Name, ServiceSettings], Field(max_length=MAX_COMPARED)] = {}
    """Other settings under the same workload, by name, for --compare."""

    @model_validator(mode="after")
    def _has_an_objective(self) -> Self:
        spec = self.service.spec
        if self.objective is None and (spec is None or spec.objective.p99_ms is None) and self.service.spec_file is None:
            raise ValueError("objective.p99_ms is not there and is needed: the time within which an answer is good")
        return self

    @model_validator(mode="after")
    def _can_be_simulated(self) -> Self:
        span_s = self.duration_s + self.warm_up_s
        why = too_much(self.workload, mean_rows=self.mean_rows, span_s=span_s, start_s=self.limits.start_s)
        if why is not None:
            raise ValueError(why)
        return self

    @property
    def mean_rows(self) -> float:
        """Rows of a request on the average."""
        rows = self.workload.rows
        if not isinstance(rows, HeavyTail):
            return float(rows)
        weights = [math.pow(size, -rows.exponent) for size in range(1, rows.largest + 1)]
        return sum(size * weight for size, weight in enumerate(weights, start=1)) / sum(weights)

    @property
    def good_ms(self) -> float:
        """The time within which an answer is good.

        Raises:
            ValueError: nobody says it; the service's spec is in a file that was not read.
        """
        if self.objective is not None:
            return self.objective.p99_ms
        spec = self.service.spec
        if spec is None or spec.objective.p99_ms is None:
            raise ValueError("objective.p99_ms is not there and is needed: the time within which an answer is good")
        return spec.objective.p99_ms

    @property
    def has_files(self) -> bool:
        """Whether parts of it are in other files."""
        replayed = isinstance(self.workload, ReplayLoad) and self.workload.csv_file is not None
        return replayed or any(each.spec_file or each.gcloud_file or each.batching_file for each in (self.service, *self.compare.values()))


def read_scenario(data: object) -> Scenario:
    """Read what a parser made of a scenario's file.

    Raises:
        ScenarioError: it is no scenario; every problem is named with its field, its value and what to do.
    """
    if not isinstance(data, Mapping):
        kind = "empty" if data is None else type(data).__name__
        what = "a scenario is a mapping with service, model, workload and objective"
        raise ScenarioError([Problem("the file", shown(kind), what, "see docs/examples/scenario.yaml")])
    try:
        return _without_booleans(data, Scenario.model_validate(data))
    except ValidationError as error:
        raise ScenarioError(problems_of(error, Scenario, data)) from None
    except RecursionError:
        raise ScenarioError([Problem("the file", "", "it is nested too deep", "look for an anchor inside itself")]) from None


def read_settings(data: object) -> ServiceSettings:
    """Read what a parser made of a file with one service's settings: the text of `service` of a scenario.

    Raises:
        ScenarioError: it is none.
    """
    try:
        return _without_booleans(data, ServiceSettings.model_validate(data))
    except ValidationError as error:
        raise ScenarioError(problems_of(error, ServiceSettings, data)) from None


def _without_booleans(data: object, found: Read) -> Read:
    problems = list(booleans_as_numbers(data, found))
    if problems:
        raise ScenarioError(problems)
    return found


def scenario_data(scenario: Scenario) -> dict[str, Any]:
    """What its file holds, for a YAML or JSON writer: defaults left out."""
    return scenario.model_dump(mode="json", exclude_defaults=True)
