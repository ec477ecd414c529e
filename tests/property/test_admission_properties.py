"""What holds of every spec that is admitted, whatever is in it."""

import json

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.records.admission import admit
from shared.records.allow_lists import AllowLists
from shared.records.batching_start import is_whole
from shared.records.desired import desired_serving
from shared.records.service import ServiceSpec
from shared.records.serving import AUTO
from shared.records.spec_file import SpecFile, SpecFileError, read_spec_file, to_file_data
from shared.tfserving.batching import effective, faults
from shared.tfserving.batching_parameters import BatchingParameters
from tests.support.specs import SERVICE, service_specs

MOST_SIZES = 8
"""Each allowed size is a shape that the model is prepared for."""

scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.dates(), st.binary(max_size=4))
keys = st.one_of(st.text(max_size=8), st.integers())
json_values = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)), max_leaves=8
)
serving_like = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("image", "model", "batching", "extra_flags", "environment", "golden_request", "own_entry", "cpu", "version"), json_values
    ),
)
inner_like = st.fixed_dictionaries({}, optional={"scale": json_values, "windows": json_values, "serving": serving_like})
spec_like = st.fixed_dictionaries({}, optional={"service": json_values, "spec": st.one_of(json_values, inner_like)})


@settings(max_examples=200, deadline=None)
@given(service_specs())
def test_the_random_specs_of_the_tests_are_admitted_alike_each_time(spec: ServiceSpec) -> None:
    assert [str(refusal) for refusal in admit(SERVICE, spec, AllowLists())] == []
    stored = ServiceSpec.from_stored(json.loads(json.dumps(spec.to_stored())))
    assert stored == spec


@settings(max_examples=100, deadline=None)
@given(service_specs())
def test_a_spec_written_as_yaml_or_json_is_read_back_the_same(spec: ServiceSpec) -> None:
    file = SpecFile(service=SERVICE, spec=spec)
    data = to_file_data(file)
    assert read_spec_file(yaml.safe_load(yaml.safe_dump(data, sort_keys=False))) == file
    assert read_spec_file(json.loads(json.dumps(data))) == file


@settings(max_examples=300, deadline=None)
@given(service_specs(own_entry=False), st.integers(0, 2**63 - 1), st.one_of(st.none(), st.floats(0, 10_000)))
def test_what_is_desired_keeps_its_numbers_together(spec: ServiceSpec, version: int, measured: float | None) -> None:
    desired = desired_serving(spec, version=version, measured_start_seconds=measured)
    serving = spec.serving
    assert serving is not None
    assert desired.start_up_seconds is not None
    assert 1 <= desired.start_up_seconds <= (600 if desired.accelerator is None else 1_800)
    concurrency = desired.max_instance_request_concurrency
    assert concurrency is not None
    if desired.batching is None:
        assert serving.batching == "off"
        return
    assert faults(desired.batching) == []
    cpus = max(1, int(desired.cpu or "1"))
    scheduler = effective(desired.batching, cpus)
    rows = serving.rows_per_request or 1
    assert rows <= scheduler.max_batch_size
    if desired.batching.allowed_batch_sizes:
        assert desired.batching.allowed_batch_sizes[-1] == scheduler.max_batch_size
    assert is_whole(desired.batching)
    if isinstance(serving.batching, BatchingParameters):
        said = serving.batching.model_dump(exclude_defaults=True)
        assert {name: getattr(desired.batching, name) for name in said} == said
        if serving.max_instance_request_concurrency != AUTO and serving.batching.max_enqueued_batches is not None:
            assert concurrency == serving.max_instance_request_concurrency
            return
    if not isinstance(serving.batching, BatchingParameters) or not serving.batching.allowed_batch_sizes:
        assert len(desired.batching.allowed_batch_sizes) <= MOST_SIZES
    assert concurrency * rows <= scheduler.max_execution_batch_size * (scheduler.num_batch_threads + scheduler.max_enqueued_batches)
    assert _never_full(concurrency, rows, desired.batching, cpus)


def _never_full(concurrency: int, rows: int, batching: BatchingParameters, cpus: int) -> bool:
    """Whether all requests of an instance find room in the queue, as its batches are filled one after the other and none runs."""
    scheduler = effective(batching, cpus)
    size = scheduler.max_execution_batch_size
    if scheduler.enable_large_batch_splitting:
        return concurrency * rows <= scheduler.max_enqueued_batches * size
    closed, open_rows = 0, 0
    for _ in range(concurrency):
        if open_rows + rows > size:
            if closed + 1 >= scheduler.max_enqueued_batches:
                return False
            closed, open_rows = closed + 1, 0
        open_rows += rows
    return True


@settings(max_examples=100, deadline=None)
@given(service_specs(own_entry=True))
def test_of_an_owners_own_command_nothing_is_decided(spec: ServiceSpec) -> None:
    desired = desired_serving(spec)
    serving = spec.serving
    assert serving is not None
    assert desired.max_instance_request_concurrency == serving.max_instance_request_concurrency
    assert (desired.own_entry, desired.model, desired.batching, desired.start_up_seconds) == (serving.own_entry, None, None, None)
    assert (desired.metrics_sidecar, desired.environment, desired.extra_flags) == (False, {}, {})


@settings(max_examples=300, deadline=None)
@given(st.one_of(json_values, spec_like))
def test_whatever_a_file_holds_it_is_a_spec_or_its_problems_are_named_in_bounds(data: object) -> None:
    read = _read(data)
    if isinstance(read, SpecFileError):
        assert read.problems
        assert len(str(read)) < 20_000
    else:
        admit(read.service, read.spec, AllowLists())


def _read(data: object) -> SpecFile | SpecFileError:
    try:
        return read_spec_file(data)
    except SpecFileError as error:
        return error
