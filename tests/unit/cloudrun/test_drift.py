"""Who wrote a service last, and how far that is a guess."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.cloudrun.drift import TERRAFORM_LABEL, Writer, writer_of

OURS = ("trimtab-reconcile@acme-ml.iam.gserviceaccount.com",)
PIPELINE = "deploy@acme-ml.iam.gserviceaccount.com"
PERSON = "kim@acme.example"
TERRAFORM = {TERRAFORM_LABEL: "true"}


def test_a_version_that_moved_without_a_generation_was_moved_by_the_platform() -> None:
    assert writer_of(last_modifier=PERSON, ours=OURS, generation_changed=False) == Writer.PLATFORM


@pytest.mark.parametrize("spelled", [OURS[0], OURS[0].upper(), f"serviceAccount:{OURS[0]}", f" {OURS[0]} "])
def test_our_own_principal_is_us_whatever_the_client_says(spelled: str) -> None:
    assert writer_of(last_modifier=spelled, ours=OURS, client="gcloud", labels=TERRAFORM) == Writer.TRIMTAB


def test_ours_may_be_written_as_an_iam_member() -> None:
    assert writer_of(last_modifier=OURS[0], ours=[f"serviceAccount:{OURS[0]}"]) == Writer.TRIMTAB


@pytest.mark.parametrize(
    "agent",
    ["service-42@serverless-robot-prod.iam.gserviceaccount.com", "service-42@gcp-sa-eventarc.iam.gserviceaccount.com"],
)
def test_googles_service_agents_are_the_platform(agent: str) -> None:
    assert writer_of(last_modifier=agent, ours=OURS, client="gcloud") == Writer.PLATFORM


@pytest.mark.parametrize(
    "account",
    [
        "42@cloudbuild.gserviceaccount.com",
        "service-42@gcp-sa-cloudbuild.iam.gserviceaccount.com",
        "service-42@gcp-sa-clouddeploy.iam.gserviceaccount.com",
        "service-42@gcf-admin-robot.iam.gserviceaccount.com",
        "42@cloudservices.gserviceaccount.com",
        "42-compute@developer.gserviceaccount.com",
        PIPELINE,
        "principal://iam.googleapis.com/projects/42/locations/global/workloadIdentityPools/ci/subject/repo:acme/ranker",
    ],
)
def test_an_account_that_deploys_for_somebody_is_automation(account: str) -> None:
    assert writer_of(last_modifier=account, ours=OURS, client="gcloud") == Writer.AUTOMATION
    assert writer_of(last_modifier=account, ours=OURS, labels=TERRAFORM) == Writer.TERRAFORM


@pytest.mark.parametrize(("client", "labels"), [("", TERRAFORM), ("terraform", {}), ("Terraform/1.9", {}), ("gcloud", TERRAFORM)])
def test_terraform_is_known_by_its_label_or_its_client_with_a_service_account(client: str, labels: dict[str, str]) -> None:
    assert writer_of(last_modifier=PIPELINE, ours=OURS, client=client, labels=labels) == Writer.TERRAFORM


@pytest.mark.parametrize(
    "principal", [PERSON, f"user:{PERSON}", "principal://iam.googleapis.com/locations/global/workforcePools/acme/subject/kim"]
)
@pytest.mark.parametrize("client", ["", "gcloud", "cloud-console"])
def test_a_persons_address_is_a_person_on_a_service_of_terraform_too(principal: str, client: str) -> None:
    assert writer_of(last_modifier=principal, ours=OURS, client=client) == Writer.PERSON
    assert writer_of(last_modifier=principal, ours=OURS, client=client, labels=TERRAFORM) == Writer.PERSON


def test_a_person_who_runs_terraform_is_terraform() -> None:
    assert writer_of(last_modifier=PERSON, ours=OURS, client="terraform", labels=TERRAFORM) == Writer.TERRAFORM
    assert writer_of(last_modifier=PERSON, ours=OURS, client="terraform") == Writer.PERSON


@pytest.mark.parametrize("label", ["false", "", "TRUE"])
def test_only_a_true_label_counts(label: str) -> None:
    expected = Writer.TERRAFORM if label == "TRUE" else Writer.AUTOMATION
    assert writer_of(last_modifier=PIPELINE, ours=OURS, labels={TERRAFORM_LABEL: label}) == expected


@pytest.mark.parametrize(
    ("client", "writer"),
    [
        ("gcloud", Writer.PERSON),
        ("cloud-console", Writer.PERSON),
        ("terraform", Writer.TERRAFORM),
        ("", Writer.UNKNOWN),
        ("curl", Writer.UNKNOWN),
    ],
)
@pytest.mark.parametrize("principal", ["", "somebody"])
def test_without_a_readable_principal_the_client_is_all_there_is(principal: str, client: str, writer: Writer) -> None:
    assert writer_of(last_modifier=principal, ours=OURS, client=client) == writer


def test_nobody_is_not_us() -> None:
    assert writer_of(last_modifier="", ours=["", *OURS]) == Writer.UNKNOWN


@given(st.text(max_size=60), st.text(max_size=20), st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=2))
def test_only_our_principals_are_ever_us(modifier: str, client: str, labels: dict[str, str]) -> None:
    assert writer_of(last_modifier=modifier, ours=OURS, client=client, labels=labels) != Writer.TRIMTAB
