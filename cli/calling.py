"""How commands call a function: over HTTPS with an identity token, or the local edition over plain HTTP."""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from cli.shown import EXIT_UNANSWERED, EXIT_WRONG, one_line, stop

DEFAULT_BASE = "http://127.0.0.1:8080"
"""Where `trimtab local` listens."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
TIMEOUT_SECONDS = 60.0
ANSWER_LIMIT_BYTES = 256 * 1_024
EXIT_REFUSED = 1
"""The function answered that it will not do it."""
SHOWN_CHARACTERS = 2_000
_LATER = 500


class Told(NamedTuple):
    """What a function answered."""

    status: int
    text: str


_HOST_AND_PORT = re.compile(r"[A-Za-z0-9.-]+:[0-9]{1,5}|\[[0-9a-fA-F:]+\]:[0-9]{1,5}")


def address(to: str | None, function: str) -> str:
    """The URL of a function: the local edition's where nothing is given, or only its host and port; else as it is given.

    Ends the command for what is no URL, and for plain HTTP to another machine: a token would travel unprotected.
    """
    url = to or DEFAULT_BASE
    if _HOST_AND_PORT.fullmatch(url):
        url = f"http://{url}"
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        stop(f"--to {one_line(url)}: want an address like https://trimtab-{function}-....run.app or {DEFAULT_BASE}", EXIT_WRONG)
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        stop(f"--to {one_line(url)}: plain HTTP is spoken on this machine only; want https", EXIT_WRONG)
    return f"{url.rstrip('/')}/{function}" if parts.scheme == "http" and parts.path in ("", "/") else url


def post(url: str, headers: Mapping[str, str], body: bytes, *, token: str | None) -> Told:
    """POST the body. Ends the command where nobody answers, or no token is to be had."""
    import requests

    from shared.errors import Retry
    from shared.gcp.identity_token import identity_token

    parts = urlsplit(url)
    sent = {"Content-Type": "application/json", **headers}
    try:
        if token is not None or parts.scheme == "https":
            sent["Authorization"] = f"Bearer {token if token is not None else identity_token(f'https://{parts.netloc}')}"
        with requests.Session() as session:
            session.trust_env = parts.scheme == "https"
            session.auth = lambda request: request  # no password of a .netrc in place of the token
            answer = session.post(url, data=body, headers=sent, timeout=TIMEOUT_SECONDS, allow_redirects=False, stream=True)
            text = answer.raw.read(ANSWER_LIMIT_BYTES, decode_content=True).decode("utf-8", "replace")
    except Retry as retry:
        stop(f'{one_line(retry.reason)}; or give --token "$(gcloud auth print-identity-token)"', EXIT_UNANSWERED)
    except (requests.RequestException, OSError, UnicodeError) as error:
        there = "; is trimtab local running on that port?" if parts.scheme == "http" else ""
        stop(f"{one_line(url)} did not answer{there} ({one_line(str(error))})", EXIT_UNANSWERED)
    return Told(answer.status_code, text)


def exit_code(told: Told) -> int:
    """0: done (or done before, or ignored). 1: refused or parked. 3: not now."""
    if told.status >= _LATER:
        return EXIT_UNANSWERED
    return 0 if told.status == 200 and told.text.strip() != "parked" else EXIT_REFUSED  # noqa: PLR2004 (HTTP's own number)
