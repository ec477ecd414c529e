import pytest

from shared.cloudrun.refusals import MESSAGE_LIMIT, PROVISIONING_RETRY_SECONDS, RATE_RETRY_SECONDS, bounded, classify
from shared.errors import QuotaRefused, Refused, Retry, ServiceMissing, StaleEtag

STALE = "Conflict for resource 'ranker': version '1786872223639166' was specified but current version is '1786872645876013'."
L4 = "NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion"
GPU_QUOTA = (
    "spec.template.metadata.annotations[autoscaling.knative.dev/maxScale]: Max instances must be set to 3 or fewer in order to set "
    f"GPU requirements.\nTo request quota: g.co/cloudrun/gpu-quota\nQuota violated:\n{L4} requested: 10 allowed: 3"
)
CPU_AND_MEMORY = (
    "scaling.max_instance_count: Max instances must be set to 5 or fewer to set the requested total CPU.\n"
    "Consider running your workload in a region with greater capacity, or requesting an increase in quota for this region if you "
    "are seeing sustained usage near this limit, see https://cloud.google.com/run/quotas.\n\nQuota violated:\n"
    "CpuAllocPerProjectRegion requested: 400000 allowed: 20000\nMemAllocPerProjectRegion requested: 858993459200 allowed: 42949672960"
)
RATE = (
    "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute per region' of service "
    "'run.googleapis.com' for consumer 'project_number:1'."
)


def quota_of(status: str, message: str) -> QuotaRefused:
    answer = classify(status, message)
    assert isinstance(answer, QuotaRefused)
    return answer


def test_a_version_conflict_is_a_stale_etag() -> None:
    answer = classify("ABORTED", STALE)
    assert isinstance(answer, StaleEtag)
    assert "1786872645876013" in str(answer)


def test_an_abort_without_a_version_conflict_is_tried_again() -> None:
    assert isinstance(classify("ABORTED", "The operation was aborted."), Retry)


def test_a_revision_name_that_is_taken_is_refused_for_good() -> None:
    text = "Revision named 'ranker-00022-jot' with different configuration already exists."
    assert isinstance(classify("ALREADY_EXISTS", text), Refused)
    assert isinstance(classify("ALREADY_EXISTS", "Resource 'ranker' already exists"), Refused)


def test_gpu_quota_names_the_most_instances_allowed() -> None:
    answer = quota_of("INVALID_ARGUMENT", GPU_QUOTA)
    assert (answer.metric, answer.requested, answer.allowed, answer.allowed_instances) == (L4, 10, 3, 3)


def test_of_several_quotas_the_tightest_is_named() -> None:
    answer = quota_of("INVALID_ARGUMENT", CPU_AND_MEMORY)
    assert answer.metric in {"CpuAllocPerProjectRegion", "MemAllocPerProjectRegion"}
    assert answer.allowed_instances == 5
    rtx = (
        "Max instances must be set to 0 or fewer to set the requested total CPU. Quota violated: "
        "CpuAllocPerProjectRegion requested: 60000 allowed: 20000 MemAllocPerProjectRegion requested: 257698037760 allowed: 42949672960"
    )
    answer = quota_of("INVALID_ARGUMENT", rtx)
    assert (answer.metric, answer.requested, answer.allowed) == ("MemAllocPerProjectRegion", 257698037760, 42949672960)
    assert answer.allowed_instances == 0


def test_memory_quota_alone() -> None:
    text = (
        "Max instances must be set to 0 or fewer to set the requested total memory.\nQuota violated:\n"
        "MemAllocPerProjectRegion requested: 85899345920\nallowed: 42949672960"
    )
    answer = quota_of("INVALID_ARGUMENT", text)
    assert (answer.metric, answer.allowed_instances) == ("MemAllocPerProjectRegion", 0)


@pytest.mark.parametrize("kind", ["with", "without"])
def test_no_quota_of_the_kind_allows_no_instance(kind: str) -> None:
    answer = quota_of(
        "INVALID_ARGUMENT",
        f"You do not have quota for using GPUs {kind} zonal redundancy. Learn more about GPU zonal redundancy: "
        "g.co/cloudrun/gpu-redundancy-help\n\nTo request quota: g.co/cloudrun/gpu-quota",
    )
    assert answer.allowed_instances == 0
    assert answer.metric is None


def test_a_cpu_maximum_without_numbers_is_a_quota() -> None:
    answer = quota_of("INVALID_ARGUMENT", "Max instances must be set to 200 or fewer to set the requested total CPU.")
    assert (answer.allowed_instances, answer.metric, answer.requested, answer.allowed) == (200, None, None, None)


def test_quota_numbers_count_whatever_the_status() -> None:
    assert quota_of("FAILED_PRECONDITION", GPU_QUOTA).allowed_instances == 3
    assert quota_of("RESOURCE_EXHAUSTED", GPU_QUOTA).allowed_instances == 3
    assert quota_of("UNKNOWN", GPU_QUOTA).allowed_instances == 3


@pytest.mark.parametrize("metric", ["Write requests", "Read requests"])
def test_the_admin_apis_rate_is_never_a_scaling_quota(metric: str) -> None:
    answer = classify("RESOURCE_EXHAUSTED", RATE.replace("Write requests", metric))
    assert isinstance(answer, Retry)
    assert answer.after_seconds == RATE_RETRY_SECONDS


def test_no_gpu_at_provisioning_is_tried_again_much_later() -> None:
    text = (
        "Revision 'ranker-00002-abc' is not ready and cannot serve traffic. "
        "Quota exceeded for total allowable count of GPUs per project per region."
    )
    for status in ("FAILED_PRECONDITION", "INVALID_ARGUMENT", "INTERNAL"):
        answer = classify(status, text)
        assert isinstance(answer, Retry)
        assert answer.after_seconds == PROVISIONING_RETRY_SECONDS


@pytest.mark.parametrize("status", ["UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN", "CANCELLED", "DATA_LOSS", "", "NEW_CODE"])
def test_what_the_world_may_mend_is_tried_again(status: str) -> None:
    answer = classify(status, "try later")
    assert isinstance(answer, Retry)
    assert "try later" in answer.reason


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ("PERMISSION_DENIED", "Permission 'run.services.update' denied on resource 'projects/p/locations/r/services/s'"),
        ("UNAUTHENTICATED", "Request had invalid authentication credentials."),
        (
            "INVALID_ARGUMENT",
            "Violation in UpdateServiceRequest.service.scaling.max_instance_count: must be greater than or equal to zero.",
        ),
        ("INVALID_ARGUMENT", "The feature 'x' is not supported in the declared launch stage on resource ranker."),
        ("FAILED_PRECONDITION", "Service is being deleted."),
        ("UNIMPLEMENTED", "Operation is not implemented, or supported, or enabled."),
        ("OUT_OF_RANGE", "no"),
    ],
)
def test_what_would_be_refused_again_is_refused(status: str, text: str) -> None:
    answer = classify(status, text)
    assert isinstance(answer, Refused)
    assert answer.message == text


def test_a_missing_service_is_missing() -> None:
    text = "Resource 'ranker' of kind 'SERVICE' in region 'europe-west1' in project 'acme-ml' does not exist."
    assert isinstance(classify("NOT_FOUND", text), ServiceMissing)


@pytest.mark.parametrize("status", ["ABORTED", "INVALID_ARGUMENT", "UNAVAILABLE", "NOT_FOUND", "RESOURCE_EXHAUSTED"])
def test_messages_are_bounded_and_on_one_line(status: str) -> None:
    text = str(classify(status, f"{STALE}\n" + "long \n" * 100_000))
    assert len(text) <= MESSAGE_LIMIT
    assert "\n" not in text


def test_an_empty_message_still_says_something() -> None:
    assert "PERMISSION_DENIED" in str(classify("PERMISSION_DENIED", ""))


def test_a_cut_is_marked() -> None:
    assert bounded("abcdef", limit=4) == "abc…"
    assert bounded("  a \n b ") == "a b"
