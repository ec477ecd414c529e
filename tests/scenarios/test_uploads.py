"""From notifications of Cloud Storage, in whatever order and number, to the version that serves: the whole of Trimtab in virtual time."""

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, get_args

import pytest

from shared.handlers.answer import serve
from shared.handlers.model import DEBOUNCE_SECONDS
from shared.handlers.upload import UploadPorts, handle_upload
from shared.local.bus import Trouble
from shared.ports import ModelStore
from shared.records.model import ModelState, VersionState
from shared.records.model_subject import ModelSubject
from shared.records.service import Autonomy, ScaleBounds, ServiceDocument, ServiceSpec
from shared.records.serving import ServingSpec
from shared.records.subject import Wake
from shared.rendering.names import read_revision_name
from shared.simulation.bucket import SimulatedBucket
from shared.simulation.cloud_run_behaviour import Behaviour, Outcome
from tests.support.builders import RANKER
from tests.support.rig import NO_ANSWER, PostedRequest, Rig
from tests.support.saved_models import COMPLETE, INDEX, SAVED_MODEL, SHARD, meta_graph, saved_model, variables_index
from tests.support.tracing import Died, Fault, Trace, Traced

NAME = RANKER.resource_name
BUCKET, FOLDER = "acme-models", "ranker"
MODEL = ModelSubject(uri=f"gs://{BUCKET}/{FOLDER}")
GOLDEN = {"instances": [[1.0, 2.0]]}
FILES = COMPLETE.files


def document(version: int | str = "latest") -> ServiceDocument:
    serving = {
        "image": "tensorflow/serving:2.20.0-gpu",
        "model": {"name": "ranker", "uri": MODEL.uri, "version": version},
        "protocol": "rest",
        "accelerator": "nvidia-l4",
        "gpu_zonal_redundancy": False,
        "cpu": "4",
        "memory": "16Gi",
        "start_up_seconds": 300,
        "golden_request": GOLDEN,
    }
    spec = ServiceSpec(scale=ScaleBounds(max_instance_count=4), autonomy=Autonomy.ACT, serving=ServingSpec.model_validate(serving))
    return ServiceDocument(id=RANKER, spec=spec)


class Harbour(Rig):
    """The rig with a bucket whose notifications come in through functions/upload; `ranker` follows the latest version."""

    bucket: SimulatedBucket
    upload_ports: UploadPorts

    def __init__(self, spec: ServiceDocument | None = None, **options: Any) -> None:
        super().__init__(spec=spec or document(), demand=1, **options)
        self.bus.subscribe("uploads", "upload")

    @property
    def models(self) -> ModelStore:
        store: Any = self.store
        return store  # type: ignore[no-any-return]  # both stores keep models, too

    def start_process(self, trace: Trace) -> None:
        super().start_process(trace)
        if not hasattr(self, "bucket"):
            self.bucket = SimulatedBucket(now=self.clock.now)
        store: Any = self.reconcile_ports.store
        self.upload_ports = UploadPorts.of(store, self.reconcile_ports.bus, self.clock)
        files: Any = Traced("bucket", self.bucket, trace)
        self.reconcile_ports = replace(self.reconcile_ports, models=store, files=files)
        self.schedule_ports = replace(self.schedule_ports, models=store)

    def post(self, function: str, body: bytes, headers: Mapping[str, str] | None = None) -> int:
        if function != "upload":
            return super().post(function, body, headers)
        try:
            request = PostedRequest(body, headers or {"content-type": "application/json"})
            status = serve(function, request, lambda h, read: handle_upload(h, read, self.upload_ports))[1]
        except Died:
            self.start_process(Trace())
            status = NO_ANSWER
        self.statuses.append((function, status))
        return status

    def put(self, version: int | str, files: Mapping[str, bytes] = FILES) -> list[dict[str, Any]]:
        """Upload the files, and tell nobody."""
        return self.bucket.put_all(BUCKET, f"{FOLDER}/{version}", files)

    def tell(self, resources: Iterable[dict[str, Any]]) -> None:
        """What Cloud Storage publishes of them."""
        for resource in resources:
            attributes = {
                "eventType": "OBJECT_FINALIZE",
                "bucketId": resource["bucket"],
                "objectId": resource["name"],
                "objectGeneration": resource["generation"],
                "payloadFormat": "JSON_API_V1",
            }
            self.bus.publish("uploads", json.dumps(resource).encode(), attributes)

    def upload(self, version: int | str, files: Mapping[str, bytes] = FILES) -> "Harbour":
        self.tell(self.put(version, files))
        self.run()
        return self

    def settled(self, minutes: int = 14) -> "Harbour":
        self.minutes(minutes)
        return self

    def model(self) -> ModelState:
        state = self.models.read_model(MODEL).state
        assert state is not None
        return state

    def version(self, folder: int | str) -> VersionState:
        return next(each for each in self.model().versions if each.folder == str(folder))

    def listings(self) -> int:
        return self.bucket.calls["list_objects"]

    def served(self) -> int | None:
        """The version that the revision with all the traffic pins."""
        (name,) = [each.revision for each in self.cloud_run.get_service(NAME).traffic_statuses if each.percent]
        revision = next((each for each in self.cloud_run.list_revisions(NAME) if each.name.endswith(f"/{name}")), None)
        if revision is None:
            return None  # what follows the latest revision, as the service did before Trimtab
        config = next((each.value for each in revision.containers[0].env if each.name == "TRIMTAB_MODEL_CONFIG"), "")
        found = [line.split(":")[1] for line in config.splitlines() if line.strip().startswith("versions:")]
        return int(found[0]) if found else None

    def deployed(self) -> int:
        return sum("template" in mask for mask in self.writes())

    def condition(self) -> tuple[str, str, str]:
        found = next(each for each in self.state().conditions if each.type == "Current")
        return found.status, found.reason, found.message

    def behaves(self, version: int, outcome: Outcome) -> None:
        """How the model behaves when a template pins that version."""

        def behaviour(template: Any) -> Behaviour:
            config = next((each.value for each in template.containers[0].env if each.name == "TRIMTAB_MODEL_CONFIG"), "")
            return Behaviour(outcome=outcome if f"versions: {version}\n" in config else Outcome.OK)

        self.cloud_run.set_behaviour(behaviour)


def test_an_uploaded_version_is_served() -> None:
    harbour = Harbour().settled(12)
    assert harbour.condition()[:2] == ("Unknown", "TemplateUnknown")
    harbour.upload(7).settled()
    assert (harbour.model().latest, harbour.served()) == (7, 7)
    assert harbour.condition() == ("True", "Served", "")
    assert harbour.deployed() == 1


def test_the_next_version_takes_over_after_its_golden_request_was_answered() -> None:
    harbour = Harbour().upload(7).settled()
    harbour.upload(8).settled()
    assert (harbour.served(), harbour.deployed()) == (8, 2)


def test_an_older_version_that_comes_later_is_known_and_not_served() -> None:
    harbour = Harbour().upload(7).settled()
    harbour.upload(6).settled()
    assert harbour.model().complete == (7, 6)
    assert (harbour.served(), harbour.deployed()) == (7, 1)


def test_a_service_that_begins_to_follow_a_model_finds_what_was_uploaded_before() -> None:
    harbour = Harbour(known_service=False).upload(7).settled(3)
    assert (harbour.listings(), harbour.model().followed) == (0, False)
    harbour.store.put_service(document(), if_generation=None)
    harbour.bus.publish_wakes([Wake.of(RANKER, "apply")])
    harbour.settled()
    assert harbour.served() == 7


def test_a_version_whose_notifications_were_all_lost_is_served_within_the_ten_minutes_of_the_next_listing() -> None:
    harbour = Harbour().upload(7).settled()
    harbour.put(8)
    harbour.settled(26)
    assert harbour.served() == 8


def thousand() -> dict[str, bytes]:
    """A version of a thousand objects, in which the file that makes it complete comes last."""
    shards = 998
    files = {f"variables/variables.data-{number:05d}-of-{shards:05d}": bytes(4) for number in range(shards)}
    files[INDEX] = variables_index([(number, 0, 4) for number in range(shards)], num_shards=shards)
    files[SAVED_MODEL] = saved_model(meta_graph())
    return files


@pytest.mark.parametrize("seed", [1, 2])
def test_a_thousand_notifications_shuffled_lost_and_repeated_are_one_change_with_the_last_one_lost(seed: int) -> None:
    harbour = Harbour().upload(7).settled()
    chance = random.Random(seed)
    before, deployed, began = harbour.listings(), harbour.deployed(), harbour.clock.now()
    resources = harbour.put(8, thousand())
    assert len(resources) == 1_000
    told = resources[:-1]
    kept = [each for each in told if chance.random() >= 0.1]
    copies = [*kept, *chance.sample(kept, len(kept) // 5)]
    chance.shuffle(copies)
    for start in range(0, len(copies), 100):
        harbour.tell(copies[start : start + 100])
        harbour.run()
        harbour.clock.advance(10)
    harbour.settled(20)
    assert (harbour.model().latest, harbour.served()) == (8, 8)
    assert harbour.deployed() == deployed + 1
    elapsed = (harbour.clock.now() - began).total_seconds()
    assert harbour.listings() - before <= elapsed // DEBOUNCE_SECONDS
    creates = harbour.trace.operations["store.create_upload"]
    assert creates <= len(kept) + len(FILES)
    assert harbour.trace.operations["bus.publish_wakes"] < 60
    assert [status for status in harbour.statuses if status[1] != 200] == []


@pytest.mark.parametrize("seed", range(4))
def test_a_bus_that_repeats_shuffles_and_drops_everything_ends_with_the_version_served(seed: int) -> None:
    harbour = Harbour(trouble=Trouble(seed=seed, repeat=2, shuffle=True, drop_ratio=0.1, delay_seconds=90))
    harbour.upload(7).settled(30)
    harbour.upload(8).settled(30)
    assert (harbour.served(), harbour.deployed()) == (8, 2)


def test_within_the_debounce_no_wake_lists_again_and_none_is_forgotten() -> None:
    harbour = Harbour().upload(7).settled()
    began = harbour.listings()
    for number in range(20):
        harbour.bus.publish_wakes([Wake.of_model(MODEL.uri, f"{number}")])
        harbour.run()
        harbour.clock.advance(1)
    assert harbour.listings() == began + 1
    state = harbour.model()
    assert state.next_look_at == state.not_before


def test_an_incomplete_upload_waits_with_what_is_missing_named_and_is_then_stalled() -> None:
    harbour = Harbour().upload(7).settled()
    harbour.upload(8, {name: data for name, data in FILES.items() if name != SHARD}).settled(5)
    waiting = harbour.version(8)
    assert (waiting.outcome, waiting.missing, waiting.stalled) == ("incomplete", (SHARD,), False)
    assert SHARD in waiting.reason
    harbour.settled(15)
    assert harbour.version(8).stalled
    assert harbour.served() == 7
    harbour.put(8, {SHARD: FILES[SHARD]})
    harbour.settled(26)
    assert (harbour.version(8).outcome, harbour.served()) == ("complete", 8)


def test_a_stalled_upload_is_listed_no_more_often_than_a_settled_model() -> None:
    harbour = Harbour().upload(8, {SAVED_MODEL: FILES[SAVED_MODEL]}).settled(20)
    before = harbour.listings()
    harbour.settled(60)
    assert harbour.version(8).stalled
    assert harbour.listings() - before <= 7


def test_garbage_is_refused_with_its_reason_and_is_not_served() -> None:
    harbour = Harbour().upload(7).settled()
    harbour.upload(8, {**FILES, SAVED_MODEL: b"\xff" * 64}).settled()
    refused = harbour.version(8)
    assert (refused.outcome, refused.code) == ("refused", "saved_model_damaged")
    assert SAVED_MODEL in refused.reason
    assert (harbour.served(), harbour.deployed()) == (7, 1)


def test_a_version_that_is_overwritten_is_refused_and_what_serves_stays() -> None:
    harbour = Harbour().upload(7).settled()
    harbour.upload(7, {SHARD: bytes(95) + b"\1"}).settled()
    assert (harbour.version(7).outcome, harbour.version(7).code) == ("refused", "overwritten")
    assert harbour.model().latest is None
    assert (harbour.served(), harbour.deployed(), harbour.condition()[0]) == (7, 1, "True")


def test_a_newest_version_that_is_overwritten_gives_no_way_back_to_an_older_one() -> None:
    harbour = Harbour().upload(7).settled()
    harbour.upload(8).settled()
    harbour.upload(8, {SHARD: bytes(95) + b"\1"}).settled(26)
    assert harbour.model().latest == 7
    assert (harbour.served(), harbour.deployed(), harbour.condition()[0]) == (8, 2, "True")


def test_the_same_content_written_again_is_no_overwriting() -> None:
    harbour = Harbour().upload(7).settled()
    harbour.upload(7).settled()
    assert harbour.version(7).outcome == "complete"


def test_two_folders_of_one_number_are_both_refused_until_one_is_removed() -> None:
    harbour = Harbour().upload(7).settled()
    harbour.put("0008")
    harbour.upload(8).settled()
    assert [(each.folder, each.code) for each in harbour.model().versions if each.version == 8] == [
        ("0008", "ambiguous_version"),
        ("8", "ambiguous_version"),
    ]
    assert harbour.served() == 7
    harbour.bucket.delete_folder(BUCKET, f"{FOLDER}/0008")
    harbour.settled(26)
    assert harbour.served() == 8


@pytest.mark.parametrize("outcome", [Outcome.DOES_NOT_LOAD, Outcome.FAILS_TO_PREDICT])
def test_a_bad_version_leaves_the_traffic_untouched_and_the_condition_says_why(outcome: Outcome) -> None:
    harbour = Harbour().upload(7).settled()
    before = dict(_traffic(harbour))
    harbour.behaves(8, outcome)
    harbour.upload(8).settled(40)
    assert (harbour.served(), _traffic(harbour)) == (7, before)
    status, reason, message = harbour.condition()
    assert (status, reason) == ("True", "Served")
    assert message.startswith("model version 8 is left out: revision ranker-")
    deployed = harbour.deployed()
    harbour.settled(60)
    assert harbour.deployed() == deployed
    harbour.upload(9).settled(20)
    assert (harbour.served(), harbour.condition()) == (9, ("True", "Served", ""))


def test_a_failed_rollout_ends_with_the_look_after_its_template_was_put_back() -> None:
    harbour = Harbour().upload(7).settled()
    good = next(iter(_traffic(harbour)))
    harbour.behaves(8, Outcome.DOES_NOT_LOAD)
    harbour.upload(8)
    while harbour.cloud_run.get_service(NAME).template.revision == good:
        harbour.minutes(1)
    while harbour.cloud_run.get_service(NAME).template.revision != good:
        harbour.minutes(1)
    harbour.minutes(1)
    assert (harbour.state().rollout, harbour.condition()[:2]) == (None, ("True", "Served"))


def _traffic(harbour: Harbour) -> dict[str, int]:
    return {each.revision: each.percent for each in harbour.cloud_run.get_service(NAME).traffic_statuses if each.percent}


def test_a_first_version_that_is_bad_is_said_so_and_the_next_one_is_served() -> None:
    harbour = Harbour()
    harbour.behaves(7, Outcome.DOES_NOT_LOAD)
    harbour.upload(7).settled(30)
    status, reason, message = harbour.condition()
    assert (harbour.served(), status, reason) == (None, "False", "RolloutFailed")
    assert "ranker-" in message
    harbour.upload(8).settled(20)
    assert (harbour.served(), harbour.condition()) == (8, ("True", "Served", ""))


def test_a_bucket_that_refuses_is_said_so_and_asked_again_after_ten_minutes() -> None:
    harbour = Harbour().upload(7).settled()
    harbour.bucket.refusal = "HTTP 403: trimtab does not have storage.objects.list access"
    harbour.upload(8).settled(5)
    before = harbour.listings()
    state = harbour.model()
    assert "storage.objects.list" in (state.list_error or "")
    assert (state.latest, harbour.served()) == (7, 7)
    harbour.settled(4)
    assert harbour.listings() == before
    harbour.bucket.refusal = None
    harbour.settled(20)
    assert (harbour.model().list_error, harbour.served()) == (None, 8)


def test_an_outage_of_the_bucket_costs_only_its_own_time() -> None:
    harbour = Harbour().upload(7).settled()
    harbour.bucket.outage = "HTTP 503: try again"
    harbour.upload(8).settled(5)
    assert (harbour.model().list_error, harbour.model().latest) == ("HTTP 503: try again", 7)
    harbour.bucket.outage = None
    harbour.settled()
    assert harbour.served() == 8


def tell(trace: Trace) -> dict[str, Any]:
    """A version that is missing a file for a while, junk, and one that loads and fails to predict; what is left in the end."""
    harbour = Harbour(trace=trace)
    harbour.behaves(8, Outcome.FAILS_TO_PREDICT)
    harbour.upload(7, {name: data for name, data in FILES.items() if name != SHARD}).settled(2)
    harbour.bus.publish("uploads", b"junk")
    harbour.upload(7, {SHARD: FILES[SHARD]}).settled(12)
    harbour.upload(8).settled(14)
    state = harbour.model()
    return {
        "served": harbour.served(),
        "revisions": [
            name for each in reversed(harbour.cloud_run.list_revisions(NAME)) if (name := read_revision_name(each.name.rsplit("/", 1)[-1]))
        ],
        "versions": [(each.folder, each.outcome, each.stalled) for each in state.versions],
        "untold": state.untold,
        "quarantined": [read_revision_name(each.revision) for each in harbour.state().quarantined],
        "rollout": (harbour.state().rollout, harbour.condition()),
        "writes": harbour.writes(),
        "parked": sorted(entry.code for entry in harbour.store.parked(limit=50)),
        "bugs": [status for status in harbour.statuses if status[1] == 500],
    }


@cache
def undisturbed() -> tuple[dict[str, Any], tuple[str, ...]]:
    trace = Trace()
    return tell(trace), tuple(trace.effects)


def test_the_undisturbed_story_ends_with_the_newest_good_version_served() -> None:
    end, effects = undisturbed()
    assert (end["served"], end["versions"]) == (7, [("7", "complete", False), ("8", "complete", False)])
    assert (len(end["revisions"]), len(end["quarantined"]), end["parked"]) == (2, 1, ["unparsable"])
    assert {"store.create_upload", "store.commit_model", "bus.publish_wakes", "platform.update_service"} <= set(effects)


@pytest.mark.parametrize("fault", get_args(Fault))
def test_whatever_breaks_wherever_the_same_version_is_served_in_the_end(fault: Fault) -> None:
    end, effects = undisturbed()
    different = {}
    for number, effect in enumerate(effects, start=1):
        trace = Trace(fault=fault, at=number)
        if (other := tell(trace)) != end:
            different[f"{fault} at {number}: {effect}"] = {key: (end[key], other[key]) for key in end if end[key] != other[key]}
        assert trace.struck
    assert different == {}


def test_a_version_that_may_be_too_large_is_tried_and_the_decision_says_so() -> None:
    harbour = Harbour().upload(7).settled()
    snapshot = harbour.models.read_model(MODEL)
    large = harbour.version(7).model_copy(update={"version": 8, "folder": "8", "size_bytes": 15 * 2**30})
    state = harbour.model().model_copy(update={"versions": (*harbour.model().versions, large)})
    harbour.models.commit_model(MODEL, token=snapshot.token, state=state)
    harbour.bus.publish_wakes([Wake.of(RANKER, "a new version")])
    harbour.run()
    told = harbour.store.decisions(RANKER, limit=1)[0].model_dump_json()
    assert "version 8 may not fit: The instance has 16.00 GiB; the version needs 18.00 GiB" in told
