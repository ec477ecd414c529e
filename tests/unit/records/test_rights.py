"""Rights come from the subscription or the verified identity, from nothing else, and without a grant there are none."""

import pytest
from pydantic import ValidationError

from shared.records.rights import Caller, Grants
from shared.records.subject import ServiceId

RANKER = ServiceId(project="acme-ml", region="europe-west1", name="ranker")
OTHER = ServiceId(project="acme-ml-prod", region="europe-west1", name="ranker")
SUBSCRIPTION = "projects/acme-ml/subscriptions/commands"
GRANTS = Grants.of(
    [
        {"subscription": SUBSCRIPTION, "commands": ["patch", "hold"], "services": ["acme-ml:europe-west1:*"]},
        {"identity": "Alice@example.com", "commands": ["apply"], "services": ["acme-ml:europe-west1:ranker"]},
        {"identity": "oncall@example.com", "commands": ["hold", "redrive"], "services": ["*"]},
    ]
)


@pytest.mark.parametrize(
    ("caller", "command", "service", "allowed"),
    [
        (Caller(subscription=SUBSCRIPTION), "patch", RANKER, True),
        (Caller(subscription=SUBSCRIPTION), "apply", RANKER, False),
        (Caller(subscription=SUBSCRIPTION), "patch", OTHER, False),
        (Caller(subscription=SUBSCRIPTION), "hold", None, False),
        (Caller(subscription=f"{SUBSCRIPTION}-2"), "patch", RANKER, False),
        (Caller(identity="alice@example.com"), "apply", RANKER, True),
        (Caller(identity="alice@example.com"), "patch", RANKER, False),
        (Caller(identity="alice@example.com.evil.org"), "apply", RANKER, False),
        (Caller(identity=SUBSCRIPTION), "patch", RANKER, False),
        (Caller(identity="oncall@example.com"), "hold", None, True),
        (Caller(identity="oncall@example.com"), "hold", OTHER, True),
        (Caller(), "hold", RANKER, False),
        (Caller(trusted=True), "delete", OTHER, True),
    ],
)
def test_who_may_what(caller: Caller, command: str, service: ServiceId | None, allowed: bool) -> None:
    assert GRANTS.allows(caller, command, service) is allowed


def test_without_grants_nobody_may_anything() -> None:
    assert not Grants().allows(Caller(identity="alice@example.com"), "reconcile", RANKER)


@pytest.mark.parametrize(
    "grant",
    [
        {"commands": ["apply"], "services": ["*"]},
        {"identity": "a@b", "subscription": SUBSCRIPTION, "commands": ["apply"], "services": ["*"]},
        {"identity": "a@b", "commands": ["applly"], "services": ["*"]},
        {"identity": "a@b", "commands": [], "services": ["*"]},
        {"identity": "a@b", "commands": ["apply"], "services": []},
        {"identity": "a@b", "commands": ["apply"], "services": ["*:ranker"]},
        {"identity": "allUsers", "commands": ["apply"], "services": ["*"]},
        {"subscription": "commands", "commands": ["apply"], "services": ["*"]},
        {"identity": "a@b", "commands": ["apply"], "services": ["*"], "until": "2027"},
    ],
)
def test_a_grant_that_could_mean_something_else_is_refused(grant: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Grants.of([grant])
