"""One call: its time is bounded as a whole, connection and answer together."""

from typing import Any

import pytest
import requests

from shared.errors import Retry
from shared.gcp.http_session import HttpSession
from shared.gcp.json_calls import JsonCalls


class Unreachable:
    """A session whose peer never answers; it keeps what it was told to wait."""

    def __init__(self) -> None:
        self.waits: list[tuple[float, float]] = []

    def request(self, *_: Any, timeout: tuple[float, float], **__: Any) -> requests.Response:
        self.waits.append(timeout)
        raise requests.ConnectTimeout("nobody there")


def test_connection_and_answer_together_stay_within_the_time_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Unreachable()
    monkeypatch.setattr(HttpSession, "connected", lambda _: session)
    with pytest.raises(Retry, match="the logs: nobody there"):
        JsonCalls("https://example.invalid", "scope", endpoint="http://127.0.0.1:1").call("GET", "/", what="the logs", within_seconds=3.0)
    ((connect, answer),) = session.waits
    assert connect + answer == pytest.approx(3.0)
    assert min(connect, answer) > 0
