import pytest

from shared.cloudrun.refusals import MESSAGE_LIMIT, bounded, classify
from shared.cloudrun.text_meanings import TextAnswer, Where
from shared.cloudrun.texts import KNOWN, PROVISIONING_RETRY_SECONDS, RATE_RETRY_SECONDS
from shared.errors import QuotaRefused, Refused, Retry, RevisionNameTaken, ServiceMissing, StaleEtag

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


@pytest.mark.parametrize("status", ["ALREADY_EXISTS", "ABORTED", "UNKNOWN", "FAILED_PRECONDITION"])
def test_a_revision_name_that_is_taken_is_told_apart_and_named(status: str) -> None:
    answer = classify(status, "Revision named 'ranker-00022-jot' with different configuration already exists.")
    assert isinstance(answer, RevisionNameTaken)
    assert answer.revision == "ranker-00022-jot"


def test_whoever_does_not_number_revisions_is_refused_for_good() -> None:
    assert issubclass(RevisionNameTaken, Refused)
    assert RevisionNameTaken("taken").revision is None


def test_a_service_that_exists_is_refused_and_is_no_revision_name() -> None:
    answer = classify("ALREADY_EXISTS", "Resource 'ranker' already exists")
    assert type(answer) is Refused


@pytest.mark.parametrize("status", ["ABORTED", "FAILED_PRECONDITION", "UNKNOWN"])
def test_a_version_conflict_in_cloud_runs_words_is_stale_under_any_status(status: str) -> None:
    assert isinstance(classify(status, STALE), StaleEtag)


def test_an_etag_that_is_only_mentioned_is_stale_under_aborted_alone() -> None:
    assert isinstance(classify("ABORTED", "the etag does not match"), StaleEtag)
    assert isinstance(classify("INVALID_ARGUMENT", "etag: malformed"), Refused)


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
        ("OUT_OF_RANGE", "no"),
        ("INTERNAL", "Revision 'ranker-00001-x6w' is not ready and cannot serve traffic. Image 'gcr.io/acme/x:v1' not found."),
        ("INTERNAL", "The user-provided container failed to start and listen on the port defined provided by the PORT=8080"),
        ("UNKNOWN", "CPU must be at least 4; memory must be at least 16Gi"),
        ("INVALID_ARGUMENT", "Currently Cloud Run jobs are unable to offer GPU enabled instances with zonal redundancy due to capacity"),
    ],
)
def test_what_would_be_refused_again_is_refused(status: str, text: str) -> None:
    answer = classify(status, text)
    assert isinstance(answer, Refused)
    assert answer.message == text


@pytest.mark.parametrize("status", ["UNIMPLEMENTED", "UNKNOWN"])
def test_a_call_without_a_region_is_our_own_mistake_and_says_so(status: str) -> None:
    answer = classify(status, "Operation is not implemented, or supported, or enabled.")
    assert isinstance(answer, Refused)
    assert answer.message.startswith("Operation is not implemented")
    assert "mistake in the call" in answer.message
    assert "projects/P/locations/REGION" in answer.message


@pytest.mark.parametrize("status", ["UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"])
def test_no_words_make_a_broken_call_permanent(status: str) -> None:
    assert isinstance(classify(status, "upstream: Image 'gcr.io/acme/x' not found"), Retry)
    assert isinstance(classify(status, "the sum should be 100"), Retry)


def test_the_platforms_own_deadline_and_an_unspread_permission_are_tried_again_later() -> None:
    for text in (
        "Resource readiness deadline exceeded.",
        "Health check failed for the deployment with the user-provided VPC network. Got permission denied error.",
    ):
        answer = classify("FAILED_PRECONDITION", text)
        assert isinstance(answer, Retry)
        assert answer.after_seconds == 120


def test_the_rate_limit_is_a_rate_limit_under_any_status() -> None:
    answer = classify("UNKNOWN", RATE)
    assert isinstance(answer, Retry)
    assert answer.after_seconds == RATE_RETRY_SECONDS


def test_exhaustion_in_unknown_words_waits_for_the_next_minute() -> None:
    answer = classify("RESOURCE_EXHAUSTED", "slow down")
    assert isinstance(answer, Retry)
    assert answer.after_seconds == RATE_RETRY_SECONDS


def test_every_text_of_the_admin_api_has_an_answer_that_can_be_raised() -> None:
    handled = {
        TextAnswer.REREAD,
        TextAnswer.RENAME_REVISION,
        TextAnswer.QUOTA,
        TextAnswer.RETRY,
        TextAnswer.NO_CAPACITY,
        TextAnswer.BUG,
        TextAnswer.PARK,
        TextAnswer.FAILED_REVISION,
    }
    assert {known.answer for known in KNOWN if Where.ADMIN_API in known.where} == handled


def test_the_three_failures_of_a_gpu_service_are_told_apart() -> None:
    at_the_call = classify("INVALID_ARGUMENT", GPU_QUOTA)
    at_provisioning = classify("INVALID_ARGUMENT", "Quota exceeded for total allowable count of GPUs per project per region.")
    image = classify("INVALID_ARGUMENT", "Image 'gcr.io/acme/x' not found.")
    assert [type(each) for each in (at_the_call, at_provisioning, image)] == [QuotaRefused, Retry, Refused]


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
