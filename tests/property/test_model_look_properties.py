"""Whatever lies in a bucket: a look ends, its state is small and can be stored, and the order of the listing does not matter."""

import json
import random

from hypothesis import given
from hypothesis import strategies as st

from shared import log
from shared.handlers.model import RELIST_SECONDS, ModelPorts, reconcile_model
from shared.local.sqlite_store import SqliteStore
from shared.records.model import MODEL_STATE_LIMIT_BYTES, ModelState
from shared.records.objects import ObjectListing
from shared.simulation.bucket import SimulatedBucket
from tests.support.builders import NOW
from tests.support.clocks import HandClock
from tests.support.followers import MODEL, follower
from tests.support.saved_models import COMPLETE, INDEX, SAVED_MODEL, SHARD
from tests.unit.handlers.twins import Batches

BUCKET = "acme-models"
FOLDERS = st.sampled_from(["1", "7", "007", "10", "9" * 19, "9" * 20, "v7", "+7", " 7", "", "..", "\u0667"]) | st.text(max_size=4)
PATHS = st.sampled_from([*COMPLETE.files, "../x", "assets//a", "variables/", "", "trimtab-manifest.json"]) | st.text(max_size=30)
CONTENTS = st.sampled_from([*COMPLETE.files.values(), b"", b"\x12\x00" * 50, b"{}"]) | st.binary(max_size=40)
OBJECTS = st.dictionaries(st.tuples(FOLDERS, PATHS), CONTENTS, max_size=25)


class Shuffled(SimulatedBucket):
    """A bucket that lists in no order."""

    def __init__(self, clock: HandClock, seed: int) -> None:
        super().__init__(now=clock.now)
        self._chance = random.Random(seed)

    def list_objects(self, bucket: str, prefix: str, *, limit: int) -> ObjectListing:
        listing = super().list_objects(bucket, prefix, limit=limit)
        objects = list(listing.objects)
        self._chance.shuffle(objects)
        return ObjectListing(objects=tuple(objects), complete=listing.complete)


def looked(objects: dict[tuple[str, str], bytes], seed: int) -> tuple[ModelState, int]:
    """The state after three looks, and how many reads the last one made."""
    clock = HandClock(NOW)
    bucket = Shuffled(clock, seed)
    bucket.put(BUCKET, "readme", b"")
    for (folder, path), data in objects.items():
        bucket.put(BUCKET, f"ranker/{folder}/{path}", data)
    store = SqliteStore(":memory:", clock)
    store.put_service(follower(), if_generation=None)
    ports = ModelPorts(store, bucket, Batches(), clock)
    reads = 0
    with log.silenced():
        for _ in range(3):
            before = bucket.calls["read_object"]
            clock.advance(RELIST_SECONDS)
            reconcile_model(MODEL, "test", ports)
            reads = bucket.calls["read_object"] - before
    state = store.read_model(MODEL).state
    store.close()
    assert state is not None
    return state, reads


@given(OBJECTS)
def test_a_look_ends_with_a_small_state_that_says_the_same_in_any_order(objects: dict[tuple[str, str], bytes]) -> None:
    state, reads = looked(objects, 1)
    assert len(json.dumps(state.to_stored())) < MODEL_STATE_LIMIT_BYTES
    assert [each.version for each in state.versions] == sorted(each.version for each in state.versions)
    assert all(bool(each.reason) == (each.outcome != "complete") for each in state.versions)
    assert (state.list_error, state.untold, reads) == (None, False, 0)
    assert looked(objects, 2)[0] == state


@given(st.sets(st.sampled_from([SAVED_MODEL, INDEX, SHARD])))
def test_only_a_version_with_all_that_it_needs_is_complete(there: set[str]) -> None:
    objects = {("7", path): data for path, data in COMPLETE.files.items() if path in there}
    state, _ = looked(objects, 1)
    assert state.latest == (7 if len(there) == 3 else None)
