"""Identity tokens for calling Trimtab's own functions: whoever calls a private Cloud Run service must show one."""

import google.auth
import google.auth.transport.requests
import google.oauth2.id_token
from google.auth import exceptions as auth

from shared.errors import Retry
from shared.gcp.credentials import FAILURES, no_token

SCOPES = ("openid", "https://www.googleapis.com/auth/userinfo.email")
RETRY_SECONDS = 10.0


def identity_token(audience: str) -> str:
    """A token for the service at `audience` (`https://...run.app`), from the environment's credentials.

    A service account's token names the audience. A person's credentials give one that Google made for the program that they signed in
    with; where Cloud Run does not take that, `gcloud auth print-identity-token` makes one that it takes.

    Raises:
        Retry: there are no credentials, or Google did not answer; the reason says which.
    """
    request = google.auth.transport.requests.Request()
    try:
        return str(google.oauth2.id_token.fetch_id_token(request, audience))  # type: ignore[no-untyped-call]  # it declares no types
    except auth.DefaultCredentialsError:
        return _of_a_person(request)
    except auth.GoogleAuthError as error:
        raise Retry(f"no identity token for {audience}: {error}") from error


def _of_a_person(request: google.auth.transport.requests.Request) -> str:
    try:
        credentials, _ = google.auth.default(scopes=SCOPES)
        credentials.refresh(request)  # type: ignore[no-untyped-call]  # it declares no types
    except FAILURES as error:
        raise no_token(error, after_seconds=RETRY_SECONDS) from error
    except auth.GoogleAuthError as error:
        raise Retry(f"no token: {error}") from error
    token = getattr(credentials, "id_token", None)
    if not token:
        raise Retry("the environment's credentials give no identity token")
    return str(token)
