"""One HTTP session to a Google API for a whole process, made at first use."""

import os
import threading

import google.auth
import requests
from google.auth.transport.requests import AuthorizedSession


class HttpSession:
    """A session with the environment's credentials; `anonymous`, for a simulated API on loopback, without.

    Thread-safe; made at first use, and anew in a forked process.
    """

    def __init__(self, *scopes: str, anonymous: bool) -> None:
        self._scopes = scopes
        self._anonymous = anonymous
        self._lock = threading.Lock()
        self._session: requests.Session | None = None
        self._process = 0

    def connected(self) -> requests.Session:
        """The session.

        Raises:
            google.auth.exceptions.DefaultCredentialsError: the environment has no credentials.
        """
        with self._lock:
            if self._session is None or self._process != os.getpid():
                self._session = self._new()
                self._process = os.getpid()
            return self._session

    def close(self) -> None:
        """Close the session; the next use opens a new one."""
        with self._lock:
            session, self._session = self._session, None
            ours = self._process == os.getpid()
        if session is not None and ours:
            session.close()

    def _new(self) -> requests.Session:
        if self._anonymous:
            session = requests.Session()
            # A proxy named in the environment must not be asked for loopback.
            session.trust_env = False
            return session
        credentials, _ = google.auth.default(scopes=self._scopes)
        authorized: requests.Session = AuthorizedSession(credentials)  # type: ignore[no-untyped-call]  # it declares no types
        return authorized
