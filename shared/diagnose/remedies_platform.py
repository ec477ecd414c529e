"""Remedies that turn a knob of Cloud Run, of the project, or of whoever calls. Pure."""

from shared.diagnose.known import KnownRemedy

_GPU_QUOTA = "https://g.co/cloudrun/gpu-quota"

SCALING: tuple[KnownRemedy, ...] = (
    KnownRemedy(
        name="raise-max-instances",
        title="Allow more instances",
        knob="`scaling.maxInstanceCount` of the service (`--max`, which gcloud 528 has as beta)",
        new_revision=False,
        risk="Cost; refused above the GPU quota. A maximum on the revision (`--max-instances`) is a second bound, and changing it is a "
        "new revision.",
        how="gcloud beta run services update ranker --max=6",
        risk_without_gpu="Cost. A maximum on the revision (`--max-instances`) is a second bound, and changing it is a new revision.",
    ),
    KnownRemedy(
        name="raise-min-instances",
        title="Keep more instances warm",
        knob="`scaling.minInstanceCount` of the service (`--min`)",
        new_revision=False,
        risk="Cost: a warm GPU instance is billed in full while it idles, about 764 dollars a month for the smallest with an nvidia-l4.",
        how="gcloud run services update ranker --min=2",
        risk_without_gpu="Cost: a warm instance is billed while it idles, its CPU at a lower rate where CPU is only given to requests.",
    ),
    KnownRemedy(
        name="lower-min-instances",
        title="Keep fewer instances warm",
        knob="`scaling.minInstanceCount` of the service (`--min`)",
        new_revision=False,
        risk="Cold starts after quiet times; only on complete data of days.",
        how="gcloud run services update ranker --min=1",
    ),
    KnownRemedy(
        name="clamp-max-instances",
        title="Lower the maximum to what the quota allows",
        knob="`scaling.maxInstanceCount` of the service (`--max`, which gcloud 528 has as beta)",
        new_revision=False,
        risk="Less capacity at the peak; 429 where more was needed.",
        how="gcloud beta run services update ranker --max=3",
    ),
    KnownRemedy(
        name="lower-concurrency",
        title="Let fewer requests into one instance",
        knob="`template.maxInstanceRequestConcurrency` (`--concurrency`)",
        new_revision=True,
        risk="More instances for the same load, so the maximum and the quota must allow them.",
        how="gcloud run services update ranker --concurrency=32",
    ),
    KnownRemedy(
        name="raise-concurrency",
        title="Let more requests into one instance",
        knob="`template.maxInstanceRequestConcurrency` (`--concurrency`)",
        new_revision=True,
        risk="Latency, memory, and the server's threads: `--grpc_max_threads` must be at least 8 above it.",
        how="gcloud run services update ranker --concurrency=96",
    ),
)

PLATFORM: tuple[KnownRemedy, ...] = (
    KnownRemedy(
        name="request-quota-increase",
        title="Ask Google for more quota",
        knob="the project's quota of GPUs, CPU or memory in the region",
        new_revision=False,
        risk="Days; a person must ask.",
        how=f"{_GPU_QUOTA}\nhttps://console.cloud.google.com/iam-admin/quotas",
    ),
    KnownRemedy(
        name="disable-gpu-zonal-redundancy",
        title="Give up GPU zonal redundancy",
        knob="`template.gpuZonalRedundancyDisabled`",
        new_revision=True,
        risk="Best effort only when a zone fails; only where that may be risked.",
        how="gcloud run services update ranker --no-gpu-zonal-redundancy",
    ),
    KnownRemedy(
        name="free-gpu-headroom",
        title="Free a GPU for the new revision",
        knob="revisions that are not needed, and the instances of the old revision",
        new_revision=False,
        risk="Less capacity while the rollout lasts.",
        how="gcloud run revisions list --service=ranker\n"
        "gcloud run revisions delete ranker-00040-abc\n"
        "gcloud run services update ranker --min=1",
    ),
    KnownRemedy(
        name="retry-rollout-later",
        title="Try the same rollout again later",
        knob="nothing: the same template after a pause of minutes, longer each time",
        new_revision=False,
        risk="Delay. It makes another revision, of the same content.",
        how="gcloud run services update ranker --update-labels=attempt=2",
    ),
    KnownRemedy(
        name="wait",
        title="Wait until the deadline",
        knob="nothing",
        new_revision=False,
        risk="None before the deadline.",
        how="gcloud run services describe ranker --format='yaml(status.conditions)'",
    ),
    KnownRemedy(
        name="raise-memory",
        title="Give the instance more memory",
        knob="`resources.limits.memory` (`--memory`), and CPU with it where the pair must exist",
        new_revision=True,
        risk="Cost.",
        how="gcloud run services update ranker --cpu=8 --memory=32Gi",
    ),
    KnownRemedy(
        name="raise-cpu",
        title="Give the instance more CPU",
        knob="`resources.limits.cpu` (`--cpu`)",
        new_revision=True,
        risk="Cost. Defaults of threads grow with the CPU: 4 server threads and 1 batch thread per vCPU.",
        how="gcloud run services update ranker --cpu=8 --memory=32Gi",
    ),
    KnownRemedy(
        name="raise-request-timeout",
        title="Allow a request more time",
        knob="`template.timeout` (`--timeout`), `--rest_api_timeout_in_ms`, the client's deadline",
        new_revision=True,
        risk="It hides slowness. Cloud Run's must be the longest of the three.",
        how="gcloud run services update ranker --timeout=120\n--rest_api_timeout_in_ms=100000",
    ),
    KnownRemedy(
        name="fix-port-or-protocol",
        title="Make port and protocol agree",
        knob="`containerPort` and `h2c` (`--port`, `--use-http2`), the server's `--port` and `--rest_api_port`, the client's address",
        new_revision=True,
        risk="None. One service exposes gRPC or REST, not both.",
        how="gcloud run services update ranker --port=8500 --use-http2\ngcloud run services update ranker --port=8501 --no-use-http2",
    ),
    KnownRemedy(
        name="fix-probe",
        title="Make the probe fit the server",
        knob="`startupProbe`, `livenessProbe`",
        new_revision=True,
        risk="None.",
        how="gcloud run services update ranker \\\n  --startup-probe=tcpSocket.port=8500,periodSeconds=10,failureThreshold=60",
    ),
    KnownRemedy(
        name="replace-image",
        title="Use another image",
        knob="`containers[].image` (`--image`): the processor it is built for, its CUDA release, the `-gpu` build",
        new_revision=True,
        risk="None beside a rollout.",
        how="gcloud run services update ranker --image=tensorflow/serving:2.20.0-gpu",
    ),
    KnownRemedy(
        name="grant-access",
        title="Grant the missing permission",
        knob="IAM on the image's repository, the secret or the bucket",
        new_revision=False,
        risk="None; grant reading only.",
        how="gcloud artifacts repositories add-iam-policy-binding serving \\\n"
        "  --location=us-east4 --project=acme-images \\\n"
        "  --role=roles/artifactregistry.reader --member=serviceAccount:\\\n"
        "service-123456789@serverless-robot-prod.iam.gserviceaccount.com\n"
        "gcloud storage buckets add-iam-policy-binding gs://acme-models \\\n"
        "  --role=roles/storage.objectViewer \\\n"
        "  --member=serviceAccount:ranker@acme.iam.gserviceaccount.com",
    ),
    KnownRemedy(
        name="deploy-new-revision",
        title="Start a new revision of the same template",
        knob="`template`, unchanged but for a label",
        new_revision=True,
        risk="GPUs for both revisions until the old one ends.",
        how="gcloud run services update ranker --update-labels=restarted=2026-12-01",
        risk_without_gpu="Instances of both revisions until the old one ends.",
    ),
    KnownRemedy(
        name="move-traffic",
        title="Send traffic to the new revision",
        knob="`traffic`",
        new_revision=False,
        risk="The new revision meets real requests: begin with a small share.",
        how="gcloud run services update-traffic ranker \\\n"
        "  --to-revisions=ranker-00042-def=10\n"
        "gcloud run services update-traffic ranker --to-latest",
    ),
    KnownRemedy(
        name="pin-or-roll-back",
        title="Go back to the last good revision or version",
        knob="`traffic`, or `model_version_policy` in the models file",
        new_revision=None,
        risk="The old model answers. Traffic changes in place; another version in the models file is a new revision.",
        how="gcloud run services update-traffic ranker \\\n"
        "  --to-revisions=ranker-00041-abc=100\n"
        "model_version_policy { specific { versions: 41 } }",
    ),
)

CALLERS: tuple[KnownRemedy, ...] = (
    KnownRemedy(
        name="raise-client-message-limit",
        title="Let the client receive larger messages",
        knob="the channel option `grpc.max_receive_message_length` of the client",
        new_revision=False,
        risk="Memory of the client.",
        how='options = [("grpc.max_receive_message_length", 64 * 1024 * 1024)]\n'
        "channel = grpc.secure_channel(target, credentials, options=options)",
    ),
    KnownRemedy(
        name="shrink-client-request",
        title="Ask for less in one call",
        knob="rows and bytes per call, `output_filter` of PredictRequest",
        new_revision=False,
        risk="More calls.",
        how='request.output_filter.append("scores")',
    ),
    KnownRemedy(
        name="back-off-retries",
        title="Retry less, later and not for ever",
        knob="the callers' retry policy; acknowledgement deadline and retry policy of a push subscription",
        new_revision=False,
        risk="A single failed call recovers later. Do not retry RESOURCE_EXHAUSTED at once.",
        how="gcloud pubsub subscriptions update ranker-push --ack-deadline=600 \\\n  --min-retry-delay=10s --max-retry-delay=600s",
    ),
    KnownRemedy(
        name="offload-host-work",
        title="Take work off the instance's CPU",
        knob="gRPC instead of JSON over REST; pre-processing in the client or outside the graph",
        new_revision=None,
        risk="Work on the clients. gRPC needs the other port, which is a new revision; a model without pre-processing is a new version.",
        how="gcloud run services update ranker --port=8500 --use-http2",
    ),
    KnownRemedy(
        name="reread-and-retry",
        title="Read the service again, then write",
        knob="`etag`: the one just read",
        new_revision=False,
        risk="None if the change is planned anew from what was read; after a pause that grows.",
        how="service = client.get_service(name=name)   # change it, then\nclient.update_service(service=service)        # carries its etag",
    ),
    KnownRemedy(
        name="clear-revision-name",
        title="Leave the revision's name empty",
        knob="`template.revision`, and a narrow `update_mask`",
        new_revision=None,
        risk="None. What is written decides whether there is a new revision: with only `scaling` in the mask there is none.",
        how='service.template.revision = ""\n'
        'mask = {"paths": ["scaling"]}\n'
        'client.update_service(request={"service": service, "update_mask": mask})',
    ),
    KnownRemedy(
        name="back-off-admin-calls",
        title="Call the Admin API less",
        knob="the caller: keep what was read, skip writes without a change, pause with jitter",
        new_revision=False,
        risk="Reactions are slower.",
        how="read the service once a minute at most, and write only what differs",
    ),
    KnownRemedy(
        name="fix-api-request",
        title="Correct the call",
        knob="`launchStage`, the parent with its region, the field that is named",
        new_revision=False,
        risk="None.",
        how="gcloud beta run services replace service.yaml",
    ),
    KnownRemedy(
        name="fix-metric-query",
        title="Correct the query",
        knob="the metric's name, its aligner, its resource",
        new_revision=False,
        risk="None.",
        how='resource.type = "cloud_run_revision"\n'
        'metric.type = "run.googleapis.com/container/gpu/utilizations"\n'
        "perSeriesAligner: ALIGN_PERCENTILE_99",
    ),
    KnownRemedy(
        name="hold",
        title="Change nothing, and look again",
        knob="nothing",
        new_revision=False,
        risk="None while nothing is known.",
        how="look again after three minutes, at a window that ended three minutes ago",
    ),
)
