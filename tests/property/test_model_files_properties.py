"""Versions of models: whatever of one is there, cut off or made up, there is a judgement, and a version that lacks something waits."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared.tfserving.model_files import MAX_PROBLEMS, Judgement, Outcome, judge
from shared.tfserving.model_files_index import VariablesIndex, VariablesIndexError, read_index
from shared.tfserving.model_files_listing import Listing, Sighting, StoredFile, reads_needed, sighting
from shared.tfserving.model_files_manifest import ManifestError, read_manifest
from shared.tfserving.model_files_names import NoPlace, Place, is_safe_name, named_alike, place, version_number
from shared.tfserving.model_files_problems import ProblemCode
from shared.tfserving.model_files_saved_model import SavedModelError, read_saved_model
from shared.tfserving.model_files_warm_up import WarmUpError, read_warm_up
from tests.support.saved_models import (
    COMPLETE,
    FINGERPRINT,
    INDEX,
    MANIFEST,
    SAVED_MODEL,
    UPLOADED,
    WARM_UP,
    Version,
    meta_graph,
    predict_log,
    record,
    saved_model,
    variables_index,
)

QUICK = settings(max_examples=60, deadline=None)
SHARDS = tuple(f"variables/variables.data-0000{at}-of-00003" for at in range(3))
EVERYTHING = Version(
    {
        SAVED_MODEL: saved_model(meta_graph(assets=("words.txt",))),
        INDEX: variables_index([(0, 0, 64), (1, 0, 8), (2, 0, 4)], num_shards=3),
        SHARDS[0]: bytes(64),
        SHARDS[1]: bytes(8),
        SHARDS[2]: bytes(4),
        "assets/words.txt": b"a\nb\n",
        "assets.extra/labels.json": b"{}",
        WARM_UP: record(predict_log()),
        FINGERPRINT: b"\x08\x01",
        "variables/": b"",
    }
)
NEEDED = frozenset({SAVED_MODEL, INDEX, *SHARDS, "assets/words.txt"})
"""What TF Serving needs of it: a version without its index loads, and fails at the first request."""


def check(judgement: Judgement) -> None:
    """What holds of every judgement."""
    assert (judgement.outcome is Outcome.COMPLETE) == (not judgement.problems)
    assert len(judgement.problems) <= MAX_PROBLEMS
    assert judgement.stalled_since is None or judgement.outcome is Outcome.INCOMPLETE
    for problem in (*judgement.problems, *judgement.notes):
        assert problem.text.isprintable()
        assert len(problem.text) < 1_500


@QUICK
@given(st.sets(st.sampled_from(sorted(EVERYTHING.files))))
@example(set(EVERYTHING.files))
@example(set(NEEDED))
@example(set())
def test_a_version_is_complete_when_all_that_is_needed_is_there(present: set[str]) -> None:
    judgement = EVERYTHING.without(*EVERYTHING.files.keys() - present).judged_settled()
    check(judgement)
    assert judgement.outcome is (Outcome.COMPLETE if NEEDED.issubset(present) else Outcome.INCOMPLETE)
    if SAVED_MODEL in present and INDEX in present:
        said = " ".join(problem.text for problem in judgement.problems)
        assert all((path in said) == (path not in present) for path in ("assets/words.txt", *SHARDS))


@QUICK
@given(st.permutations(sorted(EVERYTHING.files)), st.integers(0, 400), st.sets(st.integers(0, 9), max_size=4))
def test_an_upload_in_any_order_is_complete_only_after_its_last_needed_file(order: list[str], step_seconds: int, looks: set[int]) -> None:
    """Some of the looks are left out, as notifications are lost; the last one, after things have settled, finds it."""
    seen: Sighting | None = None
    at = UPLOADED
    for count in range(1, len(order) + 1):
        at += timedelta(seconds=step_seconds)
        if count in looks:
            continue
        judgement = EVERYTHING.without(*order[count:]).judged(at=at, previous=seen)
        seen = judgement.sighting
        check(judgement)
        assert judgement.outcome is not Outcome.REFUSED
        assert judgement.outcome is Outcome.INCOMPLETE or NEEDED.issubset(order[:count])
    last = EVERYTHING.judged(at=at, previous=seen)
    if last.look_again_at is not None:
        last = EVERYTHING.judged(at=last.look_again_at, previous=last.sighting)
    assert last.outcome is Outcome.COMPLETE


def cuts(path: str) -> Iterable[tuple[int, Judgement]]:
    """The version with this file cut off at every byte: as it is stored, and as it was read."""
    whole = EVERYTHING.files[path]
    seen = EVERYTHING.judged(at=UPLOADED).sighting
    for kept in range(len(whole)):
        yield kept, EVERYTHING.having({path: whole[:kept]}).judged_settled()
        as_read = EVERYTHING.judged(previous=seen, read={path: whole[:kept]})
        assert [problem.code for problem in as_read.problems] == [ProblemCode.CHANGED_WHILE_READ]


def test_an_index_cut_off_anywhere_is_never_complete() -> None:
    for kept, judgement in cuts(INDEX):
        check(judgement)
        assert judgement.outcome is Outcome.REFUSED, kept


def test_a_graph_cut_off_anywhere_is_never_complete() -> None:
    for kept, judgement in cuts(SAVED_MODEL):
        check(judgement)
        assert judgement.outcome is Outcome.REFUSED, kept


def test_a_warm_up_file_cut_off_inside_a_record_is_refused() -> None:
    for kept, judgement in cuts(WARM_UP):
        check(judgement)
        assert judgement.outcome is (Outcome.COMPLETE if kept < 12 else Outcome.REFUSED), kept


@QUICK
@given(st.sampled_from([INDEX, SAVED_MODEL, WARM_UP, MANIFEST]), st.binary(max_size=300), st.booleans())
def test_arbitrary_bytes_have_a_judgement(path: str, data: bytes, settled: bool) -> None:
    version = EVERYTHING.having({path: data})
    check(version.judged_settled() if settled else version.judged())


@QUICK
@given(st.sampled_from([INDEX, SAVED_MODEL, WARM_UP]), st.data())
def test_spoilt_bytes_have_a_judgement(path: str, data: st.DataObject) -> None:
    spoilt = bytearray(EVERYTHING.files[path])
    for _ in range(data.draw(st.integers(1, 4))):
        spoilt[data.draw(st.integers(0, len(spoilt) - 1))] = data.draw(st.integers(0, 255))
    check(EVERYTHING.having({path: bytes(spoilt)}).judged_settled())


@QUICK
@given(st.binary(max_size=400))
def test_readers_raise_only_their_own_error(data: bytes) -> None:
    for read, error in ((read_index, VariablesIndexError), (read_saved_model, SavedModelError), (read_manifest, ManifestError)):
        try:
            read(data)
        except error:
            continue
    try:
        read_warm_up(data, size_bytes=len(data) + 1)
    except WarmUpError:
        return


@QUICK
@given(st.data())
def test_a_spoilt_block_of_the_index_is_always_found(data: st.DataObject) -> None:
    whole = COMPLETE.files[INDEX]
    at = data.draw(st.integers(0, len(whole) - 48 - 1))
    try:
        read = read_index(whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :])
    except VariablesIndexError:
        return
    assert read == read_index(whole), "the block of meta blocks, which nobody reads"


entries = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2**40), st.integers(0, 2**40)), max_size=40)


@QUICK
@given(entries, st.integers(1, 9))
def test_the_index_says_where_the_values_end(values: list[tuple[int, int, int]], entries_in_block: int) -> None:
    ends = tuple(max((offset + size for shard, offset, size in values if shard == at), default=0) for at in range(3))
    assert read_index(variables_index(values, num_shards=3, entries_in_block=entries_in_block)) == VariablesIndex(3, ends, len(values))


texts = st.text(st.characters(), max_size=12)
names = st.lists(st.sampled_from(["7", "007", "models", "..", ".", "", "v1", "9" * 30]) | texts, max_size=6).map("/".join)


@QUICK
@given(names)
def test_a_place_is_the_objects_name_in_three_parts(name: str) -> None:
    found = place("bucket", name)
    if isinstance(found, NoPlace):
        assert found is not NoPlace.HOSTILE_NAME or not is_safe_name(name)
        return
    assert isinstance(found, Place)
    assert "/".join(part for part in (found.prefix, found.version_name, found.path) if part) == name
    assert found.version_name.isascii()
    assert found.version == version_number(found.version_name)
    assert not any(part.isascii() and part.isdigit() for part in found.prefix.split("/"))
    assert not {"", ".", ".."} & set(found.path.removesuffix("/").split("/"))


@QUICK
@given(st.integers(0, 2**63 - 1), st.integers(0, 5))
def test_zeros_in_front_change_no_number(number: int, zeros: int) -> None:
    name = "0" * zeros + str(number)
    assert version_number(name) == number
    assert named_alike(str(number), [name, str(number + 1)]) == ((name,) if zeros else ())


moments = st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 (hypothesis adds the zone)
files = st.builds(
    StoredFile,
    st.sampled_from([*EVERYTHING.files, MANIFEST, "a", "a/b"]) | texts,
    st.integers(0, 2**50),
    st.integers(0, 2**63 - 1),
    st.none() | st.sampled_from(["yZRlqg==", "", "no"]) | texts,
    moments,
)


@QUICK
@given(st.text(st.characters(), max_size=4) | st.just("42"), st.lists(files, max_size=12), moments, st.booleans())
def test_any_listing_has_a_judgement(name: str, stored: list[StoredFile], at: datetime, read: bool) -> None:
    listing = Listing.of(name, stored, at)
    given_bytes = b"" if read else None
    before = sighting(replace(listing, listed_at=at - timedelta(hours=1)), None)
    for previous in (None, before):
        check(
            judge(
                listing,
                index=given_bytes,
                saved_model=given_bytes,
                manifest=given_bytes,
                warm_up_head=given_bytes,
                now=at,
                previous=previous,
                completed=previous,
                siblings=("42", "042", name),
            )
        )
    wanted = {read.path for read in reads_needed(listing)}
    assert wanted <= {INDEX, SAVED_MODEL, MANIFEST, WARM_UP} & {file.path for file in listing.files}
