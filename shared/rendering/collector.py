"""The metrics sidecar: Google's Prometheus collector for Cloud Run, told where TF Serving's metrics are.

Its configuration (kind RunMonitoring) is a file at /etc/rungmp/config.yaml. Google's guide mounts it from Secret Manager; here the
serving container writes it into a small volume in memory that both mount, before its port opens, and the collector starts after
that. So it is part of the revision and needs no secret. (Sources: Google's guide on the Prometheus sidecar; the collector's own
confgenerator, which also reads the file again every 20 seconds.)
"""

from google.cloud import run_v2

from shared.rendering.collector_file import (
    CONFIG_FOLDER,
    CPU,
    IMAGE,
    IMAGE_NAME,
    LIVENESS_PATH,
    LIVENESS_PORT,
    LIVENESS_SECONDS,
    MEMORY,
    VOLUME,
    VOLUME_SIZE,
)


def collector_container(name: str, *, serving: str) -> run_v2.Container:
    """The sidecar of that name beside the container `serving`; it starts when that one is ready."""
    return run_v2.Container(
        name=name,
        image=IMAGE,
        depends_on=[serving],
        # The boost is one word for all containers of a revision in v1 and in gcloud: said here as well, all three forms agree.
        resources=run_v2.ResourceRequirements(limits={"cpu": CPU, "memory": MEMORY}, cpu_idle=False, startup_cpu_boost=True),
        liveness_probe=run_v2.Probe(
            http_get=run_v2.HTTPGetAction(path=LIVENESS_PATH, port=LIVENESS_PORT),
            timeout_seconds=LIVENESS_SECONDS,
            period_seconds=LIVENESS_SECONDS,
        ),
        volume_mounts=[run_v2.VolumeMount(name=VOLUME, mount_path=CONFIG_FOLDER)],
    )


def collector_volume() -> run_v2.Volume:
    """The volume that carries its file."""
    return run_v2.Volume(
        name=VOLUME, empty_dir=run_v2.EmptyDirVolumeSource(medium=run_v2.EmptyDirVolumeSource.Medium.MEMORY, size_limit=VOLUME_SIZE)
    )


def is_collector(container: run_v2.Container) -> bool:
    """Whether the container is Google's collector, whoever added it."""
    return f"/{IMAGE_NAME}:" in container.image or f"/{IMAGE_NAME}@" in container.image


def is_our_collector(container: run_v2.Container) -> bool:
    """Whether it is the one Trimtab wrote."""
    return is_collector(container) and any(mount.name == VOLUME for mount in container.volume_mounts)
