"""Every text of Cloud Run that Trimtab knows, as it was seen, with its meaning and what the controller does about it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.cloudrun.quotas import tightest, violations_in
from shared.cloudrun.server_texts import ServerText
from shared.cloudrun.text_meanings import TextAnswer, Where
from shared.cloudrun.texts import KNOWN, meaning_of_text

DATA, API, OPERATION, CONDITION, LOG = Where.DATA_PATH, Where.ADMIN_API, Where.OPERATION, Where.CONDITION, Where.LOG

NO_INSTANCE = (
    "The request was aborted because there was no available instance. Additional troubleshooting documentation can be found at: "
    "https://cloud.google.com/run/docs/troubleshooting#abort-request"
)
TOO_MANY_GPUS = (
    "spec.template.metadata.annotations[autoscaling.knative.dev/maxScale]: Max instances must be set to 3 or fewer in order to set GPU "
    "requirements.\nTo request quota: g.co/cloudrun/gpu-quota\nQuota violated:\n"
    "NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion requested: 10 allowed: 3"
)
CPU_AND_MEMORY = (
    "Max instances must be set to 0 or fewer to set the requested total CPU.\nQuota violated:\n"
    "CpuAllocPerProjectRegion requested: 60000 allowed: 20000\nMemAllocPerProjectRegion requested: 257698037760 allowed: 42949672960"
)
NOT_STARTED = (
    "Revision 'ranker-00003-abc' is not ready and cannot serve traffic. The user-provided container failed to start and listen on the "
    "port defined provided by the PORT=8080 environment variable within the allocated timeout. This can happen "
    "when the port is misconfigured "
    "or if the timeout is too short. The health check timeout can be extended. Logs for this revision might contain more information."
)

EXAMPLES: list[tuple[str, Where, int | None, str, TextAnswer]] = [
    (NO_INSTANCE, DATA, 429, "no-available-instance", TextAnswer.SCALE_SIGNAL),
    (NO_INSTANCE, LOG, None, "no-available-instance", TextAnswer.SCALE_SIGNAL),
    (NO_INSTANCE, DATA, 500, "no-instance-could-be-started", TextAnswer.IGNORE_FOR_SCALING),
    ("Rate exceeded.", DATA, 429, "no-available-instance", TextAnswer.SCALE_SIGNAL),
    (
        "The Cloud Run service probably has reached its maximum container instance limit. Consider increasing this limit.",
        DATA,
        503,
        "instance-limit-at-high-concurrency",
        TextAnswer.SATURATED,
    ),
    (
        "The request failed because either the HTTP response was malformed or connection to the instance had an error.",
        DATA,
        503,
        "malformed-response",
        TextAnswer.IGNORE_FOR_SCALING,
    ),
    (
        "The request has been terminated because it has reached the maximum request timeout.",
        DATA,
        504,
        "request-timeout",
        TextAnswer.SATURATED,
    ),
    (
        "Memory limit of 512 MiB exceeded with 514 MiB used. Consider increasing the memory limit",
        LOG,
        None,
        "out-of-memory",
        TextAnswer.IGNORE_FOR_SCALING,
    ),
    (
        "While handling this request, the container instance was found to be using too much memory and was terminated.",
        DATA,
        500,
        "out-of-memory",
        TextAnswer.IGNORE_FOR_SCALING,
    ),
    (
        "The request failed because the instance could not start successfully.",
        DATA,
        500,
        "instance-did-not-start",
        TextAnswer.IGNORE_FOR_SCALING,
    ),
    (
        "Conflict for resource 'ranker': version '1786872223639166' was specified but current version is '1786872645876013'.",
        API,
        409,
        "stale-etag",
        TextAnswer.REREAD,
    ),
    (
        "Revision named 'ranker-00022-jot' with different configuration already exists.",
        API,
        409,
        "revision-name-taken",
        TextAnswer.RENAME_REVISION,
    ),
    ("Resource 'ranker' already exists", API, 409, "resource-exists", TextAnswer.PARK),
    (
        "Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute per region' of service 'run.googleapis.com'",
        API,
        429,
        "api-rate",
        TextAnswer.RETRY,
    ),
    (
        (
            "Revision 'ranker-00002-abc' is not ready and cannot serve traffic. Quota exceeded for total allowable count "
            "of GPUs per project "
            "per region."
        ),
        OPERATION,
        None,
        "no-capacity-at-provisioning",
        TextAnswer.NO_CAPACITY,
    ),
    (
        (
            "You do not have quota for using GPUs with zonal redundancy. You could deploy using GPUs without zonal "
            "redundancy instead. Learn "
            "more about GPU zonal redundancy: g.co/cloudrun/gpu-redundancy-help\nTo request quota: g.co/cloudrun/gpu-quota"
        ),
        API,
        400,
        "no-zonal-redundancy-quota",
        TextAnswer.QUOTA,
    ),
    (
        "You do not have quota for using GPUs without zonal redundancy.\nTo request quota: g.co/cloudrun/gpu-quota",
        API,
        400,
        "no-gpu-quota",
        TextAnswer.QUOTA,
    ),
    (TOO_MANY_GPUS, API, 400, "gpu-quota", TextAnswer.QUOTA),
    (CPU_AND_MEMORY, API, 400, "cpu-or-memory-quota", TextAnswer.QUOTA),
    (
        "Currently Cloud Run jobs are unable to offer GPU enabled instances with zonal redundancy due to capacity limitations.",
        API,
        400,
        "jobs-without-zonal-redundancy",
        TextAnswer.PARK,
    ),
    (NOT_STARTED, OPERATION, None, "container-did-not-start", TextAnswer.FAILED_REVISION),
    (NOT_STARTED, CONDITION, None, "container-did-not-start", TextAnswer.FAILED_REVISION),
    (
        "Container failed to start. Failed to start and then listen on the port defined by the PORT environment variable.",
        OPERATION,
        None,
        "container-did-not-start",
        TextAnswer.FAILED_REVISION,
    ),
    (
        (
            'Default STARTUP TCP probe failed 1 time consecutively for container "worker" on port 8080. The instance was not started.\n'
            "Connection failed with status DEADLINE_EXCEEDED."
        ),
        LOG,
        None,
        "startup-probe-deadline",
        TextAnswer.FAILED_REVISION,
    ),
    (
        'STARTUP HTTP probe failed 1 time consecutively for container "tfs" on port 8501 path "/v1/models/ranker".',
        LOG,
        None,
        "startup-probe-failed",
        TextAnswer.FAILED_REVISION,
    ),
    (
        "The service has encountered an error during container import. Please try again later. Resource readiness deadline exceeded.",
        OPERATION,
        None,
        "readiness-deadline",
        TextAnswer.RETRY,
    ),
    (
        "Health check failed for the deployment with the user-provided VPC network. Got permission denied error.",
        OPERATION,
        None,
        "vpc-permission-not-there-yet",
        TextAnswer.RETRY,
    ),
    (
        "Revision 'ranker-00001-x6w' is not ready and cannot serve traffic. Image 'europe-docker.pkg.dev/acme-ml/tfs/ranker:v7' not found.",
        OPERATION,
        None,
        "image-not-found",
        TextAnswer.PARK,
    ),
    (
        (
            "Google Cloud Run Service Agent must have permission to read the image, gcr.io/acme-ml/ranker. Ensure that the "
            "provided container "
            "image URL is correct"
        ),
        CONDITION,
        None,
        "image-permission",
        TextAnswer.PARK,
    ),
    (
        (
            "User ci@acme-ml.iam.gserviceaccount.com does not have permission to access namespace acme-ml (or it may not "
            "exist): Permission "
            "'iam.serviceaccounts.actAs' denied on service account 42-compute@developer.gserviceaccount.com (or it may not exist)."
        ),
        API,
        403,
        "act-as-denied",
        TextAnswer.PARK,
    ),
    (
        "Permission denied on secret: projects/42/secrets/models/versions/latest for Revision service account",
        OPERATION,
        None,
        "secret-access",
        TextAnswer.PARK,
    ),
    ("Revision ranker-00004-abc does not exist or is deleted", API, 400, "revision-gone", TextAnswer.PARK),
    (
        (
            "The feature 'Instant sandboxes' is not supported in the declared launch stage on resource ranker. The launch "
            "stage annotation should "
            "be specified at least as BETA."
        ),
        API,
        400,
        "launch-stage",
        TextAnswer.PARK,
    ),
    ("Operation is not implemented, or supported, or enabled.", API, 501, "not-implemented", TextAnswer.BUG),
    ("Starting new instance. Reason: DEPLOYMENT_ROLLOUT - Instance started due to", LOG, None, "instance-starting", TextAnswer.NOTE),
    (
        "Ready condition status changed to True for Revision ranker-00005-abc with message: Deploying revision succeeded in 8.87s.",
        LOG,
        None,
        "ready-true",
        TextAnswer.NOTE,
    ),
    (
        "Ready condition status changed to False for Service ranker with message: see the revision.",
        LOG,
        None,
        "ready-false",
        TextAnswer.WAIT,
    ),
]

VALIDATION: dict[ServerText, str] = {
    ServerText.ACCELERATOR: "template.node_selector.accelerator: only 'nvidia-l4', 'nvidia-a100-80gb', 'nvidia-h100-80gb' and "
    "'nvidia-rtx-pro-6000-96gb' are supported",
    ServerText.GPU_MINIMUM: "In order to set GPU, CPU must be at least 4; memory must be at least 16Gi",
    ServerText.RTX_CPU: "Invalid value specified for container cpu. Must be equal to one of 20.0, 22.0, 24.0, 26.0, 28.0, 30.0",
    ServerText.CPU: "limits.cpu: Invalid value specified for container cpu. Must be equal to one of [.08-1], 1.0, 2.0, 4.0, 6.0, 8.0",
    ServerText.MEMORY: "Invalid value specified for container memory. For 8.0 CPU, memory must be between 4Gi and 32Gi inclusive.",
    ServerText.ENV_RESERVED: "template.containers[0].env: The following reserved env names were provided: PORT",
    ServerText.SYSTEM_METADATA: "annotations: system annotations are not supported in Cloud Run API v2",
    ServerText.DEPENDENCY_UNKNOWN: "template.containers[0].depends_on: container 'sidecar' does not exist",
    ServerText.TRAFFIC_TOTAL: "Violation in UpdateServiceRequest.service.traffic: the sum of percentages should be 100.",
    ServerText.GPU_ONE_CONTAINER: "GPU can only be requested on one container",
}
"""Where more than the stable part was seen, or the stable part alone says too little."""


@pytest.mark.parametrize(("text", "where", "status", "name", "answer"), EXAMPLES)
def test_each_text_has_its_meaning_and_its_answer(text: str, where: Where, status: int | None, name: str, answer: TextAnswer) -> None:
    meaning = meaning_of_text(text, where=where, http_status=status)
    assert meaning is not None
    assert (meaning.name, meaning.answer) == (name, answer)
    assert meaning.known.advice in meaning.explanation


@pytest.mark.parametrize(("text", "where", "status", "name"), [example[:4] for example in EXAMPLES])
def test_a_text_means_the_same_wherever_it_was_seen(text: str, where: Where, status: int | None, name: str) -> None:
    meaning = meaning_of_text(text, http_status=status)
    assert meaning is not None
    assert meaning.name == name


@pytest.mark.parametrize("text", list(ServerText))
def test_each_refusal_of_a_value_is_for_a_person(text: ServerText) -> None:
    meaning = meaning_of_text(f"Violation in CreateServiceRequest: {VALIDATION.get(text, text)}.", where=API)
    assert meaning is not None
    assert (meaning.name, meaning.answer) == (f"invalid-{text.name.lower().replace('_', '-')}", TextAnswer.PARK)


def test_every_row_of_the_table_has_an_example() -> None:
    shown = {example[3] for example in EXAMPLES}
    assert {known.name for known in KNOWN if not known.name.startswith("invalid-")} == shown
    assert len({known.name for known in KNOWN}) == len(KNOWN)


def test_what_is_to_be_retried_says_when() -> None:
    for known in KNOWN:
        assert (known.after_seconds is not None) == (known.answer in {TextAnswer.RETRY, TextAnswer.NO_CAPACITY}), known.name


def test_the_data_paths_rate_text_is_none_of_the_admin_api() -> None:
    assert meaning_of_text("Rate exceeded.", where=API) is None


def test_a_missing_service_is_no_missing_dependency() -> None:
    text = "Resource 'ranker' of kind 'SERVICE' in region 'europe-west1' in project 'acme-ml' does not exist."
    assert meaning_of_text(text) is None


def test_the_instances_that_are_accepted_are_read() -> None:
    meaning = meaning_of_text(TOO_MANY_GPUS, where=API)
    assert meaning is not None
    assert meaning.allowed_instances == 3
    assert [(each.requested, each.allowed) for each in meaning.violations] == [(10, 3)]
    assert "10 GPUs asked, 3 allowed" in meaning.explanation
    assert "at most 3 instances" in meaning.explanation


@pytest.mark.parametrize("kind", ["with", "without"])
def test_no_quota_of_a_kind_accepts_no_instance(kind: str) -> None:
    meaning = meaning_of_text(f"You do not have quota for using GPUs {kind} zonal redundancy.")
    assert meaning is not None
    assert meaning.allowed_instances == 0


def test_cpu_and_memory_are_explained_in_vcpu_and_gib() -> None:
    meaning = meaning_of_text(CPU_AND_MEMORY, where=API)
    assert meaning is not None
    assert "60 vCPU asked, 20 allowed" in meaning.explanation
    assert "240 GiB of memory asked, 40 allowed" in meaning.explanation


@pytest.mark.parametrize(
    ("numbers", "shown"), [("3 allowed: 1", "3 GPUs asked, 1 allowed"), ("3000 allowed: 1000", "3 GPUs asked, 1 allowed")]
)
def test_large_gpus_are_explained_in_gpus_whichever_unit_was_written(numbers: str, shown: str) -> None:
    meaning = meaning_of_text(
        "Max instances must be set to 1 or fewer in order to set GPU requirements. Quota violated: "
        f"NvidiaRtxPro6000GpuAllocNoZonalRedundancyPerProjectRegion requested: {numbers}"
    )
    assert meaning is not None
    assert shown in meaning.explanation


def test_a_quota_of_another_kind_is_shown_as_it_was_written() -> None:
    (violation,) = violations_in("Quota violated: ConnectorsPerRegion requested: 5 allowed: 3")
    assert str(violation) == "5 asked, 3 allowed (ConnectorsPerRegion)"
    assert tightest((violation,)) == violation
    assert tightest(()) is None


def test_a_thousand_l4_are_a_thousand() -> None:
    meaning = meaning_of_text("Quota violated: NvidiaL4GpuAllocPerProjectRegion requested: 1000 allowed: 0")
    assert meaning is not None
    assert "1000 GPUs asked, 0 allowed" in meaning.explanation


@pytest.mark.parametrize(
    ("text", "captured"),
    [
        ("Revision named 'ranker-00022-jot' with different configuration already exists.", "ranker-00022-jot"),
        ("Image 'gcr.io/acme/x:v1' not found.", "gcr.io/acme/x:v1"),
        ("User must have permission to read\nthe image, gcr.io/acme/x. Ensure that", "gcr.io/acme/x"),
        ("Starting new instance. Reason: AUTOSCALING - more", "AUTOSCALING"),
    ],
)
def test_the_thing_it_is_about_is_named(text: str, captured: str) -> None:
    meaning = meaning_of_text(text)
    assert meaning is not None
    assert meaning.captured == captured


def test_the_reason_in_a_log_line_counts_more_than_the_line() -> None:
    meaning = meaning_of_text(
        f"Ready condition status changed to False for Revision ranker-00003-abc with message: {NOT_STARTED}", where=LOG
    )
    assert meaning is not None
    assert meaning.answer == TextAnswer.FAILED_REVISION


@given(st.text(max_size=300), st.sampled_from([None, *Where]))
def test_any_text_is_read_without_harm(text: str, where: Where | None) -> None:
    meaning = meaning_of_text(text, where=where)
    assert meaning is None or where is None or where in meaning.known.where


def test_a_huge_text_is_read_quickly_up_to_its_limit() -> None:
    assert meaning_of_text("image '" * 200_000) is None
