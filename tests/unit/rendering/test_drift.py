"""A service that moved: what moved, and by whom."""

from typing import Any

import pytest

from shared.cloudrun.drift import Writer
from shared.rendering.drift import drift
from shared.rendering.messages import service_to_json
from tests.support.desired import rendered

OURS = ("trimtab@acme-ml.iam.gserviceaccount.com",)
LEFT: dict[str, Any] = {**service_to_json(rendered()), "generation": "7", "etag": "1", "lastModifier": OURS[0], "client": "trimtab"}


def seen(**fields: Any) -> dict[str, Any]:
    return {**LEFT, "etag": "2", **fields}


def test_a_version_that_cloud_run_moved_by_itself_is_no_drift() -> None:
    assert drift(LEFT, seen(), ours=OURS) is None


def test_a_write_that_says_the_same_in_other_words_is_no_drift() -> None:
    template = {**LEFT["template"], "maxInstanceRequestConcurrency": 96, "labels": {}}
    assert drift(LEFT, seen(generation="8", lastModifier="kim@acme.example", template=template), ours=OURS) is None


@pytest.mark.parametrize(
    ("fields", "writer"),
    [
        ({"lastModifier": "kim@acme.example", "client": "gcloud"}, Writer.PERSON),
        ({"lastModifier": "kim@acme.example", "client": "cloud-console"}, Writer.PERSON),
        (
            {"lastModifier": "tf@acme-ml.iam.gserviceaccount.com", "labels": {"goog-terraform-provisioned": "true"}, "client": ""},
            Writer.TERRAFORM,
        ),
        ({"lastModifier": "deploy@acme-ml.iam.gserviceaccount.com", "client": "gcloud"}, Writer.AUTOMATION),
        ({"lastModifier": "service-42@serverless-robot-prod.iam.gserviceaccount.com", "client": ""}, Writer.PLATFORM),
        ({"lastModifier": OURS[0]}, Writer.TRIMTAB),
    ],
)
def test_people_terraform_pipelines_the_platform_and_trimtab_are_told_apart(fields: dict[str, Any], writer: Writer) -> None:
    template = {**LEFT["template"], "timeout": "30s"}
    found = drift(LEFT, seen(generation="8", template=template, **fields), ours=OURS)
    assert found is not None
    assert (found.writer, found.principal) == (writer, fields["lastModifier"])
    timeout = next(change for change in found.changes if change.path == "template.timeout")
    assert (timeout.before, timeout.after, timeout.new_revision) == (60.0, 30.0, True)


def test_what_changed_without_a_new_generation_was_changed_by_the_platform() -> None:
    found = drift(LEFT, seen(launchStage="BETA"), ours=OURS)
    assert found is not None
    assert (found.writer, [change.path for change in found.changes]) == (Writer.PLATFORM, ["launchStage"])
