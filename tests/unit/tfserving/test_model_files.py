"""What is made of a version in a bucket: complete, incomplete with what is missing, or refused with the reason."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.tfserving.model_files import MAX_PROBLEMS, SETTLE_SECONDS, STALL_SECONDS, Judgement, Outcome, judge
from shared.tfserving.model_files_listing import MAX_FILES, MAX_INDEX_BYTES, MAX_MANIFEST_BYTES, MAX_SAVED_MODEL_BYTES, Listing, StoredFile
from shared.tfserving.model_files_problems import ProblemCode
from tests.support.saved_models import (
    COMPLETE,
    FINGERPRINT,
    INDEX,
    LISTED,
    MANIFEST,
    SAVED_MODEL,
    SHARD,
    UPLOADED,
    WARM_UP,
    WITHOUT_VARIABLES,
    Version,
    gcs_crc32c,
    meta_graph,
    predict_log,
    record,
    saved_model,
    table,
    variables_index,
)

SAVED_MODEL_TEXT = "saved_model.pbtxt"
COMPRESSED = table([(b"", b"\x08\x02")], compression=1)


def codes(judgement: Judgement) -> list[ProblemCode]:
    return [problem.code for problem in judgement.problems]


def notes(judgement: Judgement) -> list[ProblemCode]:
    return [note.code for note in judgement.notes]


def incomplete(version: Version, code: ProblemCode) -> str:
    """The only problem's text."""
    judgement = version.judged_settled()
    assert judgement.outcome is Outcome.INCOMPLETE
    (problem,) = judgement.problems
    assert problem.code is code
    return problem.text


def refused(version: Version, code: ProblemCode) -> str:
    """The only problem's text; before the listing has settled, the same is only incomplete."""
    judgement = version.judged_settled()
    assert judgement.outcome is Outcome.REFUSED
    (problem,) = judgement.problems
    assert problem.code is code
    unsettled = version.judged()
    assert (unsettled.outcome, unsettled.problems) == (Outcome.INCOMPLETE, judgement.problems)
    return problem.text


def manifest_of(files: Mapping[str, bytes]) -> bytes:
    return json.dumps({"files": {path: {"size": len(data), "crc32c": gcs_crc32c(data)} for path, data in files.items()}}).encode()


def test_a_complete_version() -> None:
    judgement = COMPLETE.judged_settled()
    assert judgement.outcome is Outcome.COMPLETE
    assert judgement.version == 42
    assert judgement.size_bytes == sum(len(data) for data in COMPLETE.files.values())
    assert judgement.structure is not None
    assert judgement.structure.has_variables
    assert judgement.problems == judgement.notes == ()
    assert judgement.stalled_since is judgement.look_again_at is None


def test_without_fingerprint_and_without_variables() -> None:
    assert COMPLETE.without(FINGERPRINT).judged_settled().outcome is Outcome.COMPLETE
    assert WITHOUT_VARIABLES.judged_settled().outcome is Outcome.COMPLETE


def test_leading_zeros_are_the_same_number() -> None:
    assert replace(COMPLETE, name="0042").judged_settled().version == 42


def test_no_saved_model() -> None:
    text = incomplete(COMPLETE.without(SAVED_MODEL), ProblemCode.SAVED_MODEL_MISSING)
    assert "NOT_FOUND: Could not find SavedModel .pb or .pbtxt at supplied export directory path" in text


def test_an_empty_folder() -> None:
    judgement = Version({}).judged_settled()
    assert (judgement.outcome, codes(judgement)) == (Outcome.INCOMPLETE, [ProblemCode.SAVED_MODEL_MISSING])
    assert judgement.stalled_since is judgement.look_again_at is None


@pytest.mark.parametrize("gone", [(INDEX,), (INDEX, SHARD)])
def test_a_graph_with_variables_and_no_index_waits_though_tf_serving_would_load_it(gone: tuple[str, ...]) -> None:
    text = incomplete(COMPLETE.without(*gone), ProblemCode.INDEX_MISSING)
    assert text == (
        "variables/variables.index is not there, and the graph has variables. TF Serving would load the version all the same and fail "
        "every request with FAILED_PRECONDITION: Could not find variable. Finish the upload."
    )


def test_data_files_before_their_index() -> None:
    text = incomplete(WITHOUT_VARIABLES.having({SHARD: b""}), ProblemCode.INDEX_MISSING)
    assert "variables/variables.data-00000-of-00001 is there" in text


def test_a_data_file_is_missing() -> None:
    text = incomplete(COMPLETE.without(SHARD), ProblemCode.SHARD_MISSING)
    assert text.startswith("variables/variables.data-00000-of-00001: not there, and named by variables/variables.index. ")


def test_many_data_files_are_missing() -> None:
    index = variables_index([(at, 0, 4) for at in range(1_000)], num_shards=1_000)
    text = incomplete(COMPLETE.without(SHARD).having({INDEX: index}), ProblemCode.SHARD_MISSING)
    assert text.startswith("variables/variables.data-00000-of-01000, ")
    assert "variables.data-00004-of-01000 and 995 more: not there" in text


def test_a_data_file_of_another_set_is_not_the_one() -> None:
    other = {"variables/variables.data-00000-of-00002": bytes(96)}
    incomplete(COMPLETE.without(SHARD).having(other), ProblemCode.SHARD_MISSING)


def test_a_data_file_is_cut_off() -> None:
    text = refused(COMPLETE.having({SHARD: bytes(95)}), ProblemCode.SHARD_TOO_SHORT)
    assert "has 95 bytes; variables/variables.index places values up to byte 96 in it" in text
    assert "OUT_OF_RANGE: Read less bytes than requested" in text


def test_the_index_is_cut_off() -> None:
    text = refused(COMPLETE.having({INDEX: variables_index()[:-1]}), ProblemCode.INDEX_DAMAGED)
    assert "DATA_LOSS: not an sstable (bad magic number)" in text


def test_the_graph_is_cut_off() -> None:
    text = refused(COMPLETE.having({SAVED_MODEL: COMPLETE.files[SAVED_MODEL][:-1]}), ProblemCode.SAVED_MODEL_DAMAGED)
    assert "no whole protobuf message" in text
    assert "Publish the version again, under a new number." in text


def test_a_graph_for_something_else_and_an_empty_file() -> None:
    text = refused(COMPLETE.having({SAVED_MODEL: saved_model(meta_graph(tags=("train",)))}), ProblemCode.NO_SERVING_GRAPH)
    assert "NOT_FOUND: Could not find meta graph def matching supplied tags: { serve }. There: { train }" in text
    refused(COMPLETE.having({SAVED_MODEL: b""}), ProblemCode.NO_SERVING_GRAPH)


def test_the_text_form_is_taken_unread() -> None:
    version = COMPLETE.without(SAVED_MODEL).having({SAVED_MODEL_TEXT: b"saved_model_schema_version: 1"})
    judgement = version.judged_settled()
    assert (judgement.outcome, notes(judgement), judgement.structure) == (Outcome.COMPLETE, [ProblemCode.STRUCTURE_UNKNOWN], None)
    text = incomplete(version.without(INDEX, SHARD), ProblemCode.INDEX_MISSING)
    assert "it is not known that the graph has no variables" in text


def test_beside_the_binary_form_the_text_form_is_nothing() -> None:
    assert COMPLETE.having({SAVED_MODEL_TEXT: b"{"}).judged_settled().notes == ()


def test_a_graph_too_large_to_be_looked_into_is_not_refused() -> None:
    version = replace(COMPLETE, listed_sizes={SAVED_MODEL: MAX_SAVED_MODEL_BYTES + 1})
    judgement = version.judged_settled()
    assert (judgement.outcome, notes(judgement)) == (Outcome.COMPLETE, [ProblemCode.STRUCTURE_UNKNOWN])
    assert f"it has {MAX_SAVED_MODEL_BYTES + 1} bytes" in judgement.notes[0].text
    incomplete(version.without(INDEX, SHARD), ProblemCode.INDEX_MISSING)


def test_a_graph_as_large_as_is_looked_into_is_read() -> None:
    incomplete(replace(COMPLETE, listed_sizes={SAVED_MODEL: MAX_SAVED_MODEL_BYTES}), ProblemCode.CHANGED_WHILE_READ)


def test_a_graph_of_too_many_parts_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.tfserving.model_files_saved_model.MAX_FIELDS", 3)
    judgement = COMPLETE.judged_settled()
    assert (judgement.outcome, notes(judgement)) == (Outcome.COMPLETE, [ProblemCode.STRUCTURE_UNKNOWN])
    assert "it has too many parts" in judgement.notes[0].text


def test_a_manifest_vouches_that_there_is_no_index() -> None:
    large = replace(WITHOUT_VARIABLES, listed_sizes={SAVED_MODEL: MAX_SAVED_MODEL_BYTES + 1})
    said = {"files": {SAVED_MODEL: {"size": MAX_SAVED_MODEL_BYTES + 1}}}
    assert large.having({MANIFEST: json.dumps(said).encode()}).judged_settled().outcome is Outcome.COMPLETE


@pytest.mark.parametrize("large", [True, False])
def test_an_index_that_is_not_looked_into(large: bool) -> None:
    two = {f"variables/variables.data-0000{at}-of-00002": b"" for at in range(2)}
    version = COMPLETE.without(SHARD).having({INDEX: COMPRESSED, **two})
    if large:
        version = replace(version, listed_sizes={INDEX: MAX_INDEX_BYTES + 1})
    judgement = version.judged_settled()
    assert (judgement.outcome, notes(judgement)) == (Outcome.COMPLETE, [ProblemCode.INDEX_UNKNOWN])

    without_one = version.without("variables/variables.data-00001-of-00002")
    assert "variables.data-00001-of-00002: not there" in incomplete(without_one, ProblemCode.SHARD_MISSING)
    without_any = version.without(*two)
    assert "variables.data-00000-of-00001: not there" in incomplete(without_any, ProblemCode.SHARD_MISSING)


def test_what_the_graph_opens_must_be_there() -> None:
    version = COMPLETE.having({SAVED_MODEL: saved_model(meta_graph(assets=("words.txt", "labels.txt")))})
    text = incomplete(version.having({"assets/labels.txt": b""}), ProblemCode.ASSET_MISSING)
    assert text.startswith("assets/words.txt: not there, and the graph in saved_model.pb opens it.")
    assert version.having({"assets/labels.txt": b"", "assets/words.txt": b""}).judged_settled().outcome is Outcome.COMPLETE


def test_all_that_is_missing_is_named_at_once() -> None:
    judgement = Version({SAVED_MODEL: saved_model(meta_graph(assets=("a",)))}).judged_settled()
    assert codes(judgement) == [ProblemCode.INDEX_MISSING, ProblemCode.ASSET_MISSING]


def test_damage_is_refused_whatever_else_is_missing() -> None:
    judgement = COMPLETE.without(SHARD).having({SAVED_MODEL: b"\xff"}).judged_settled()
    assert judgement.outcome is Outcome.REFUSED
    assert codes(judgement) == [ProblemCode.SAVED_MODEL_DAMAGED, ProblemCode.SHARD_MISSING]


class TestSettling:
    def test_a_listing_seen_once_waits(self) -> None:
        judgement = COMPLETE.judged(at=LISTED)
        assert (judgement.outcome, codes(judgement)) == (Outcome.INCOMPLETE, [ProblemCode.NOT_SETTLED])
        assert judgement.look_again_at == LISTED + timedelta(seconds=SETTLE_SECONDS)
        assert judgement.stalled_since is None

    def test_it_is_complete_when_nothing_has_changed_for_the_time(self) -> None:
        first = COMPLETE.judged(at=LISTED)
        early = COMPLETE.judged(at=LISTED + timedelta(seconds=SETTLE_SECONDS - 1), previous=first.sighting)
        assert (early.outcome, early.look_again_at) == (Outcome.INCOMPLETE, first.look_again_at)
        later = COMPLETE.judged(at=LISTED + timedelta(seconds=SETTLE_SECONDS), previous=early.sighting)
        assert later.outcome is Outcome.COMPLETE

    @pytest.mark.parametrize("change", [{"more": b""}, {SHARD: bytes(97)}])
    def test_any_change_begins_anew(self, change: dict[str, bytes]) -> None:
        first = COMPLETE.judged(at=LISTED)
        later = COMPLETE.having(change).judged(at=LISTED + timedelta(hours=1), previous=first.sighting)
        assert (later.outcome, codes(later)) == (Outcome.INCOMPLETE, [ProblemCode.NOT_SETTLED])

    def test_a_file_written_again_begins_anew(self) -> None:
        first = COMPLETE.judged(at=LISTED)
        again = replace(COMPLETE, generations={SHARD: 2})
        assert again.judged(at=LISTED + timedelta(hours=1), previous=first.sighting).outcome is Outcome.INCOMPLETE

    def test_damage_seen_once_waits_too(self) -> None:
        judgement = COMPLETE.having({SHARD: b""}).judged(at=LISTED)
        assert (judgement.outcome, codes(judgement)) == (Outcome.INCOMPLETE, [ProblemCode.SHARD_TOO_SHORT])
        assert judgement.look_again_at == LISTED + timedelta(seconds=SETTLE_SECONDS)


class TestStalling:
    def test_what_lacks_something_for_long_is_stalled_since_its_last_file(self) -> None:
        at = UPLOADED + timedelta(seconds=STALL_SECONDS)
        judgement = COMPLETE.without(SHARD).judged(at=at, previous=COMPLETE.without(SHARD).judged(at=LISTED).sighting)
        assert (judgement.outcome, judgement.stalled_since, judgement.look_again_at) == (Outcome.INCOMPLETE, UPLOADED, None)

    def test_until_then_it_is_looked_at_again_in_time(self) -> None:
        version = COMPLETE.without(SHARD)
        judgement = version.judged(at=LISTED, previous=version.judged(at=UPLOADED).sighting)
        assert (judgement.stalled_since, judgement.look_again_at) == (None, UPLOADED + timedelta(seconds=STALL_SECONDS))

    def test_an_unsettled_one_is_looked_at_when_it_has_settled(self) -> None:
        assert COMPLETE.without(SHARD).judged(at=LISTED).look_again_at == LISTED + timedelta(seconds=SETTLE_SECONDS)

    def test_what_only_settles_is_not_stalled(self) -> None:
        assert COMPLETE.judged(at=UPLOADED + timedelta(days=1)).stalled_since is None

    def test_what_is_refused_is_not_stalled(self) -> None:
        version = COMPLETE.having({INDEX: b""}).without(SHARD)
        judgement = version.judged(at=UPLOADED + timedelta(days=1), previous=version.judged(at=UPLOADED).sighting)
        assert (judgement.outcome, judgement.stalled_since) == (Outcome.REFUSED, None)


class TestManifest:
    def test_what_it_proves_needs_no_settling(self) -> None:
        version = COMPLETE.having({MANIFEST: manifest_of(COMPLETE.files)})
        assert version.judged().outcome is Outcome.COMPLETE

    def test_one_that_does_not_name_the_graph_proves_nothing(self) -> None:
        version = COMPLETE.having({MANIFEST: manifest_of({SHARD: COMPLETE.files[SHARD]})})
        assert codes(version.judged()) == [ProblemCode.NOT_SETTLED]

    def test_it_names_what_is_to_come(self) -> None:
        version = COMPLETE.having({MANIFEST: manifest_of({**COMPLETE.files, "assets.extra/labels.json": b"{}"})})
        text = incomplete(version, ProblemCode.MANIFEST_FILE_MISSING)
        assert text.startswith("assets.extra/labels.json: not there, and named by trimtab-manifest.json.")

    def test_a_file_of_another_size(self) -> None:
        version = COMPLETE.having({MANIFEST: manifest_of(COMPLETE.files), FINGERPRINT: b""})
        assert "it has 0 bytes, not 2" in refused(version, ProblemCode.MANIFEST_MISMATCH)

    def test_a_file_of_another_checksum(self) -> None:
        version = COMPLETE.having({MANIFEST: manifest_of(COMPLETE.files), SHARD: bytes(95) + b"x"})
        text = refused(version, ProblemCode.MANIFEST_MISMATCH)
        assert f"its crc32c is {gcs_crc32c(bytes(95) + b'x')}, not {gcs_crc32c(bytes(96))}" in text

    def test_a_checksum_that_nobody_knows_is_not_compared(self) -> None:
        other = COMPLETE.having({MANIFEST: manifest_of({**COMPLETE.files, SHARD: bytes(95) + b"x"})})
        assert codes(other.judged()) == [ProblemCode.MANIFEST_MISMATCH]
        assert other.judged(has_checksums=False).outcome is Outcome.COMPLETE
        sizes = {"files": {path: {"size": len(data)} for path, data in COMPLETE.files.items()}}
        assert COMPLETE.having({MANIFEST: json.dumps(sizes).encode()}).judged().outcome is Outcome.COMPLETE

    def test_no_manifest_at_all(self) -> None:
        text = refused(COMPLETE.having({MANIFEST: b"{}"}), ProblemCode.MANIFEST_UNREADABLE)
        assert "Correct or delete it." in text
        refused(replace(COMPLETE.having({MANIFEST: b""}), listed_sizes={MANIFEST: MAX_MANIFEST_BYTES + 1}), ProblemCode.MANIFEST_UNREADABLE)


class TestWarmUp:
    def test_records_for_signatures_that_are_there(self) -> None:
        assert COMPLETE.having({WARM_UP: record(predict_log())}).judged_settled().outcome is Outcome.COMPLETE

    def test_a_bad_record_would_fail_the_load(self) -> None:
        text = refused(COMPLETE.having({WARM_UP: b"not a record at all"}), ProblemCode.WARM_UP_DAMAGED)
        assert "corrupted record at 0. Please verify your warmup data is in TFRecord format." in text

    def test_a_signature_that_is_not_there(self) -> None:
        text = refused(COMPLETE.having({WARM_UP: record(predict_log("by_text"))}), ProblemCode.WARM_UP_SIGNATURE_UNKNOWN)
        assert 'Serving signature key "by_text" not found. The graph has serving_default.' in text

    def test_of_a_graph_that_is_not_known_no_signature_is_missed(self) -> None:
        version = replace(COMPLETE, listed_sizes={SAVED_MODEL: MAX_SAVED_MODEL_BYTES + 1})
        assert version.having({WARM_UP: record(predict_log("by_text"))}).judged_settled().outcome is Outcome.COMPLETE

    def test_bytes_that_tf_serving_takes_for_the_end(self) -> None:
        judgement = COMPLETE.having({WARM_UP: record(predict_log()) + b"\x01"}).judged_settled()
        assert (judgement.outcome, notes(judgement)) == (Outcome.COMPLETE, [ProblemCode.WARM_UP_CUT])

    def test_only_the_head_of_a_large_file_is_judged(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in ("model_files", "model_files_listing"):
            monkeypatch.setattr(f"shared.tfserving.{module}.WARM_UP_HEAD_BYTES", 100)
        version = COMPLETE.having({WARM_UP: record(predict_log()) + record(bytes(100)) + b"no record"})
        judgement = version.judged_settled()
        assert (judgement.outcome, notes(judgement)) == (Outcome.COMPLETE, [])


@pytest.mark.parametrize("path", [INDEX, SAVED_MODEL, MANIFEST, WARM_UP])
class TestReads:
    VERSION = COMPLETE.having({MANIFEST: manifest_of(COMPLETE.files), WARM_UP: record(predict_log())})

    def only_problem(self, path: str, data: bytes | None) -> ProblemCode:
        judgement = self.VERSION.judged(previous=self.VERSION.judged(at=UPLOADED).sighting, read={path: data})
        assert judgement.outcome is Outcome.INCOMPLETE
        (problem,) = judgement.problems
        assert problem.path == path
        assert judgement.look_again_at == LISTED + timedelta(seconds=SETTLE_SECONDS), "another read may go well"
        return problem.code

    def test_what_could_not_be_read_is_never_complete(self, path: str) -> None:
        assert self.only_problem(path, None) is ProblemCode.NOT_READ

    @pytest.mark.parametrize("data", [b"", bytes(5_000)])
    def test_what_was_read_must_be_what_was_listed(self, path: str, data: bytes) -> None:
        assert self.only_problem(path, data) is ProblemCode.CHANGED_WHILE_READ


class TestRefusedAtOnce:
    """Nothing that is still to come puts these right."""

    @pytest.mark.parametrize("name", ["v1", "1.0", "1-tmp", "-1", "+1", " 1", "", "9223372036854775808", "\u0661"])
    def test_no_number(self, name: str) -> None:
        judgement = replace(COMPLETE, name=name).judged()
        assert (judgement.outcome, codes(judgement)) == (Outcome.REFUSED, [ProblemCode.NOT_A_VERSION])
        assert "Did you forget to name your leaf directory as a number (eg. '/1/')?" in judgement.problems[0].text

    def test_two_folders_of_one_number(self) -> None:
        judgement = COMPLETE.judged(siblings=("41", "42", "042", "43"))
        assert (judgement.outcome, codes(judgement)) == (Outcome.REFUSED, [ProblemCode.AMBIGUOUS_VERSION])
        assert judgement.problems[0].text.startswith('"42" and "042" are the same version to TF Serving')
        assert COMPLETE.judged_settled().outcome is Outcome.COMPLETE

    def test_too_many_files(self) -> None:
        files = tuple(StoredFile(f"{at}", 1, 1, None, UPLOADED) for at in range(MAX_FILES + 1))
        judgement = judge(
            Listing("42", files, LISTED), index=None, saved_model=None, manifest=None, warm_up_head=None, now=LISTED, previous=None
        )
        assert (judgement.outcome, codes(judgement)) == (Outcome.REFUSED, [ProblemCode.TOO_MANY_FILES])

    @pytest.mark.parametrize("path", ["../43/saved_model.pb", "a//b", "/etc/passwd", "a/./b", "a\nb", "a/\x1b[2J", "folder/", "x" * 1_025])
    def test_a_name_that_is_no_path(self, path: str) -> None:
        judgement = COMPLETE.having({path: b"x"}).judged_settled()
        assert (judgement.outcome, codes(judgement)) == (Outcome.REFUSED, [ProblemCode.HOSTILE_NAME])
        assert judgement.problems[0].text.isprintable()
        assert len(judgement.problems[0].text) < 500

    def test_many_such_names_are_counted(self) -> None:
        judgement = COMPLETE.having({f"../{at}": b"x" for at in range(100)}).judged_settled()
        assert (len(judgement.problems), judgement.problems_left_out) == (MAX_PROBLEMS, 100 - MAX_PROBLEMS)

    def test_overwritten_after_it_was_complete(self) -> None:
        completed = COMPLETE.judged_settled().sighting
        changed = replace(COMPLETE.having({SHARD: bytes(95) + b"x"}), generations={SHARD: 2})
        judgement = changed.judged(previous=completed, completed=completed)
        assert (judgement.outcome, codes(judgement)) == (Outcome.REFUSED, [ProblemCode.OVERWRITTEN])
        assert judgement.problems[0].text == (
            "variables/variables.data-00000-of-00001: overwritten in place after the version was complete. Running instances keep the old "
            "content, new ones load the new: the same version answers differently. Publish under a new number."
        )

    def test_the_same_bytes_written_again_are_no_change(self) -> None:
        completed = COMPLETE.judged_settled().sighting
        again = replace(COMPLETE, generations=dict.fromkeys(COMPLETE.files, 2))
        judgement = again.judged(at=LISTED, previous=again.judged(at=UPLOADED).sighting, completed=completed)
        assert judgement.outcome is Outcome.COMPLETE

    def test_a_file_more_is_no_change_and_a_file_less_is_missing(self) -> None:
        completed = COMPLETE.judged_settled().sighting
        assert COMPLETE.having({"README.md": b"#"}).judged(previous=completed, completed=completed).outcome is Outcome.COMPLETE
        assert codes(COMPLETE.without(INDEX).judged(completed=completed)) == [ProblemCode.INDEX_MISSING]
