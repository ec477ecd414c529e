"""One look at a model: when it is made, what it costs, what it finds, and who is told."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.errors import Refused, Retry
from shared.handlers import model_look
from shared.handlers.model import (
    CLAIM_SECONDS,
    DEBOUNCE_SECONDS,
    POLL_SECONDS,
    REFUSED_SECONDS,
    RELIST_SECONDS,
    ModelPorts,
    known_versions,
    reconcile_model,
)
from shared.handlers.model_look import LISTED_SINGLY, LOOK_WITHIN_SECONDS, MAX_READS
from shared.local.sqlite_store import SqliteStore
from shared.records.model import KEPT_VERSIONS, ModelSnapshot, ModelState, VersionState
from shared.records.model_subject import ModelSubject
from shared.records.parked import ParkCode
from shared.records.subject import ServiceId, Wake
from shared.simulation.bucket import SimulatedBucket
from shared.tfserving.model_files_listing import MAX_FILES, MAX_SAVED_MODEL_BYTES
from tests.support.builders import NOW, RANKER, at
from tests.support.clocks import HandClock
from tests.support.followers import MODEL, follower
from tests.support.saved_models import (
    COMPLETE,
    DT_FLOAT,
    INDEX,
    MANIFEST,
    SAVED_MODEL,
    SHARD,
    WARM_UP,
    WITHOUT_VARIABLES,
    meta_graph,
    saved_model,
    signature,
    tensor,
)
from tests.unit.handlers.twins import Batches

BUCKET = "acme-models"
FILES = COMPLETE.files
SMALL = WITHOUT_VARIABLES.files


class Quay:
    """A model that `ranker` follows, its bucket, and whatever looks at it."""

    def __init__(self, *, followed: bool = True) -> None:
        self.clock = HandClock(NOW)
        self.bucket = SimulatedBucket(now=self.clock.now)
        self.bucket.put(BUCKET, "readme.txt", b"")
        self.store = SqliteStore(":memory:", self.clock)
        self.bus = Batches()
        self.ports = ModelPorts(self.store, self.bucket, self.bus, self.clock)
        if followed:
            self.store.put_service(follower(), if_generation=None)

    def put(self, version: str, files: Mapping[str, bytes] = FILES) -> None:
        self.bucket.put_all(BUCKET, f"ranker/{version}", files)

    def look(self, seconds: float = 0) -> str:
        """A look so much later."""
        self.clock.advance(seconds)
        return reconcile_model(MODEL, "test", self.ports)

    def settle(self) -> None:
        """Two looks: the second finds that nothing has changed for long enough."""
        self.look(DEBOUNCE_SECONDS)
        self.look(POLL_SECONDS)

    @property
    def state(self) -> ModelState:
        state = self.store.read_model(MODEL).state
        assert state is not None
        return state

    def version(self, folder: str) -> VersionState:
        return next(each for each in self.state.versions if each.folder == folder)

    @property
    def listings(self) -> int:
        return self.bucket.calls["list_objects"]

    def told(self) -> list[Wake]:
        return [wake for wake in self.bus.wakes if wake.subject_kind == "service"]


@pytest.fixture
def quay() -> Iterator[Quay]:
    made = Quay()
    yield made
    made.store.close()


def test_a_complete_version_is_found_after_it_has_settled_and_its_followers_are_told_once(quay: Quay) -> None:
    quay.put("7")
    assert quay.look() == "no complete version; 7 incomplete: " + quay.version("7").reason[:117] + "..."
    assert (quay.version("7").code, quay.told()) == ("not_settled", [])
    quay.look(POLL_SECONDS)
    assert quay.state.latest == 7
    assert quay.told() == [Wake.of(RANKER, "model version 7 is the newest complete one")]
    quay.look(RELIST_SECONDS)
    assert len(quay.told()) == 1
    assert not quay.state.untold


def test_an_incomplete_version_is_looked_at_every_minute_and_a_settled_model_every_ten(quay: Quay) -> None:
    quay.put("7", {SAVED_MODEL: FILES[SAVED_MODEL]})
    quay.look()
    for _ in range(3):
        assert quay.state.next_look_at == quay.clock.now() + timedelta(seconds=POLL_SECONDS)
        quay.look(POLL_SECONDS)
    quay.put("7", FILES)
    quay.look(DEBOUNCE_SECONDS)
    quay.look(POLL_SECONDS)
    assert quay.state.next_look_at == quay.clock.now() + timedelta(seconds=RELIST_SECONDS)


def test_what_has_not_changed_is_not_read_again(quay: Quay) -> None:
    quay.put("7")
    quay.settle()
    before = quay.bucket.calls["read_object"]
    quay.look(RELIST_SECONDS)
    assert quay.bucket.calls["read_object"] == before


def test_one_look_at_a_time_lists_and_a_wake_in_the_meantime_does_not(quay: Quay) -> None:
    quay.put("7")
    said: list[str] = []
    quay.bucket.before_read = lambda *_: said.append(reconcile_model(MODEL, "meanwhile", quay.ports))
    quay.look()
    assert said
    assert set(said) == {"not before 03:01:00 UTC"}
    assert quay.listings == 1
    assert quay.version("7").outcome == "incomplete"


def test_who_loses_the_race_for_the_listing_leaves_it_to_the_winner(quay: Quay) -> None:
    quay.put("7")

    class Interrupted(SqliteStore):
        """Somebody else looks just after the state was read."""

        won: str | None = None

        def read_model(self, model: ModelSubject) -> ModelSnapshot:
            snapshot = super().read_model(model)
            if self.won is None:
                self.won = ""
                self.won = reconcile_model(MODEL, "the other", ports)
            return snapshot

    store = Interrupted(":memory:", quay.clock)
    store.put_service(follower(), if_generation=None)
    ports = ModelPorts(store, quay.bucket, quay.bus, quay.clock)
    assert reconcile_model(MODEL, "test", ports) == "somebody else looks at the same time"
    assert (store.won or "").startswith("no complete version")
    assert quay.listings == 1
    store.close()


def test_a_look_that_died_is_followed_by_another_a_minute_later(quay: Quay) -> None:
    quay.put("7")

    def die(*_: str) -> None:
        raise KeyboardInterrupt

    quay.bucket.before_read = die
    with pytest.raises(KeyboardInterrupt):
        quay.look()
    quay.bucket.before_read = None
    assert quay.state.next_look_at == at(CLAIM_SECONDS)
    assert quay.look(CLAIM_SECONDS - 1).startswith("not before")
    assert quay.look(1).startswith("no complete version; 7 incomplete")


def test_followers_that_were_not_reached_are_told_by_the_next_look(quay: Quay) -> None:
    quay.put("7")
    quay.look()
    broken = replace(quay.ports, bus=Batches(fails=Retry("no bus")))
    quay.clock.advance(POLL_SECONDS)
    with pytest.raises(Retry, match="no bus"):
        reconcile_model(MODEL, "test", broken)
    assert (quay.state.latest, quay.state.untold, quay.state.next_look_at) == (7, True, quay.clock.now())
    quay.look(5)
    assert len(quay.told()) == 1
    assert not quay.state.untold
    assert quay.state.next_look_at == quay.state.not_before


def test_a_clock_that_was_far_ahead_does_not_keep_the_model_from_being_listed(quay: Quay) -> None:
    ahead = ModelState(uri=MODEL.uri, not_before=at(86_400), next_look_at=at(86_400))
    quay.store.commit_model(MODEL, token=None, state=ahead)
    quay.look()
    assert quay.listings == 1


def test_a_model_without_followers_is_not_listed_and_comes_to_rest() -> None:
    quay = Quay(followed=False)
    quay.put("7")
    assert quay.look() == "no service follows it: not listed"
    assert (quay.listings, quay.state.next_look_at, quay.state.listed_at) == (0, None, NOW)
    quay.store.close()


def test_the_first_service_that_follows_a_model_wakes_it() -> None:
    quay = Quay(followed=False)
    assert known_versions(MODEL.uri, quay.ports) == {}
    quay.look()
    assert known_versions(MODEL.uri, quay.ports) == {}
    assert quay.bus.wakes == [Wake.of_model(MODEL.uri, "a service follows it now")] * 2
    quay.store.close()


def test_a_model_that_is_looked_after_is_not_woken_by_being_asked_for(quay: Quay) -> None:
    quay.put("7")
    quay.settle()
    before = len(quay.bus.wakes)
    assert list(known_versions(MODEL.uri, quay.ports)) == [7]
    assert len(quay.bus.wakes) == before


def test_versions_that_cannot_be_read_are_none(quay: Quay) -> None:
    class Away(SqliteStore):
        def read_model(self, model: ModelSubject) -> ModelSnapshot:
            raise Retry("unavailable")

    store = Away(":memory:", quay.clock)
    assert known_versions(MODEL.uri, replace(quay.ports, store=store)) == {}
    store.close()


def test_a_state_that_cannot_be_read_is_parked_and_never_overwritten(quay: Quay) -> None:
    class Newer(SqliteStore):
        def read_model(self, model: ModelSubject) -> ModelSnapshot:
            return ModelSnapshot(state=None, token=None, unreadable="schema_version 2")

    store = Newer(":memory:", quay.clock)
    assert reconcile_model(MODEL, "test", replace(quay.ports, store=store)) == "unreadable: state"
    (entry,) = store.parked(limit=10)
    assert (entry.code, entry.subject) == (ParkCode.UNREADABLE_RECORD, MODEL.uri)
    assert "schema_version 2" in entry.reason
    assert quay.listings == 0
    store.close()


def test_a_refusal_keeps_what_is_known_and_the_bucket_is_left_alone_for_ten_minutes(quay: Quay) -> None:
    quay.put("7")
    quay.settle()
    quay.bucket.refusal = "HTTP 403: no"
    assert quay.look(RELIST_SECONDS) == "not listed: HTTP 403: no"
    assert (quay.state.latest, quay.state.list_error) == (7, "HTTP 403: no")
    before = quay.listings
    assert quay.look(REFUSED_SECONDS - 1).startswith("not before")
    assert quay.listings == before
    quay.bucket.refusal = None
    quay.look(1)
    assert quay.state.list_error is None


def test_a_file_that_cannot_be_read_now_leaves_its_version_as_it_is_known(quay: Quay) -> None:
    quay.put("7")
    quay.settle()
    quay.put("7", {"assets/vocabulary": b"x"})
    quay.put("8")

    def away(*_: str) -> None:
        quay.bucket.outage = "HTTP 503: later"

    quay.bucket.before_read = away
    quay.look(RELIST_SECONDS)
    assert (quay.state.latest, quay.version("7").outcome) == (7, "complete")
    assert (quay.state.list_error, len(quay.state.versions)) == ("HTTP 503: later", 1)
    assert quay.state.next_look_at == quay.clock.now() + timedelta(seconds=DEBOUNCE_SECONDS)
    quay.bucket.before_read, quay.bucket.outage = None, None
    quay.look(DEBOUNCE_SECONDS)
    assert [each.folder for each in quay.state.versions] == ["7", "8"]


def test_a_file_that_may_not_be_read_keeps_only_its_own_version_waiting(quay: Quay) -> None:
    quay.put("7")
    quay.put("8")

    def refuse(_: str, name: str) -> None:
        if name.startswith("ranker/8/"):
            raise Refused(f"reading {name}: HTTP 403: the key is disabled")

    quay.bucket.before_read = refuse
    quay.look()
    quay.look(REFUSED_SECONDS)
    assert quay.state.latest == 7
    assert "ranker/8/" in (quay.state.list_error or "")
    quay.bucket.before_read = None
    quay.look(REFUSED_SECONDS)
    quay.look(POLL_SECONDS)
    assert (quay.state.latest, quay.state.list_error) == (8, None)


def test_a_store_that_is_slow_leaves_the_listing_to_another_delivery(quay: Quay) -> None:
    class Slow(SqliteStore):
        def followers(self, model: ModelSubject) -> list[ServiceId]:
            quay.clock.advance(LOOK_WITHIN_SECONDS + 1)
            return [RANKER]

    store = Slow(":memory:", quay.clock)
    with pytest.raises(Retry, match="the store took longer than 30 s"):
        reconcile_model(MODEL, "test", replace(quay.ports, store=store))
    assert (quay.listings, store.read_model(MODEL).state) == (0, None)
    store.close()


def test_a_file_that_is_written_between_listing_and_read_is_looked_at_again(quay: Quay) -> None:
    quay.put("7")

    def write(bucket: str, name: str) -> None:
        quay.bucket.before_read = None
        quay.bucket.put(bucket, f"ranker/7/{SAVED_MODEL}", FILES[SAVED_MODEL])

    quay.bucket.before_read = write
    quay.look()
    assert (quay.version("7").outcome, quay.version("7").code) == ("incomplete", "not_read")
    quay.settle()
    assert quay.state.latest == 7


def test_a_version_that_is_deleted_is_forgotten_and_the_followers_look(quay: Quay) -> None:
    quay.put("6")
    quay.put("7")
    quay.settle()
    quay.bucket.delete_folder(BUCKET, "ranker/7")
    quay.look(RELIST_SECONDS)
    assert quay.state.complete == (6,)
    assert quay.told()[-1].reason == "model version 6 is the newest complete one"


def test_many_versions_are_judged_the_newest_first_a_bounded_number_at_a_time(quay: Quay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_look, "MAX_READS", 10)
    for number in range(1, 13):
        quay.put(str(number), SMALL)
    assert quay.look().endswith("2 versions are judged in the next look")
    assert [each.version for each in quay.state.versions] == list(range(3, 13))
    assert quay.state.next_look_at == quay.state.not_before
    quay.look(DEBOUNCE_SECONDS)
    assert [each.version for each in quay.state.versions] == list(range(1, 13))
    assert MAX_READS >= 4


def test_a_slow_bucket_ends_the_look_in_time_and_the_next_one_goes_on(quay: Quay) -> None:
    for number in range(1, 8):
        quay.put(str(number))

    def slow(*_: str) -> None:
        quay.clock.advance(9)

    quay.bucket.before_read = slow
    began = quay.clock.now()
    quay.look()
    assert (quay.clock.now() - began).total_seconds() < 50
    assert 0 < len(quay.state.versions) < 7
    for _ in range(10):
        quay.look(DEBOUNCE_SECONDS)
    assert len(quay.state.versions) == 7


def test_more_versions_than_are_kept_are_counted(quay: Quay) -> None:
    for number in range(1, KEPT_VERSIONS + 6):
        quay.put(str(number), SMALL)
    quay.settle()
    assert (len(quay.state.versions), quay.state.versions_not_kept, quay.state.latest) == (KEPT_VERSIONS, 5, KEPT_VERSIONS + 5)


@pytest.mark.parametrize("name", ["v7", "7.0", "-7", "latest", "9" * 20, "0" * 50 + "7", "\u0667", "7 "])
def test_a_folder_that_is_no_version_is_passed_over(quay: Quay, name: str) -> None:
    quay.put("6")
    quay.put(name)
    quay.settle()
    assert [each.folder for each in quay.state.versions] == ["6"]
    assert quay.state.latest == 6


@pytest.mark.parametrize("name", ["007", "+7", " 7"])
def test_a_second_folder_of_the_same_number_makes_the_version_ambiguous(quay: Quay, name: str) -> None:
    quay.put("7")
    quay.settle()
    quay.put(name)
    quay.look(RELIST_SECONDS)
    assert (quay.version("7").code, quay.state.latest) == ("ambiguous_version", None)
    quay.bucket.delete_folder(BUCKET, f"ranker/{name}")
    quay.look(RELIST_SECONDS)
    assert quay.state.latest == 7


@pytest.mark.parametrize("name", ["../../etc/passwd", "a//b", "./x", "a\nb", "\u202egnp.exe", "..", "x/"])
def test_a_hostile_name_in_a_version_is_refused_without_a_read(quay: Quay, name: str) -> None:
    quay.put("7", {**FILES, name: b"x"})
    quay.look()
    assert (quay.version("7").outcome, quay.version("7").code) == ("refused", "hostile_name")
    assert quay.bucket.calls["read_object"] == 0
    assert quay.version("7").reason.isprintable()


def test_a_folders_marker_alone_is_no_version(quay: Quay) -> None:
    quay.put("7", {"": b"", "variables/": b""})
    quay.look()
    assert quay.state.versions == ()


def test_a_version_of_too_many_files_is_refused_after_a_bounded_listing(quay: Quay) -> None:
    quay.put("6")
    for number in range(MAX_FILES + 100):
        quay.bucket.put(BUCKET, f"ranker/7/variables/{number}", b"")
    quay.look()
    assert (quay.version("7").code, quay.version("6").outcome) == ("too_many_files", "incomplete")
    assert "more than 20000 objects lie below gs://acme-models/ranker" in (quay.state.list_note or "")
    quay.look(POLL_SECONDS)
    assert quay.state.latest == 6


def test_of_a_hundred_thousand_objects_the_newest_versions_are_listed(quay: Quay) -> None:
    for version in range(1, 101):
        for number in range(1_000):
            quay.bucket.put(BUCKET, f"ranker/{version}/assets/{number}", b"")
    for version in (99, 100):
        quay.put(str(version))
    quay.look()
    assert (quay.bucket.calls["list_objects"], quay.bucket.calls["list_folders"]) == (1 + LISTED_SINGLY, 1)
    assert [each.version for each in quay.state.versions] == list(range(91, 101))
    assert quay.state.versions_not_kept == 90
    quay.look(POLL_SECONDS)
    assert quay.state.complete == (100, 99)


def test_versions_beyond_a_bounded_listing_stay_as_they_are_known(quay: Quay, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in range(1, 6):
        quay.put(str(version))
    quay.settle()
    monkeypatch.setattr(model_look, "MAX_OBJECTS", 10)
    monkeypatch.setattr(model_look, "LISTED_SINGLY", 2)
    quay.bucket.delete_folder(BUCKET, "ranker/3")
    quay.look(RELIST_SECONDS)
    assert quay.state.complete == (5, 4, 2, 1)


@pytest.mark.parametrize(
    ("files", "most_bytes"),
    [
        ({SAVED_MODEL: bytes(MAX_SAVED_MODEL_BYTES + 1)}, 0),
        ({SAVED_MODEL: b"\x12\x00" * 2_000_000}, 4_000_000),
        ({**FILES, WARM_UP: bytes(5_000_000)}, 2_000_000),
        ({**FILES, MANIFEST: b"[" * 5_000_000}, 2_000_000),
    ],
    ids=["too large to be looked into", "two million empty graphs", "a large warm-up file", "a large manifest"],
)
def test_a_bomb_costs_bounded_reads_and_never_serves(quay: Quay, files: Mapping[str, bytes], most_bytes: int) -> None:
    quay.put("7", files)
    quay.settle()
    assert quay.state.latest is None
    assert quay.bucket.read_bytes <= most_bytes * 2


def test_what_a_complete_version_will_not_do_well_is_noted(quay: Quay) -> None:
    fixed = signature({"x": tensor(DT_FLOAT, (1, 4))}, {"y": tensor(DT_FLOAT, (1, 2))})
    quay.put("7", {**FILES, SAVED_MODEL: saved_model(meta_graph(signatures={"serving_default": fixed}))})
    quay.settle()
    assert quay.state.latest == 7
    assert "first dimension of 1" in quay.version("7").notes[0]


def test_an_overwritten_version_is_noticed_by_its_checksum_and_size(quay: Quay) -> None:
    quay.put("7")
    quay.settle()
    quay.put("7", {SHARD: bytes(95) + b"\1"})
    quay.look(RELIST_SECONDS)
    assert (quay.version("7").outcome, quay.version("7").code) == ("refused", "overwritten")
    quay.put("7", {SHARD: FILES[SHARD], INDEX: FILES[INDEX]})
    quay.look(RELIST_SECONDS)
    assert quay.version("7").outcome == "complete"


def test_each_change_of_a_versions_standing_is_one_line_of_the_log(quay: Quay, capsys: pytest.CaptureFixture[str]) -> None:
    quay.put("7", {SAVED_MODEL: FILES[SAVED_MODEL]})
    for _ in range(40):
        quay.look(POLL_SECONDS)
    lines = [line for line in capsys.readouterr().out.splitlines() if "model version" in line]
    assert [("stalled" in line, '"WARNING"' in line) for line in lines] == [(False, False), (True, True)]
    assert INDEX in lines[1]
