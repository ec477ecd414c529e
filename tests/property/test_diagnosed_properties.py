"""What evidence may never do to a decision, whatever logs and metrics say."""

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.records.evidence import Evidence, LogLine, LogLines, LogSource, Readings
from shared.records.evidence_keys import ALL_KEYS
from shared.records.fleet import Fleet
from shared.records.metric import Known, Metric, Unknown
from shared.records.plan import Plan
from shared.records.service import ServiceDocument
from shared.records.snapshot import Observation
from shared.records.state import ServiceState
from tests.property.test_decide_properties import run, scenes
from tests.support.builders import NOW

Scene = tuple[ServiceDocument, ServiceState, Fleet, Observation]

SENTENCES = (
    "The request was aborted because there was no available instance.",
    "Task size 64 is larger than maximum input batch size 32",
    "OOM when allocating tensor with shape[4096,16384] by allocator GPU_0_bfc",
    "Memory limit of 2048 MiB exceeded with 2126 MiB used.",
    "Failed to start server. Error: INVALID_ARGUMENT: Invalid protobuf file: '/config/config.pbtxt'",
    "The batch scheduling queue to which this task was submitted is full; currently 2 batches enqueued and max_enqueued_batches is 2",
    "Starting new instance. Reason: AUTOSCALING",
    "Server Threadpool Exhausted",
)
lines = st.builds(
    LogLine,
    at=st.just(NOW),
    source=st.sampled_from(LogSource),
    text=st.one_of(st.sampled_from(SENTENCES), st.text(min_size=1, max_size=80)),
    status=st.one_of(st.none(), st.sampled_from([200, 429, 500, 503, 504])),
)
values: st.SearchStrategy[Metric] = st.one_of(
    st.builds(lambda value: Known(value=value, age_seconds=180, samples=5), st.floats(0, 5_000)), st.just(Unknown(reason="HTTP 503"))
)
pieces = st.builds(
    Evidence,
    logs=st.one_of(st.lists(lines, max_size=6).map(LogLines.of), st.just(Unknown(reason="403"))),
    readings=st.one_of(
        st.dictionaries(st.sampled_from(ALL_KEYS), values, max_size=12).map(lambda found: Readings(values=found)),
        st.just(Unknown(reason="403")),
    ),
)


def with_evidence(scene: Scene, evidence: Evidence) -> Plan:
    spec, state, fleet, world = scene
    return run((spec, state, fleet, world.model_copy(update={"evidence": evidence})))


@settings(max_examples=300, deadline=None)
@given(scenes(), pieces)
def test_evidence_takes_changes_away_and_never_adds_or_enlarges_one(scene: Scene, evidence: Evidence) -> None:
    plan, without = with_evidence(scene, evidence), run(scene)
    assert plan == with_evidence(scene, evidence)
    targets = {change.field: (change.before, change.after) for change in without.changes}
    assert {change.field: (change.before, change.after) for change in plan.changes}.items() <= targets.items()
    taken = [change for change in without.changes if change.field not in {each.field for each in plan.changes}]
    assert all(change.signal is not None or len(without.changes) > 1 for change in taken)
    assert len(plan.explanation) <= 1_000


@settings(max_examples=100, deadline=None)
@given(scenes())
def test_evidence_of_which_nothing_is_known_is_no_evidence(scene: Scene) -> None:
    nothing = Evidence(logs=Unknown(reason="403"), readings=Unknown(reason="403"))
    plan, without = with_evidence(scene, nothing), run(scene)
    assert (plan.changes, plan.denials, plan.state) == (without.changes, without.denials, without.state)
