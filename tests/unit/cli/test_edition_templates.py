"""The local edition: a spec becomes a served revision through the real functions, the real client and a predict call over HTTP."""

from cli.edition import LocalEdition
from cli.steered import START
from shared.local.clock import SeededIds, VirtualClock
from shared.records.observed import Bounds
from shared.records.service import Autonomy, ScaleBounds, ServiceDocument, ServiceSpec
from shared.records.serving import ServingSpec
from shared.records.subject import ServiceId

SERVICE = ServiceId(project="acme-ml", region="europe-west1", name="ranker")
SERVING = ServingSpec.model_validate(
    {
        "image": "tensorflow/serving:2.20.0-gpu",
        "model": {"name": "ranker", "uri": "gs://acme-models/ranker", "version": 7},
        "protocol": "rest",
        "accelerator": "nvidia-l4",
        "gpu_zonal_redundancy": False,
        "cpu": "4",
        "memory": "16Gi",
        "golden_request": {"instances": [[1.0, 2.0]]},
        "set_points": {"concurrency_utilization": 0.5},
    }
)


def test_a_spec_with_set_points_and_a_golden_request_is_served() -> None:
    clock = VirtualClock(START)
    with LocalEdition(":memory:", clock, SeededIds(clock)) as edition:
        spec = ServiceSpec(scale=ScaleBounds(max_instance_count=4), autonomy=Autonomy.ACT, serving=SERVING)
        edition.adopt(ServiceDocument(id=SERVICE, spec=spec), Bounds(max_instance_count=4), demand=1)
        for _ in range(20):
            clock.advance(60)
            edition.tick()
            edition.bus.run_until_idle()
        state = edition.store.read(SERVICE).state
        assert state is not None
        assert (state.last_rollout and state.last_rollout.outcome, state.rollout) == ("promoted", None)
        seen = edition.world.cloud_run.get_service(SERVICE.resource_name)
        assert [(each.revision.startswith("ranker-"), each.percent) for each in seen.traffic_statuses] == [(True, 100)]
        assert seen.traffic_statuses[0].revision.endswith("-1")
        assert state.last_rollout is not None
        assert seen.traffic_statuses[0].revision == state.last_rollout.revision
