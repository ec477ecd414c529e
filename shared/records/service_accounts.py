"""Whose rights a service may be given: addresses of service accounts, and which of them belong to the service's own project. Pure."""

import re
from collections.abc import Iterator

from shared.records.refusal import Authority, Refusal, shown

FIELD = "spec.serving.service_account"
IAM_DOMAIN = ".iam.gserviceaccount.com"
"""Behind the project's id in the addresses of its own accounts."""
APP_ENGINE_DOMAIN = "appspot.gserviceaccount.com"
"""App Engine's default account is its project's id at this."""
COMPUTE_ACCOUNT = re.compile(r"[0-9]+-compute@developer\.gserviceaccount\.com")
"""Compute Engine's default account, which has its project's number: whose it is cannot be told by the id."""


def account_refusals(account: str, *, project: str, others_allowed: bool) -> Iterator[Refusal]:
    """What is wrong with the account of a service in that project; `others_allowed` where a list says which ones may be used."""
    own = home_of(project)
    name, _, domain = account.rpartition("@")
    home = domain.removesuffix(IAM_DOMAIN) if domain.endswith(IAM_DOMAIN) else name if domain == APP_ENGINE_DOMAIN else None
    if home is None and COMPUTE_ACCOUNT.fullmatch(account) is None:
        yield Refusal(
            field=FIELD,
            value=shown(account),
            limit=f"name@{own}{IAM_DOMAIN}",
            why="this is no service account's address, and Cloud Run runs services as nothing else",
            fix="name a service account",
            authority=Authority.CLOUD_RUN,
        )
    elif home is not None and home != own and not others_allowed:
        yield Refusal(
            field=FIELD,
            value=shown(account),
            limit=f"an account of the service's own project, name@{own}{IAM_DOMAIN}",
            why=f"it belongs to the project {shown(home)}, and its rights would pass to this service",
            fix="use an account of the service's project, or have TRIMTAB_ALLOWED_SERVICE_ACCOUNTS name this one",
            authority=Authority.TRIMTAB,
        )


def home_of(project: str) -> str:
    """The project's part of its service accounts' addresses: `example.com:acme-ml` is `acme-ml.example.com` there."""
    domain, colon, name = project.rpartition(":")
    return f"{name}.{domain}" if colon else project
