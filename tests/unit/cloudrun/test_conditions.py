"""What a condition or an operation's error means, by its reason in either spelling and by its message, never by a code."""

import pytest
from google.cloud import run_v2
from hypothesis import given
from hypothesis import strategies as st

from shared.cloudrun.conditions import REASONS, VerdictKind, canonical_reason, meaning_of, service_verdict
from shared.cloudrun.refusals import classify
from shared.errors import QuotaRefused

WAIT, RETRY, FAILED, REFUSED = VerdictKind.WAIT, VerdictKind.RETRY, VerdictKind.FAILED_REVISION, VerdictKind.REFUSED
RETIRED, UNPROVED, UNKNOWN = VerdictKind.RETIRED, VerdictKind.UNPROVED, VerdictKind.UNKNOWN

NO_GPUS = (
    "Revision 'ranker-00002-abc' is not ready and cannot serve traffic. "
    "Quota exceeded for total allowable count of GPUs per project per region."
)
NOT_STARTED = "The user-provided container failed to start and listen on the port defined provided by the PORT=8080 environment variable"
VPC = "Health check failed for the deployment with the user-provided VPC network. Got permission denied error."

KINDS = {
    "COMMON_REASON_UNDEFINED": UNKNOWN,
    "UNKNOWN": UNKNOWN,
    "REVISION_FAILED": FAILED,
    "PROGRESS_DEADLINE_EXCEEDED": RETRY,
    "CONTAINER_MISSING": REFUSED,
    "CONTAINER_PERMISSION_DENIED": REFUSED,
    "CONTAINER_IMAGE_UNAUTHORIZED": REFUSED,
    "CONTAINER_IMAGE_AUTHORIZATION_CHECK_FAILED": REFUSED,
    "ENCRYPTION_KEY_PERMISSION_DENIED": REFUSED,
    "ENCRYPTION_KEY_CHECK_FAILED": REFUSED,
    "SECRETS_ACCESS_CHECK_FAILED": REFUSED,
    "WAITING_FOR_OPERATION": WAIT,
    "IMMEDIATE_RETRY": WAIT,
    "POSTPONED_RETRY": WAIT,
    "INTERNAL": RETRY,
    "VPC_NETWORK_NOT_FOUND": REFUSED,
    "REVISION_REASON_UNDEFINED": UNKNOWN,
    "PENDING": WAIT,
    "RESERVE": UNPROVED,
    "RETIRED": RETIRED,
    "RETIRING": RETIRED,
    "RECREATING": WAIT,
    "HEALTH_CHECK_CONTAINER_ERROR": FAILED,
    "CUSTOMIZED_PATH_RESPONSE_PENDING": WAIT,
    "MIN_INSTANCES_NOT_PROVISIONED": WAIT,
    "ACTIVE_REVISION_LIMIT_REACHED": VerdictKind.REVISION_LIMIT,
    "NO_DEPLOYMENT": UNPROVED,
    "HEALTH_CHECK_SKIPPED": UNPROVED,
    "MIN_INSTANCES_WARMING": WAIT,
}


def camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def test_every_reason_of_the_admin_api_is_known() -> None:
    theirs = {reason.name for reason in (*run_v2.Condition.CommonReason, *run_v2.Condition.RevisionReason)}
    assert set(REASONS) == theirs == set(KINDS)


@pytest.mark.parametrize(("reason", "kind"), KINDS.items())
def test_each_reason_has_its_meaning_in_both_spellings(reason: str, kind: VerdictKind) -> None:
    assert meaning_of(reason=reason).kind == kind
    assert meaning_of(reason=camel(reason)) == meaning_of(reason=reason)


@pytest.mark.parametrize(
    ("spelled", "reason"),
    [
        ("HealthCheckContainerError", "HEALTH_CHECK_CONTAINER_ERROR"),
        ("VPCNetworkNotFound", "VPC_NETWORK_NOT_FOUND"),
        ("RETIRED", "RETIRED"),
        ("retired", "RETIRED"),
        ("", ""),
    ],
)
def test_spellings(spelled: str, reason: str) -> None:
    assert canonical_reason(spelled) == reason


@pytest.mark.parametrize("reason", ["", "REVISION_FAILED", "INTERNAL", "HEALTH_CHECK_CONTAINER_ERROR", "RevisionFailed"])
def test_no_gpus_at_provisioning_is_a_quota_whatever_the_reason(reason: str) -> None:
    verdict = meaning_of(reason=reason, message=NO_GPUS)
    assert verdict.kind == VerdictKind.QUOTA
    assert verdict.after_seconds == 300
    assert "new revision number" in verdict.why


def test_a_quota_at_provisioning_carries_its_numbers_where_they_are_stated() -> None:
    text = f"{NO_GPUS} Quota violated: NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion requested: 3 allowed: 1"
    verdict = meaning_of(message=text)
    assert (verdict.kind, verdict.requested, verdict.allowed) == (VerdictKind.QUOTA, 3, 1)


def test_of_several_quotas_the_tightest_is_carried_as_it_is_where_a_call_is_refused() -> None:
    text = (
        "Max instances must be set to 0 or fewer to set the requested total CPU/memory. Quota violated: "
        "CpuAllocPerProjectRegion requested: 60000 allowed: 20000 MemAllocPerProjectRegion requested: 257698037760 allowed: 42949672960"
    )
    verdict, refused = meaning_of(message=text), classify("INVALID_ARGUMENT", text)
    assert isinstance(refused, QuotaRefused)
    assert (verdict.requested, verdict.allowed) == (refused.requested, refused.allowed) == (257_698_037_760, 42_949_672_960)


@pytest.mark.parametrize("reason", ["", "UNKNOWN", "INTERNAL", "HealthCheckContainerError"])
def test_a_container_that_does_not_start_is_a_failed_revision(reason: str) -> None:
    assert meaning_of(reason=reason, message=NOT_STARTED).kind == FAILED


def test_an_unspread_permission_on_the_network_passes() -> None:
    verdict = meaning_of(reason="HEALTH_CHECK_CONTAINER_ERROR", message=VPC)
    assert (verdict.kind, verdict.retries) == (RETRY, 3)


def test_the_platforms_own_deadline_is_worth_one_more_try() -> None:
    assert meaning_of(message="Resource readiness deadline exceeded.").retries == 1


def test_a_missing_image_is_for_a_person() -> None:
    assert meaning_of(message="Revision 'a-1' is not ready and cannot serve traffic. Image 'gcr.io/a/b' not found.").kind == REFUSED


def test_what_cloud_run_tries_again_by_itself_is_waited_for_and_says_what_it_waits_for() -> None:
    verdict = meaning_of(reason="POSTPONED_RETRY", message=NO_GPUS)
    assert verdict.kind == WAIT
    assert "GPUs" in verdict.why


@pytest.mark.parametrize("state", ["CONDITION_SUCCEEDED", "succeeded", "True"])
def test_a_condition_that_holds_is_ready(state: str) -> None:
    assert meaning_of(state=state).kind == VerdictKind.READY
    assert meaning_of(state=state, reason="MIN_INSTANCES_NOT_PROVISIONED").kind == VerdictKind.READY


@pytest.mark.parametrize(
    ("reason", "kind"), [("Retired", RETIRED), ("RETIRING", RETIRED), ("RESERVE", UNPROVED), ("HEALTH_CHECK_SKIPPED", UNPROVED)]
)
def test_ready_is_no_proof_of_a_start_where_nothing_is_served(reason: str, kind: VerdictKind) -> None:
    assert meaning_of(state="CONDITION_SUCCEEDED", reason=reason).kind == kind


@pytest.mark.parametrize("state", ["CONDITION_PENDING", "CONDITION_RECONCILING", "Unknown", "reconciling"])
def test_a_condition_under_way_is_waited_for_whatever_it_says_meanwhile(state: str) -> None:
    assert meaning_of(state=state, reason="REVISION_FAILED", message=NOT_STARTED).kind == WAIT


@pytest.mark.parametrize("state", ["", "STATE_UNSPECIFIED", "CONDITION_OF_THE_FUTURE"])
def test_a_state_this_code_does_not_know_goes_by_its_words(state: str) -> None:
    assert meaning_of(state=state).kind == WAIT
    assert meaning_of(state=state, message=NOT_STARTED).kind == FAILED


def test_every_state_of_the_admin_api_is_read() -> None:
    kinds = {state.name: meaning_of(state=state.name).kind for state in run_v2.Condition.State.__members__.values()}
    assert kinds == {
        "STATE_UNSPECIFIED": WAIT,
        "CONDITION_PENDING": WAIT,
        "CONDITION_RECONCILING": WAIT,
        "CONDITION_FAILED": UNKNOWN,
        "CONDITION_SUCCEEDED": VerdictKind.READY,
    }


@pytest.mark.parametrize(
    ("type_", "kind"), [("Active", UNPROVED), ("ContainerHealthy", FAILED), ("Ready", UNKNOWN), ("RoutesReady", UNKNOWN)]
)
def test_a_wordless_failure_goes_by_its_type(type_: str, kind: VerdictKind) -> None:
    assert meaning_of(type_=type_).kind == kind


def test_a_reason_of_the_future_is_tried_once_more_and_named() -> None:
    verdict = meaning_of(reason="SOLAR_FLARE", message="too sunny")
    assert (verdict.kind, verdict.retries) == (UNKNOWN, 1)
    assert "SOLAR_FLARE" in verdict.why


@given(reason=st.text(max_size=40) | st.sampled_from(sorted(REASONS)), message=st.text(max_size=80), state=st.text(max_size=20))
def test_anything_has_a_verdict_with_a_why(reason: str, message: str, state: str) -> None:
    verdict = meaning_of(reason=reason, message=message, state=state)
    assert verdict.why
    assert verdict.kind != RETRY or verdict.after_seconds is not None


@pytest.mark.parametrize(
    ("generation", "observed", "reconciling", "state", "kind"),
    [
        (7, 7, False, "CONDITION_SUCCEEDED", VerdictKind.READY),
        (7, 6, True, "CONDITION_RECONCILING", WAIT),
        (7, 6, False, "CONDITION_SUCCEEDED", WAIT),
        (7, 7, True, "CONDITION_SUCCEEDED", WAIT),
        (7, 6, True, "CONDITION_FAILED", WAIT),
        (7, 6, False, "CONDITION_FAILED", FAILED),
        (8, 8, False, "CONDITION_SUCCEEDED", VerdictKind.SUPERSEDED),
        (6, 6, False, "CONDITION_SUCCEEDED", WAIT),
    ],
)
def test_what_became_of_a_write(generation: int, observed: int, reconciling: bool, state: str, kind: VerdictKind) -> None:
    verdict = service_verdict(
        written_generation=7,
        generation=generation,
        observed_generation=observed,
        reconciling=reconciling,
        state=state,
        reason="REVISION_FAILED",
    )
    assert verdict.kind == kind


def test_a_service_scaled_by_hand_to_nothing_is_unproved_once_it_is_settled() -> None:
    def after(observed: int) -> VerdictKind:
        return service_verdict(
            written_generation=7,
            generation=7,
            observed_generation=observed,
            reconciling=False,
            state="CONDITION_SUCCEEDED",
            reason="HEALTH_CHECK_SKIPPED",
        ).kind

    assert (after(6), after(7)) == (WAIT, UNPROVED)


def test_a_failed_wait_for_instances_that_names_a_quota_is_the_quota() -> None:
    text = "Quota exceeded for total allowable count of GPUs per project per region."
    assert meaning_of(reason="MIN_INSTANCES_NOT_PROVISIONED", message=text).kind is VerdictKind.QUOTA
    assert meaning_of(reason="MIN_INSTANCES_NOT_PROVISIONED", message=text, state="CONDITION_RECONCILING").kind is VerdictKind.WAIT
    assert meaning_of(reason="MIN_INSTANCES_NOT_PROVISIONED").kind is VerdictKind.WAIT
