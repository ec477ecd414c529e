"""What is desired, written over what is there: what Trimtab owns changes, whatever else the service holds stays."""

from typing import Any

import pytest
from google.cloud import run_v2

from shared.records.observed import Bounds
from shared.rendering.collector_file import IMAGE
from shared.rendering.messages import service_to_json
from shared.rendering.serving import overlay
from tests.support.desired import desired, own_entry, rendered

FOREIGN = b"\xfa\xc7\x3e\x07foreign"
"""A field with a number far above those this client knows, as a newer server sends them."""


def with_foreign(message: Any) -> None:
    raw: Any = type(message).pb(message)
    raw.MergeFromString(FOREIGN)


def holds_foreign(message: Any) -> bool:
    raw: Any = type(message).pb(message)
    return FOREIGN in raw.SerializeToString()


def container(service: run_v2.Service, name: str = "serving") -> run_v2.Container:
    return next(each for each in service.template.containers if each.name == name)


def test_a_service_is_rendered_as_an_expert_would_write_it() -> None:
    template = rendered().template
    serving = container(rendered())
    assert dict(serving.resources.limits) == {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}
    assert (serving.resources.cpu_idle, serving.resources.startup_cpu_boost) == (False, True)
    assert [(port.name, port.container_port) for port in serving.ports] == [("h2c", 8500)]
    assert (template.node_selector.accelerator, template.gpu_zonal_redundancy_disabled) == ("nvidia-l4", True)
    assert template.execution_environment == run_v2.ExecutionEnvironment.EXECUTION_ENVIRONMENT_GEN2
    assert (template.scaling.max_instance_count, template.scaling.min_instance_count) == (10, 0)
    assert template.max_instance_request_concurrency == 96


def test_the_probe_waits_for_the_port_as_long_as_a_start_may_take() -> None:
    probe = container(rendered()).startup_probe
    assert (probe.tcp_socket.port, probe.period_seconds, probe.timeout_seconds, probe.failure_threshold) == (8500, 1, 1, 600)


def test_rest_is_served_on_its_own_port_over_http1() -> None:
    service = rendered(desired(protocol="rest"))
    assert [(port.name, port.container_port) for port in container(service).ports] == [("http1", 8501)]
    assert container(service).startup_probe.tcp_socket.port == 8501


def test_the_revisions_own_minimum_is_never_set() -> None:
    assert rendered().template.scaling.min_instance_count == 0


def test_zonal_redundancy_is_said_either_way() -> None:
    for redundant in (True, False):
        template = run_v2.RevisionTemplate.pb(rendered(desired(gpu_zonal_redundancy=redundant)).template)
        assert (template.HasField("gpu_zonal_redundancy_disabled"), template.gpu_zonal_redundancy_disabled) == (True, not redundant)


def test_the_sidecar_starts_after_the_server_and_reads_what_the_server_wrote() -> None:
    service = rendered()
    sidecar = container(service, "collector")
    assert (sidecar.image, list(sidecar.depends_on)) == (IMAGE, ["serving"])
    paths = {mount.name: mount.mount_path for each in service.template.containers for mount in each.volume_mounts if each.name == "serving"}
    assert paths == {"trimtab-collector": "/run/trimtab-collector"}
    assert [(mount.name, mount.mount_path) for mount in sidecar.volume_mounts] == [("trimtab-collector", "/etc/rungmp")]


def test_a_copied_model_is_mounted_read_only() -> None:
    model = {"name": "ranker", "uri": "gs://acme-models/teams/ranker", "version": 42, "source": "copied"}
    service = rendered(desired(model=model))
    volume = next(each for each in service.template.volumes if each.name == "trimtab-model")
    assert (volume.gcs.bucket, volume.gcs.read_only) == ("acme-models", True)
    environment = {each.name: each.value for each in container(service).env}
    assert environment["TRIMTAB_COPY_FROM"] == "/mnt/trimtab-model/teams/ranker/42"


def test_writing_the_same_over_it_gives_the_very_same_service() -> None:
    service = rendered()
    assert overlay(service, desired()) is service


@pytest.mark.parametrize("written", ["4000m", "4.0", "4"])
def test_an_amount_written_in_another_way_is_no_change(written: str) -> None:
    service = rendered()
    container(service).resources.limits["cpu"] = written
    assert overlay(service, desired()) is service


def test_a_variable_that_leaves_the_spec_leaves_the_service_and_a_foreign_one_stays() -> None:
    service = rendered(desired(environment={"A": "1", "B": "2"}))
    container(service).env.append(run_v2.EnvVar(name="FOREIGN", value="stays"))
    names = {each.name for each in container(overlay(service, desired(environment={"B": "3"}))).env}
    assert {"B", "FOREIGN"} <= names
    assert "A" not in names


def test_fields_of_a_newer_cloud_run_survive_wherever_they_are() -> None:
    service = rendered()
    secret = run_v2.EnvVar(name="TOKEN", value_source={"secret_key_ref": {"secret": "token", "version": "3"}})
    container(service).env.append(secret)
    holders: list[Any] = [
        service,
        service.template,
        service.template.scaling,
        service.scaling,
        container(service),
        container(service).resources,
        container(service).env[-1],
        service.template.node_selector,
    ]
    for holder in holders:
        with_foreign(holder)
    after = overlay(service, desired(cpu="8", memory="32Gi", environment={"A": "1"}, max_instance_count=12))
    assert after is not service
    serving = container(after)
    kept: list[Any] = [
        after,
        after.template,
        after.template.scaling,
        after.scaling,
        serving,
        serving.resources,
        after.template.node_selector,
    ]
    assert all(map(holds_foreign, kept))
    token = next(each for each in serving.env if each.name == "TOKEN")
    assert (holds_foreign(token), token.value_source.secret_key_ref.version) == (True, "3")


def test_containers_volumes_labels_and_annotations_of_others_stay() -> None:
    service = rendered()
    service.template.containers.append(run_v2.Container(name="proxy", image="proxy:1"))
    service.template.volumes.append(run_v2.Volume(name="config", secret=run_v2.SecretVolumeSource(secret="config")))
    service.template.labels["team"] = "search"
    service.annotations["note"] = "hands off"
    after = overlay(service, desired(cpu="8", memory="32Gi"))
    assert {each.name for each in after.template.containers} == {"serving", "collector", "proxy"}
    assert {each.name for each in after.template.volumes} == {"trimtab-collector", "config"}
    assert (dict(after.template.labels), dict(after.annotations)) == ({"team": "search"}, {"note": "hands off"})


def test_a_collector_that_somebody_else_added_makes_room_only_for_ours() -> None:
    image = "us-docker.pkg.dev/cloud-ops-agents-artifacts/cloud-run-gmp-sidecar/cloud-run-gmp-sidecar:1.1.0"
    service = rendered(desired(metrics_sidecar=False))
    service.template.containers.append(run_v2.Container(name="metrics", image=image))
    without = overlay(service, desired(metrics_sidecar=False, cpu="8", memory="32Gi"))
    assert [each.image for each in without.template.containers if each.name == "metrics"] == [image]
    replaced = overlay(service, desired())
    assert [each.name for each in replaced.template.containers] == ["serving", "collector"]


def test_bounds_are_written_only_where_they_are_given() -> None:
    service = rendered()
    after = overlay(service, desired(cpu="8", memory="32Gi"))
    assert (after.scaling.min_instance_count, after.scaling.max_instance_count) == (1, 4)
    moved = overlay(service, desired(), bounds=Bounds(min_instance_count=0, max_instance_count=6))
    assert (moved.scaling.min_instance_count, moved.scaling.max_instance_count) == (0, 6)


def test_a_gpu_that_leaves_the_spec_leaves_nothing_behind() -> None:
    after = overlay(rendered(), desired(accelerator=None, gpu_zonal_redundancy=None))
    template = run_v2.RevisionTemplate.pb(after.template)
    assert not template.node_selector.accelerator
    assert not template.HasField("gpu_zonal_redundancy_disabled")
    assert "nvidia.com/gpu" not in container(after).resources.limits


def test_an_entry_of_the_owners_keeps_environment_probes_and_volumes() -> None:
    service = run_v2.Service(
        template=run_v2.RevisionTemplate(
            containers=[
                run_v2.Container(
                    image="old:1",
                    args=["--enable_batching=true"],
                    env=[run_v2.EnvVar(name="MODEL_NAME", value="ranker")],
                    ports=[run_v2.ContainerPort(name="h2c", container_port=8500)],
                    liveness_probe=run_v2.Probe(grpc=run_v2.GRPCAction(port=8500), period_seconds=30),
                    resources=run_v2.ResourceRequirements(limits={"cpu": "4", "memory": "16Gi"}, cpu_idle=False),
                )
            ]
        )
    )
    after = overlay(service, own_entry())
    serving = after.template.containers[0]
    assert (serving.image, serving.liveness_probe.period_seconds) == ("tensorflow/serving:2.20.0-gpu", 30)
    assert [(each.name, each.value) for each in serving.env] == [("MODEL_NAME", "ranker")]
    assert len(after.template.containers) == 1


def test_the_document_of_a_rendered_service_names_no_revision_and_no_traffic() -> None:
    document = service_to_json(rendered())
    assert "revision" not in document["template"]
    assert "traffic" not in document


def test_a_size_for_a_container_without_resources_does_not_change_how_its_cpu_is_billed() -> None:
    base = run_v2.Service(template=run_v2.RevisionTemplate(containers=[run_v2.Container(image="app:1")]))
    wanted = own_entry(accelerator=None, gpu_zonal_redundancy=None, protocol="rest", cpu="2", memory="1Gi")
    assert overlay(base, wanted).template.containers[0].resources.cpu_idle is True
    rendered_one = desired(accelerator=None, gpu_zonal_redundancy=None)
    assert overlay(base, rendered_one).template.containers[0].resources.cpu_idle is False


def test_a_sidecar_of_somebody_elses_that_bears_our_name_keeps_it() -> None:
    service = rendered(desired(metrics_sidecar=False))
    service.template.containers[0].name = ""
    service.template.containers.append(run_v2.Container(name="collector", image="otel:1"))
    service.template.containers.append(run_v2.Container(name="serving", image="proxy:1"))
    after = overlay(service, desired())
    assert [(each.name, each.image) for each in after.template.containers[1:3]] == [("collector", "otel:1"), ("serving", "proxy:1")]
    assert len({each.name for each in after.template.containers}) == 4
    assert list(after.template.containers[-1].depends_on) == [after.template.containers[0].name]
    assert overlay(after, desired()) is after


def test_nothing_waits_for_a_collector_that_made_room() -> None:
    image = "us-docker.pkg.dev/cloud-ops-agents-artifacts/cloud-run-gmp-sidecar/cloud-run-gmp-sidecar:1.1.0"
    service = rendered(desired(metrics_sidecar=False))
    service.template.containers.append(run_v2.Container(name="metrics", image=image))
    service.template.containers.append(run_v2.Container(name="proxy", image="proxy:1", depends_on=["metrics", "serving"]))
    after = overlay(service, desired())
    assert list(container(after, "proxy").depends_on) == ["serving"]


def test_a_rendered_start_up_probe_is_asked() -> None:
    service = rendered()
    service.template.health_check_disabled = True
    assert not overlay(service, desired()).template.health_check_disabled
