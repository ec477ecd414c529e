"""The tree of what is raised on purpose: who may catch what."""

import inspect

import pytest

from shared import errors
from shared.errors import Answer, Park, QuotaRefused, Refused, Retry, ServiceMissing, StaleEtag, TokenConflict, TrimtabError

DEFINED = {kind for _, kind in inspect.getmembers(errors, inspect.isclass)}


def test_the_docstring_draws_the_whole_tree() -> None:
    assert errors.__doc__ is not None
    assert all(kind.__name__ in errors.__doc__ for kind in DEFINED)


def test_everything_is_a_trimtab_error() -> None:
    assert all(issubclass(kind, TrimtabError) for kind in DEFINED)


@pytest.mark.parametrize("answer", [TokenConflict, StaleEtag, QuotaRefused, Refused, ServiceMissing])
def test_an_answer_is_neither_later_nor_never(answer: type[Exception]) -> None:
    assert issubclass(answer, Answer)
    assert not issubclass(answer, (Retry, Park))


def test_a_retry_says_why_and_when() -> None:
    retry = Retry("busy")
    assert (str(retry), retry.reason, retry.after_seconds) == ("busy", "busy", 10.0)


def test_a_park_says_its_code_and_its_reason() -> None:
    park = Park("unroutable", "it says no region")
    assert (str(park), park.code, park.reason) == ("unroutable: it says no region", "unroutable", "it says no region")


def test_a_quota_refusal_carries_what_cloud_run_said() -> None:
    refusal = QuotaRefused("no", metric="nvidia_l4", requested=8, allowed=5, allowed_instances=5)
    assert (str(refusal), refusal.metric, refusal.requested, refusal.allowed, refusal.allowed_instances) == ("no", "nvidia_l4", 8, 5, 5)
    assert QuotaRefused("no").allowed_instances is None


def test_a_refusal_carries_its_text() -> None:
    assert (str(Refused("no")), Refused("no").message) == ("no", "no")
