"""Codes about what a Cloud Run instance is made of and how many there may be: GPU, CPU, memory, image. Pure."""

from shared.lint.code import Code
from shared.lint.sources import (
    ADMIN_API,
    CONCURRENCY_PAGE,
    CPU_PAGE,
    GPU_PAGE,
    MEMORY_PAGE,
    REFUSALS,
    google_docs,
    pull_request,
    serving_source,
    sources,
)

INSTANCE_CODES: tuple[Code, ...] = (
    Code(
        name="cpu-memory-shape",
        severity="error",
        title="Cloud Run has no instance with this CPU and memory",
        when="Memory is outside what its vCPU allow: 1 vCPU up to 4Gi, 2 up to 8Gi, 4 from 2Gi to 16Gi, 6 from 4Gi to 24Gi, 8 from 4Gi "
        "to 32Gi; or the vCPU are another whole number; or they are below 1 with more memory or concurrency than such an instance may "
        "have. An nvidia-l4 instance needs 4 vCPU and 16Gi or more; with 4 vCPU it is exactly 16Gi. An nvidia-rtx-pro-6000 instance has "
        "20, 22, 24, 26, 28 or 30 vCPU, and from 80Gi to 4Gi per vCPU.",
        not_when="8 vCPU with 16Gi on an nvidia-l4 instance: both are allowed, and so is the pair.",
        why="Cloud Run refuses the call: `CPU must be at least 4; memory must be at least 16Gi`, `memory must be between 80Gi ...`.",
        fix="Take the nearest pair that exists. For one nvidia-l4, 4 vCPU with 16Gi is the smallest and 8 with 32Gi the largest.",
        example="gcloud run services update ranker --cpu=8 --memory=32Gi",
        authority=sources(CPU_PAGE, MEMORY_PAGE, GPU_PAGE, REFUSALS),
    ),
    Code(
        name="gpu-request-invalid",
        severity="error",
        title="A GPU that Cloud Run does not offer",
        when="More or less than one GPU per instance, a GPU on more than one container, or a type other than `nvidia-l4` and "
        "`nvidia-rtx-pro-6000`. In a document also a GPU without its type, or a word on zonal redundancy without a GPU.",
        not_when="Sidecars without a GPU beside the one container that has it.",
        why="Cloud Run refuses the call: `GPU can only be set to 1`, or names the supported types. An instance has one GPU or none.",
        fix="Ask for one GPU of a supported type on the serving container; serve more load with more instances.",
        example="gcloud run services update ranker --gpu=1 --gpu-type=nvidia-l4",
        authority=sources(GPU_PAGE, REFUSALS),
    ),
    Code(
        name="gpu-region-unsupported",
        severity="error",
        title="The GPU type is not offered in this region",
        when="The region is not one with that GPU. nvidia-l4: asia-southeast1, asia-south1, europe-west1, europe-west4, us-central1, "
        "us-east4. nvidia-rtx-pro-6000: asia-southeast1, asia-south2, europe-west4, us-central1.",
        not_when="Regions that are open by invitation (asia-south1 and us-central1 for nvidia-l4, asia-south2 for nvidia-rtx-pro-6000): "
        "whether a project is invited cannot be seen in a configuration.",
        why="Cloud Run refuses the call: no GPU of that type is in the region.",
        fix="Deploy to a region that has the GPU, near the clients and the model's bucket.",
        example="gcloud run deploy ranker --region=us-east4 --gpu=1 --gpu-type=nvidia-l4 \\\n  --image=tensorflow/serving:2.20.0-gpu",
        authority=GPU_PAGE,
    ),
    Code(
        name="gpu-cpu-throttled",
        severity="error",
        title="CPU throttling is switched on for a GPU service",
        when="A service with a GPU asks for CPU throttling in so many words: `--cpu-throttling`, the annotation "
        '`run.googleapis.com/cpu-throttling: "true"`, or `cpuIdle: true`.',
        not_when="A GPU service that says nothing about throttling: Cloud Run accepts it.",
        why="A GPU needs instance-based billing. Cloud Run refuses the call: throttling `must be disabled in order to set GPU "
        "requirements`. Throttling is no protection against bursts either.",
        fix="Switch throttling off.",
        example="gcloud run services update ranker --no-cpu-throttling",
        authority=sources(REFUSALS, GPU_PAGE),
    ),
    Code(
        name="gen2-required",
        severity="error",
        title="The first generation environment has no GPU and no volumes",
        when="The execution environment is gen1, and the service has a GPU, a Cloud Storage volume or an NFS volume.",
        not_when="No execution environment named: Cloud Run takes the second generation where it is needed.",
        why="Cloud Run refuses the call: `Execution environment must be set to gen2 in order to set GPU`.",
        fix="Ask for gen2, or leave the environment out.",
        example="gcloud run services update ranker --execution-environment=gen2",
        authority=sources(REFUSALS, google_docs("Cloud Run execution environments", "configuring/execution-environments")),
    ),
    Code(
        name="gpu-zonal-redundancy-implicit",
        severity="warning",
        title="Nothing is said about GPU zonal redundancy, so it is on",
        when="A complete description of a GPU service says nothing about zonal redundancy.",
        not_when="A GPU service that switches zonal redundancy on or off in so many words; and update commands, which keep what is there.",
        why="The default is on. A GPU second then costs about 56 % more, and a fresh project has no quota for it: `You do not have quota "
        "for using GPUs with zonal redundancy.`",
        fix="Say what you want. Off is best effort when a zone fails; on needs its own quota from g.co/cloudrun/gpu-quota.",
        example="gcloud run services update ranker --no-gpu-zonal-redundancy",
        authority=sources(google_docs("GPU zonal redundancy", "configuring/services/gpu-zonal-redundancy"), GPU_PAGE),
    ),
    Code(
        name="gpu-quota-default-exceeded",
        severity="warning",
        title="More instances are allowed than there is GPU quota",
        when="The maximum number of instances of a GPU service is above the region's GPU quota; 3, which a first GPU deployment is "
        "usually granted, where no quota is stated.",
        not_when="A maximum of 3 or less, or one within the quota that is stated.",
        why="Cloud Run checks maximum instances times GPUs when it is called, not when it scales: `Max instances must be set to 3 or "
        "fewer in order to set GPU requirements.` A rollout needs GPUs for the new revision beside the old one as well.",
        fix="Lower the maximum, or get the quota first (g.co/cloudrun/gpu-quota) and state it.",
        example="gcloud beta run services update ranker --max=3",
        authority=sources(REFUSALS, GPU_PAGE),
    ),
    Code(
        name="max-instances-one",
        severity="warning",
        title="A single instance has no replacement",
        when="A GPU service may have at most 1 instance.",
        not_when="A maximum of 2 or more, and bulk work where a pause does no harm.",
        why="When Google moves the instance to another machine there is no second one to take the requests, and whatever exceeds its "
        "concurrency gets 429.",
        fix="Allow 2 or 3; an instance that is not needed is not started.",
        example="gcloud beta run services update ranker --max=3",
        authority=f"a Google product manager in {pull_request('huggingface/Google-Cloud-Containers', 82)}",
    ),
    Code(
        name="image-gpu-mismatch",
        severity="warning",
        title="The image's build does not fit the GPU setting",
        when="A `tensorflow/serving` image without `-gpu` on a service with a GPU, or one with `-gpu` on a service without.",
        not_when="Images of other names, and digests without a tag: what is inside them cannot be seen.",
        why="The CPU build has no CUDA: the GPU is paid for and never touched. The GPU build without a GPU serves on the CPU, from a "
        "larger image.",
        fix="Take the other build of the same release.",
        example="gcloud run services update ranker --image=tensorflow/serving:2.20.0-gpu",
        authority=serving_source("tools/docker/Dockerfile.gpu"),
    ),
    Code(
        name="image-not-pinned",
        severity="warning",
        title="The image's name can mean another image tomorrow",
        when="An image without tag and digest, or with a tag that contains `latest` or `nightly`.",
        not_when="A release's tag such as `2.20.0-gpu`, and any digest.",
        why="Each deployment takes what the tag means on that day, so an unrelated change brings a new server with it, and a rollback "
        "does not bring the old one back.",
        fix="Name the release or, better, the digest.",
        example="gcloud run services update ranker --image=tensorflow/serving:2.20.0-gpu",
        authority="tags of tensorflow/serving on Docker Hub (https://hub.docker.com/r/tensorflow/serving/tags)",
    ),
    Code(
        name="concurrency-unset",
        severity="warning",
        title="The concurrency of a GPU service is left to a default",
        when="A complete description of a GPU service names no concurrency (0 counts as none).",
        not_when="Update commands and partial documents: they keep what the service has.",
        why="A new service made by gcloud or Terraform gets 80 requests for each vCPU, 320 on 4 vCPU; the API and the console give 80. "
        "Cloud Run adds an instance only from about 60 % of it on, so one GPU is saturated long before. Default server threads hold 16 "
        "calls on 4 vCPU.",
        fix="Set what one instance can batch. A start: (`num_batch_threads` + 1) times `max_batch_size`, divided by the rows per request.",
        example="gcloud run services update ranker --concurrency=96",
        authority=sources(CONCURRENCY_PAGE, ADMIN_API),
    ),
    Code(
        name="revision-level-scaling",
        severity="info",
        title="Minimum instances are set on the revision",
        when="Minimum instances stand in the revision: `--min-instances`, `template.scaling.minInstanceCount`, the annotation "
        "`autoscaling.knative.dev/minScale`.",
        not_when="The service's own minimum (`--min`, `scaling.minInstanceCount`), and a maximum on the revision.",
        why="Every change of it makes a new revision: a GPU cold start and a second set of GPUs, only to keep one more instance warm. "
        "The service's minimum changes in place.",
        fix="Move the minimum to the service.",
        example="gcloud run services update ranker --min-instances=default --min=1",
        authority=sources("gcloud 528's help of `--min`", ADMIN_API),
    ),
)
