"""Rules about the image, the bounds of instances and the concurrency of a service. Pure."""

import math
from collections.abc import Callable, Iterator

from shared.cloudrun.described import Form
from shared.cloudrun.limits import MadeWith, default_concurrency
from shared.lint.deployment import Deployment
from shared.lint.finding import Finding, Where
from shared.lint.images import Image, read_image
from shared.lint.pasting import paste
from shared.lint.service_parts import is_stand_in, parts, where_absent, whole

GRANTED_GPUS = 3
"""What a project has in a region after its first GPU deployment, without zonal redundancy."""
_DIGEST = "@sha256:DIGEST"
_LARGEST_KNOWN_BATCH = 1_000


def build_of_image(deployment: Deployment) -> Iterator[Finding]:
    """TF Serving without CUDA on a GPU service, or with it where no GPU is asked for."""
    image = deployment.image
    if image is None or is_stand_in(image.text) or image.is_gpu_build is None:
        return
    where = deployment.where_container("/image")
    if deployment.gpu and not image.is_gpu_build:
        message = f"{image.text} is built without CUDA and the service asks for a GPU: the card is paid for and stays idle."
        yield Finding("image-gpu-mismatch", message, where, _image_fix(deployment, _with_tag(image, gpu=True)))
    elif deployment.complete and not deployment.gpu and image.is_gpu_build:
        message = f"{image.text} is the GPU build and the service asks for no GPU: it runs on CPUs, from a much larger image."
        add = paste(
            deployment,
            flags="--gpu=1 --gpu-type=nvidia-l4",
            v2={"nodeSelector": {"accelerator": "nvidia-l4"}},
            v1={"nodeSelector": {"run.googleapis.com/accelerator": "nvidia-l4"}},
        )
        yield Finding(
            "image-gpu-mismatch", message, where, f"{_image_fix(deployment, _with_tag(image, gpu=False))}\nor ask for a GPU: {add}"
        )


def moving_image(deployment: Deployment) -> Iterator[Finding]:
    """An image that means other bytes tomorrow."""
    described = deployment.described
    for at, container in enumerate(parts(deployment.template, "containers")):
        text = str(container.get("image") or "")
        image = read_image(text)
        if not text or image.is_pinned or is_stand_in(text) or described is None:
            continue
        why = "has no tag, which means latest" if image.tag is None else f"has the moving tag {image.tag}"
        where = deployment.where(f"/template/containers/{at}/image")
        fix = _image_fix(
            deployment,
            _with_tag(image, gpu=deployment.gpu or bool(image.is_gpu_build)) if image.is_tf_serving else f"{image.name}{_DIGEST}",
        )
        yield Finding("image-not-pinned", f"{text} {why}: the next start may run another version.", where, fix)


def instances(deployment: Deployment) -> Iterator[Finding]:
    """At most one GPU instance; more than the quota grants; the minimum on the revision."""
    most = deployment.max_instances
    where = _where_maximum(deployment)
    if deployment.gpu and most == 1 and not deployment.bulk:
        message = "At most one instance: no answer while Cloud Run moves it to another machine, and no room beside it for a new revision."
        yield Finding("max-instances-one", message, where, _maximum(deployment, 2))
    quota = deployment.given.workload.gpu_quota
    granted = GRANTED_GPUS if quota is None else quota
    if deployment.gpu and most is not None and most > granted:
        source = "is what a project has in a region without asking" if quota is None else "are what the project has in the region"
        message = (
            f"At most {most} instances take {most} GPUs; {granted} {source}. Cloud Run checks the maximum at once and answers "
            f'"Max instances must be set to {granted} or fewer in order to set GPU requirements".'
        )
        fix = f"{_maximum(deployment, max(granted, 1))}\nor ask for more first: g.co/cloudrun/gpu-quota"
        yield Finding("gpu-quota-default-exceeded", message, where, fix)
    least = whole(_scaling(deployment), "minInstanceCount")
    if least > 0:
        where = deployment.where("/template/scaling/minInstanceCount")
        message = f"The minimum of {least} instances is set on the revision: each change of it makes a new revision, with a cold start."
        fix = paste(
            deployment,
            flags=f"--min={least}",
            v2={"scaling": {"minInstanceCount": least}},
            v1={"metadata": {"annotations": {"run.googleapis.com/minScale": str(least)}}},
        )
        yield Finding("revision-level-scaling", message, where, f"set it on the service:\n{fix}" if "\n" in fix else fix)


def redundancy(deployment: Deployment) -> Iterator[Finding]:
    """A GPU service that is silent about zonal redundancy gets it."""
    if deployment.gpu and deployment.complete and "gpuZonalRedundancyDisabled" not in deployment.template:
        message = (
            "Nothing is said about zonal redundancy of the GPU: it is then on, costs more than half again as much for the card, and its "
            'quota is 0 in a new project ("You do not have quota for using GPUs with zonal redundancy").'
        )
        fix = paste(
            deployment,
            flags="--no-gpu-zonal-redundancy",
            v2={"gpuZonalRedundancyDisabled": True},
            v1={"run.googleapis.com/gpu-zonal-redundancy-disabled": "true"},
        )
        way = "/template/gpuZonalRedundancyDisabled"
        where = where_absent(deployment, way, flag="--gpu-zonal-redundancy", v1="spec.template.metadata.annotations")
        yield Finding("gpu-zonal-redundancy-implicit", message, where, fix)


def concurrency(deployment: Deployment) -> Iterator[Finding]:
    """A whole description of a GPU service without its concurrency; in a spec of Trimtab's own, Trimtab chooses it."""
    described = deployment.described
    if (
        described is None
        or described.form is Form.SPEC
        or not deployment.complete
        or not deployment.gpu
        or deployment.concurrency is not None
    ):
        return
    by_cpu = described.made_with in {MadeWith.GCLOUD, MadeWith.TERRAFORM}
    made = default_concurrency(deployment.vcpu or 1, made_with=described.made_with)
    each = " for each vCPU" if deployment.vcpu is None and by_cpu else ""
    by = {MadeWith.GCLOUD: "gcloud", MadeWith.TERRAFORM: "Terraform"}.get(described.made_with, "The Admin API")
    message = f"Concurrency is not set: {by} makes it {made} requests at once{each} in an instance, whatever the model's batching can hold."
    number, reason = _fitting_concurrency(deployment)
    fix = paste(
        deployment,
        flags=f"--concurrency={number}",
        v2={"maxInstanceRequestConcurrency": number},
        v1={"containerConcurrency": number},
    )
    way = "/template/maxInstanceRequestConcurrency"
    where = where_absent(deployment, way, flag="--concurrency", v1="spec.template.spec.containerConcurrency")
    yield Finding("concurrency-unset", message, where, f"{fix}\n({reason})")


def revision_name(deployment: Deployment) -> Iterator[Finding]:
    """A fixed name of the revision: the second apply with any change is refused. Trimtab's own specs name revisions by content."""
    name = deployment.template.get("revision")
    described = deployment.described
    if not isinstance(name, str) or not name or described is None or not described.is_service or described.form is Form.SPEC:
        return
    if is_stand_in(name):
        return
    where = deployment.where("/template/revision")
    message = (
        f"The revision's name is fixed to {name}: the next time this is applied with any change, Cloud Run answers 409 "
        f"\"Revision named '{name}' with different configuration already exists\"."
    )
    yield Finding("revision-name-fixed", message, where, f"take {where.field} out; Cloud Run then makes a name")


def _scaling(deployment: Deployment) -> dict[str, object]:
    found = deployment.template.get("scaling") if deployment.is_service else None
    return found if isinstance(found, dict) else {}


def _where_maximum(deployment: Deployment) -> Where:
    on_service = whole(deployment.service.get("scaling") or {}, "maxInstanceCount")
    on_revision = whole(_scaling(deployment), "maxInstanceCount")
    is_revisions = on_revision and (not on_service or on_revision <= on_service)
    return deployment.where("/template/scaling/maxInstanceCount" if is_revisions else "/scaling/maxInstanceCount")


def _maximum(deployment: Deployment, count: int) -> str:
    return paste(
        deployment,
        flags=f"--max-instances={count}",
        v2={"scaling": {"maxInstanceCount": count}},
        v1={"autoscaling.knative.dev/maxScale": str(count)},
    )


def _with_tag(image: Image, *, gpu: bool) -> str:
    """The image of TF Serving in the other build: of the same release where its tag names one."""
    release = (image.tag or "").removesuffix("-gpu")
    if not release[:1].isdigit():
        release = "2.20.0"
    return f"{image.name}:{release}{'-gpu' if gpu else ''}"


def _image_fix(deployment: Deployment, text: str) -> str:
    """In a docker command the image stands alone."""
    in_docker = deployment.where_container("/image").field.startswith("docker")
    return paste(deployment, flags=text if in_docker else f"--image={text}", v2={"image": text})


def _fitting_concurrency(deployment: Deployment) -> tuple[int, str]:
    """One batch being filled beside those that run, bounded by what the queue holds; a small number where the batching is not known."""
    meant = deployment.batching.meant if deployment.batching is not None else None
    rows = meant.max_batch_size if meant is not None else None
    if meant is None or rows is None or not 0 < rows <= _LARGEST_KNOWN_BATCH:
        return 16, "a careful start; batching of B rows on T threads is filled by B x (T + 1) requests of one row"
    if meant.enable_large_batch_splitting and meant.max_execution_batch_size:
        rows = min(rows, max(1, meant.max_execution_batch_size))
    threads = max(1, meant.num_batch_threads or 1)
    fill = math.ceil((threads + 1) * rows / deployment.rows)
    queue = meant.max_enqueued_batches
    room = math.floor(rows * (threads + queue) / deployment.rows) if queue else fill
    number = max(1, min(fill, room, 1_000))
    return number, f"batches of {rows} rows on {threads} threads are filled by {number} requests of {deployment.rows}"


RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = (
    build_of_image,
    moving_image,
    instances,
    redundancy,
    concurrency,
    revision_name,
)
