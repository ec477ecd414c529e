"""Who wrote a service last, as far as its own fields tell. Pure.

Sure is only `last_modifier`: Cloud Run sets it to the principal of the write. `client` is free text that the writer may set: gcloud
writes `gcloud`, the console `cloud-console`, some Terraform configurations `terraform`. A writer that masks its update, or sets
nothing, leaves the last value there, so it can be that of an earlier writer. Google's Terraform provider labels what it makes with
`goog-terraform-provisioned: true`; the label stays when somebody else writes later. Where these decide, the answer is a
best guess; an audit log entry (its caller's user agent) is the proof.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum

TERRAFORM_LABEL = "goog-terraform-provisioned"
PEOPLES_CLIENTS = frozenset({"gcloud", "cloud-console"})
"""Values of `client` that a tool in a person's hands writes. A pipeline that runs gcloud writes them too."""

_SERVICE_ACCOUNT = ".gserviceaccount.com"
_RUN_AGENT_DOMAIN = "serverless-robot-prod.iam.gserviceaccount.com"
_AGENT_DOMAIN = "gcp-sa-"
_DEPLOYING_DOMAINS = (
    "cloudbuild.gserviceaccount.com",
    "gcp-sa-cloudbuild.iam.gserviceaccount.com",
    "gcp-sa-clouddeploy.iam.gserviceaccount.com",
    "gcf-admin-robot.iam.gserviceaccount.com",
    "cloudservices.gserviceaccount.com",
)
"""Google's own accounts that deploy what a person told them to: Cloud Build, Cloud Deploy, functions, Deployment Manager."""


class Writer(StrEnum):
    """Who wrote."""

    TRIMTAB = "trimtab"
    PERSON = "person"
    TERRAFORM = "terraform"
    AUTOMATION = "automation"
    """Another service account: a pipeline, another controller."""
    PLATFORM = "platform"
    """Cloud Run itself: its reconciliation moves a service's version without anybody's change."""
    UNKNOWN = "unknown"


def writer_of(
    *,
    last_modifier: str,
    ours: Collection[str],
    generation_changed: bool = True,
    client: str = "",
    labels: Mapping[str, str] | None = None,
) -> Writer:
    """Who wrote the service last. The first rule that holds decides.

    1. `generation_changed` false (the generation is the one of the reading before): PLATFORM. Only the version moved.
    2. `last_modifier` is one of `ours`, the principals that Trimtab runs as: TRIMTAB, whatever `client` says.
    3. A Google account that deploys for others (Cloud Build's, Cloud Deploy's): AUTOMATION, or TERRAFORM if it says so.
    4. Another service agent of Google (Cloud Run's own, `@gcp-sa-...`): PLATFORM.
    5. Any other principal that is no person (service account, workload identity): TERRAFORM if the label or `client` says so, else
       AUTOMATION. A person who impersonates a service account looks the same.
    6. A person's e-mail (or workforce identity): TERRAFORM if both the label and `client` say so, else PERSON.
    7. No principal that can be read: PERSON if `client` is a person's tool, TERRAFORM if it is Terraform, else UNKNOWN.

    Principals are compared without case and without `user:` or `serviceAccount:`.
    """
    if not generation_changed:
        return Writer.PLATFORM
    principal = _bare(last_modifier)
    if principal and principal in {_bare(each) for each in ours}:
        return Writer.TRIMTAB
    tool = client.strip().lower()
    labelled = (labels or {}).get(TERRAFORM_LABEL, "").strip().lower() == "true"
    by_terraform = "terraform" in tool
    domain = principal.rpartition("@")[2] if "@" in principal else ""
    if _is_googles(domain):
        return Writer.PLATFORM
    if domain.endswith(_SERVICE_ACCOUNT) or "/workloadidentitypools/" in principal:
        return Writer.TERRAFORM if labelled or by_terraform else Writer.AUTOMATION
    if domain or "/workforcepools/" in principal:
        return Writer.TERRAFORM if labelled and by_terraform else Writer.PERSON
    if by_terraform:
        return Writer.TERRAFORM
    return Writer.PERSON if tool in PEOPLES_CLIENTS else Writer.UNKNOWN


def _bare(principal: str) -> str:
    bare = principal.strip().lower()
    for prefix in ("user:", "serviceaccount:"):
        bare = bare.removeprefix(prefix)
    return bare


def _is_googles(domain: str) -> bool:
    """Whether the domain is that of a service agent that acts for Google, not for a person who deploys."""
    if domain in _DEPLOYING_DOMAINS:
        return False
    return domain == _RUN_AGENT_DOMAIN or (domain.startswith(_AGENT_DOMAIN) and domain.endswith(_SERVICE_ACCOUNT))
