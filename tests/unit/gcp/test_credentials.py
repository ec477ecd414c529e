"""Why there is no token: each reason has its own words and its own mend."""

import pytest
from google.auth import exceptions as auth

from shared.errors import Retry
from shared.gcp.credentials import FAILURES, Lack, lack_of, no_token
from shared.gcp.json_calls import JsonCalls


def error_of(kind: type[Exception], *arguments: object, cause: Exception | None = None, **options: object) -> Exception:
    error = kind(*arguments, **options)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "lack"),
    [
        (error_of(auth.DefaultCredentialsError, "File /none.json was not found."), Lack.NONE),
        (error_of(auth.RefreshError, "invalid_grant: Token has been expired or revoked.", {"error": "invalid_grant"}), Lack.REFUSED),
        (error_of(auth.ReauthFailError, "Reauthentication failed."), Lack.REFUSED),
        (error_of(auth.TransportError, "Max retries exceeded"), Lack.UNREACHABLE),
        # As the metadata server's credentials say it where that server does not answer.
        (error_of(auth.RefreshError, "Failed to retrieve", cause=error_of(auth.TransportError, "x")), Lack.UNREACHABLE),
        (error_of(auth.RefreshError, "internal_failure", retryable=True), Lack.UNREACHABLE),
    ],
)
def test_none_refused_and_unreachable_are_told_apart(error: Exception, lack: Lack) -> None:
    assert isinstance(error, FAILURES)
    assert lack_of(error) is lack
    found = no_token(error, what="reading x", after_seconds=10.0)
    assert isinstance(found, Retry)
    assert str(found) == f"reading x: {lack.value}: {error.args[0]}"


def test_only_signing_in_helps_where_it_helps() -> None:
    assert [lack for lack in Lack if "gcloud auth application-default login" in lack.mend] == [Lack.NONE, Lack.REFUSED]
    assert "network" in Lack.UNREACHABLE.mend


def test_what_the_library_says_stays_short_and_on_one_line() -> None:
    said = str(no_token(error_of(auth.TransportError, "a\nb" * 1_000), after_seconds=1.0))
    assert len(said) < 400
    assert "\n" not in said


def test_a_call_without_a_token_says_which_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise error_of(auth.TransportError, "no route to host")

    monkeypatch.setattr("google.auth.default", fail)
    calls = JsonCalls("https://example.googleapis.com", "scope", endpoint=None)
    with pytest.raises(Retry, match="cannot be reached: no route to host"):
        calls.call("GET", "/x", what="listing", within_seconds=1.0)
