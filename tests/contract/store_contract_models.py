"""What `ports.UploadStore` and `ports.ModelStore` promise, as tests that every implementation runs."""

from datetime import timedelta

import pytest

from shared.errors import TokenConflict
from shared.records.facts import UploadFact
from shared.records.model import ModelSnapshot, ModelState, VersionState
from shared.records.model_subject import ModelSubject
from tests.contract.store_contract import (
    FAR_AHEAD,
    LONG_AGO,
    NOW,
    RANKER,
    SCOPED,
    Harness,
    all_facts,
    document,
    parked,
    service_number,
    serving,
    state,
    together,
)
from tests.contract.store_contract_commands import command, put

RANKER_MODEL = ModelSubject(uri="gs://acme-models/ranker")
OTHER_MODEL = ModelSubject(uri="gs://acme-models/ranker-b")
ODD_NAMES = [
    "7/saved_model.pb",
    "../7/saved_model.pb",
    "a//7/x",
    "é🦀/7/\n",
    "__x__/7/.",
    "7/..",
    "7/" + "x" * 1_022,
    "🦀" * 200 + "/7/" + "y" * 221,
    " /7/ ",
    "7/a#1",
]


def upload(name: str = "ranker/7/saved_model.pb", generation: int = 1, **fields: object) -> UploadFact:
    return UploadFact.model_validate({"bucket": "acme-models", "name": name, "generation": generation, "event": "finalize", **fields})


def model_state(model: ModelSubject = RANKER_MODEL, **fields: object) -> ModelState:
    return ModelState.model_validate({"uri": model.uri, **fields})


def model_number(number: int) -> ModelSubject:
    return ModelSubject(uri=f"gs://acme-models/model-{number:04d}")


class ModelContract:
    """The promises."""

    def test_an_empty_store_knows_no_model(self, harness: Harness) -> None:
        assert harness.models.read_model(RANKER_MODEL) == ModelSnapshot(state=None, token=None)
        assert harness.models.followers(RANKER_MODEL) == []
        assert list(harness.models.due_models(now=FAR_AHEAD)) == []
        assert list(harness.models.unlisted_models(since=LONG_AGO, until=FAR_AHEAD)) == []

    # uploads

    def test_an_upload_is_created_once_for_its_model(self, harness: Harness) -> None:
        assert harness.models.create_upload(RANKER_MODEL, upload()) == "created"
        assert harness.models.create_upload(RANKER_MODEL, upload(size_bytes=5)) == "duplicate"
        assert harness.models.create_upload(RANKER_MODEL, upload(generation=2)) == "created"
        assert harness.models.create_upload(OTHER_MODEL, upload()) == "created"

    def test_what_happens_to_an_object_later_is_another_fact(self, harness: Harness) -> None:
        facts = [
            upload(),
            upload(event="metadataUpdate", metageneration=2),
            upload(event="metadataUpdate", metageneration=3),
            upload(event="delete"),
        ]
        assert [harness.models.create_upload(RANKER_MODEL, fact) for fact in facts] == ["created"] * 4
        assert [harness.models.create_upload(RANKER_MODEL, fact) for fact in facts] == ["duplicate"] * 4

    def test_of_racing_creators_exactly_one_creates(self, harness: Harness) -> None:
        for number in range(5):
            fact = upload(generation=number)
            answers = together([lambda f=fact: harness.models.create_upload(RANKER_MODEL, f)] * 8)  # type: ignore[misc]
            assert sorted(answers) == ["created"] + ["duplicate"] * 7

    def test_odd_object_names_are_all_kept_apart(self, harness: Harness) -> None:
        facts = [upload(name) for name in ODD_NAMES]
        models = [ModelSubject.of_object(fact.bucket, fact.name) for fact in facts]
        pairs = [(model, fact) for model, fact in zip(models, facts, strict=True) if model is not None]
        assert len(pairs) == len(ODD_NAMES)
        assert [harness.models.create_upload(*pair) for pair in pairs] == ["created"] * len(pairs)
        assert [harness.models.create_upload(*pair) for pair in pairs] == ["duplicate"] * len(pairs)
        assert set(harness.models.unlisted_models(since=LONG_AGO, until=FAR_AHEAD)) == {model for model, _ in pairs}

    def test_an_upload_is_no_fact_of_any_service(self, harness: Harness) -> None:
        harness.models.create_upload(RANKER_MODEL, upload())
        assert list(harness.store.unfolded_services(since=LONG_AGO, until=FAR_AHEAD)) == []
        assert all_facts(harness.store, RANKER) == []

    def test_what_uploads_park_is_among_the_parked(self, harness: Harness) -> None:
        harness.models.park(parked("upload:1", "first"))
        harness.models.park(parked("upload:1", "second"))
        assert harness.store.parked(limit=5) == [parked("upload:1", "first")]

    # the state

    def test_a_commit_is_read_back_as_it_was(self, harness: Harness) -> None:
        version = VersionState(
            version=7,
            folder="0007",
            outcome="incomplete",
            reason="é",
            missing=("saved_model.pb",),
            first_seen_at=NOW,
            changed_at=NOW,
            judged_at=NOW,
        )
        wanted = model_state(versions=(version,), listed_at=NOW, next_look_at=FAR_AHEAD)
        token = harness.models.commit_model(RANKER_MODEL, token=None, state=wanted)
        assert harness.models.read_model(RANKER_MODEL) == ModelSnapshot(state=wanted, token=token)
        assert harness.models.read_model(OTHER_MODEL) == ModelSnapshot(state=None, token=None)

    def test_a_commit_with_a_stale_token_writes_nothing(self, harness: Harness) -> None:
        first = harness.models.commit_model(RANKER_MODEL, token=None, state=model_state(versions_not_kept=1))
        second = harness.models.commit_model(RANKER_MODEL, token=first, state=model_state(versions_not_kept=2))
        assert first != second
        for stale in (first, None, "nonsense", "", "999999", "2026-03-01T12:00:00Z"):
            with pytest.raises(TokenConflict):
                harness.models.commit_model(RANKER_MODEL, token=stale, state=model_state(versions_not_kept=3))
        assert harness.models.read_model(RANKER_MODEL) == ModelSnapshot(state=model_state(versions_not_kept=2), token=second)

    def test_a_token_of_an_absent_state_is_a_conflict(self, harness: Harness) -> None:
        token = harness.models.commit_model(OTHER_MODEL, token=None, state=model_state(OTHER_MODEL))
        with pytest.raises(TokenConflict):
            harness.models.commit_model(RANKER_MODEL, token=token, state=model_state())
        assert harness.models.read_model(RANKER_MODEL).token is None

    def test_a_commit_that_changes_nothing_takes_the_token_all_the_same(self, harness: Harness) -> None:
        first = harness.models.commit_model(RANKER_MODEL, token=None, state=model_state())
        assert harness.models.commit_model(RANKER_MODEL, token=first, state=model_state()) != first
        with pytest.raises(TokenConflict):
            harness.models.commit_model(RANKER_MODEL, token=first, state=model_state())

    def test_of_racing_commits_exactly_one_wins_each_token(self, harness: Harness) -> None:
        def commit(number: int, token: str | None) -> bool:
            try:
                harness.models.commit_model(RANKER_MODEL, token=token, state=model_state(versions_not_kept=number))
            except TokenConflict:
                return False
            return True

        for _ in range(3):
            token = harness.models.read_model(RANKER_MODEL).token
            assert sum(together([lambda n=n, t=token: commit(n, t) for n in range(6)])) == 1  # type: ignore[misc]

    @pytest.mark.parametrize("record", [{"schema_version": 2, "new": "x" * 2_000}, "text", None, [1], {"uri": 5}])
    def test_an_unreadable_state_is_named_and_never_overwritten(self, harness: Harness, record: object) -> None:
        harness.write_raw("model", RANKER, RANKER_MODEL.uri, record)
        snapshot = harness.models.read_model(RANKER_MODEL)
        assert (snapshot.state, snapshot.token) == (None, None)
        assert snapshot.unreadable
        with pytest.raises(TokenConflict):
            harness.models.commit_model(RANKER_MODEL, token=snapshot.token, state=model_state())
        assert harness.models.read_model(RANKER_MODEL) == snapshot

    # followers

    def test_followers_are_the_services_whose_specs_name_the_uri(self, harness: Harness) -> None:
        uris = {
            0: RANKER_MODEL.uri,
            1: OTHER_MODEL.uri,
            2: RANKER_MODEL.uri,
            3: f"{RANKER_MODEL.uri}/b",
            4: "gs://acme-models-b/ranker",
        }
        for number, uri in uris.items():
            service = service_number(number)
            harness.store.put_service(document(service, serving=serving(uri)), if_generation=None)
        harness.store.put_service(document(service_number(5)), if_generation=None)
        image = serving("/models/ranker", model={"name": "ranker", "uri": "/models/ranker", "source": "image"})
        harness.store.put_service(document(service_number(6), serving=image), if_generation=None)
        assert harness.models.followers(RANKER_MODEL) == [service_number(0), service_number(2)]
        assert harness.models.followers(OTHER_MODEL) == [service_number(1)]
        assert harness.models.followers(ModelSubject(uri="gs://acme-models")) == []

    def test_a_service_follows_what_its_spec_says_now(self, harness: Harness) -> None:
        store, models = harness.store, harness.models
        store.put_service(document(serving=serving()), if_generation=None)
        store.put_service(document(generation=2, serving=serving(OTHER_MODEL.uri)), if_generation=1)
        assert (models.followers(RANKER_MODEL), models.followers(OTHER_MODEL)) == ([], [RANKER])
        store.put_service(document(generation=3), if_generation=2)
        assert models.followers(OTHER_MODEL) == []
        store.put_service(document(generation=4, serving=serving()), if_generation=3)
        assert models.followers(RANKER_MODEL) == [RANKER]

    def test_what_a_command_writes_and_deletes_is_followed_too(self, harness: Harness) -> None:
        token = put(harness.commands, document(serving=serving()), "c-1")
        put(harness.commands, document(SCOPED, serving=serving()), "c-1")
        assert harness.models.followers(RANKER_MODEL) == [RANKER, SCOPED]
        harness.commands.commit_spec(RANKER, command("c-2"), document=None, token=token)
        assert harness.models.followers(RANKER_MODEL) == [SCOPED]
        put(harness.commands, document(SCOPED, generation=2), "c-2")
        assert harness.models.followers(RANKER_MODEL) == []

    # what the schedule asks for

    def test_due_models_are_those_whose_time_has_come_each_once(self, harness: Harness) -> None:
        models = [model_number(number) for number in range(6)]
        for model, seconds in zip(models, (-1.0, -0.000001, 0.0, 0.000001, 3600.0), strict=False):
            harness.models.commit_model(model, token=None, state=model_state(model, next_look_at=NOW + timedelta(seconds=seconds)))
        harness.models.commit_model(models[5], token=None, state=model_state(models[5]))
        assert list(harness.models.due_models(now=NOW)) == models[:3]
        assert list(harness.models.due_models(now=LONG_AGO)) == []

    def test_a_model_that_was_looked_at_is_no_longer_due(self, harness: Harness) -> None:
        token = harness.models.commit_model(RANKER_MODEL, token=None, state=model_state(next_look_at=NOW))
        assert list(harness.models.due_models(now=NOW)) == [RANKER_MODEL]
        harness.models.commit_model(RANKER_MODEL, token=token, state=model_state())
        assert list(harness.models.due_models(now=FAR_AHEAD)) == []

    def test_models_and_services_that_are_due_do_not_mix(self, harness: Harness) -> None:
        harness.models.commit_model(RANKER_MODEL, token=None, state=model_state(next_look_at=NOW))
        harness.store.commit(RANKER, token=None, state=state(next_look_at=NOW))
        other = (RANKER.sweep_slot + 1) % 10
        assert list(harness.store.due_services(now=NOW, sweep_slot=other)) == [RANKER]
        assert list(harness.models.due_models(now=NOW)) == [RANKER_MODEL]

    def test_unlisted_models_are_those_with_uploads_since_their_last_listing(self, harness: Harness) -> None:
        listed, behind, never, fresh, quiet = (model_number(number) for number in range(5))
        for model in (listed, behind, never, fresh):
            for generation in range(3):
                harness.models.create_upload(model, upload(generation=generation))
        harness.models.commit_model(listed, token=None, state=model_state(listed, listed_at=FAR_AHEAD))
        harness.models.commit_model(behind, token=None, state=model_state(behind, listed_at=LONG_AGO))
        harness.models.commit_model(never, token=None, state=model_state(never))
        harness.models.commit_model(quiet, token=None, state=model_state(quiet))
        assert list(harness.models.unlisted_models(since=LONG_AGO, until=FAR_AHEAD)) == [behind, never, fresh]
        assert list(harness.models.unlisted_models(since=LONG_AGO, until=LONG_AGO + timedelta(days=1))) == []
        assert list(harness.models.unlisted_models(since=FAR_AHEAD, until=FAR_AHEAD + timedelta(days=1))) == []
