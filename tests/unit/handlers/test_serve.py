"""From a handler to an answer: what delivery acts on, and what people read in the log."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from shared.errors import Park, Retry
from shared.handlers.answer import Handled, ReadBody, serve
from tests.support.rig import PostedRequest


class UnreadableRequest(PostedRequest):
    """A request whose body cannot be read."""

    def __init__(self, error: Exception, length: str = "99") -> None:
        super().__init__(b"", {"Content-Length": length})
        self._error = error

    def get_data(self) -> bytes:
        raise self._error


def answered(act: Callable[[ReadBody], Handled], request: PostedRequest | None = None) -> tuple[str, int]:
    return serve("alert", request or PostedRequest(b"{}"), lambda _headers, read: act(read))


def raising(error: BaseException) -> Callable[[ReadBody], Handled]:
    def act(_read: ReadBody) -> Handled:
        raise error

    return act


def said(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    (line,) = capsys.readouterr().out.splitlines()
    content: dict[str, Any] = json.loads(line)
    return content


@pytest.mark.parametrize("verdict", ["done", "duplicate", "ignored", "parked"])
def test_every_verdict_is_an_acknowledgement(verdict: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert answered(lambda _: Handled(verdict, "k", "d")) == (f"{verdict}\n", 200)
    severity = "WARNING" if verdict == "parked" else "INFO"
    assert said(capsys) == {"severity": severity, "message": verdict, "function": "alert", "key": "k", "detail": "d"}


def test_what_the_world_may_mend_is_sent_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert answered(raising(Retry("busy", after_seconds=7))) == ("later\n", 503)
    line = said(capsys)
    assert (line["severity"], line["reason"], line["after_seconds"]) == ("WARNING", "busy", 7)


def test_a_bug_is_a_500_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert answered(raising(KeyError("oops"))) == ("bug\n", 500)
    line = said(capsys)
    assert (line["severity"], line["error"], line["text"]) == ("ERROR", "KeyError", "'oops'")
    place, *callers = line["where"].split(" < ")
    assert place.startswith(__file__)
    assert place.endswith(" act")
    assert any("answer.py" in caller for caller in callers)


def test_a_bug_with_a_long_text_still_tells_its_place_and_little_of_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    answered(raising(ValueError("s3cret" * 10_000)))
    line = said(capsys)
    assert len(line["text"]) == 300
    assert line["where"].startswith(__file__)
    assert "s3cret" not in line["where"]


def test_a_bug_says_nothing_to_the_sender() -> None:
    assert answered(raising(ValueError("password=hunter2")))[0] == "bug\n"


def test_a_bug_deep_in_a_recursion_is_one_bounded_line(capsys: pytest.CaptureFixture[str]) -> None:
    def deeper(_read: ReadBody) -> Handled:
        return deeper(_read)

    assert answered(deeper)[1] == 500
    assert len(said(capsys)["where"]) < 1_100


def test_a_park_that_no_intake_caught_is_a_bug_not_a_silent_loss() -> None:
    assert answered(raising(Park("unparsable", "x"))) == ("bug\n", 500)


@pytest.mark.parametrize("death", [SystemExit(1), KeyboardInterrupt()])
def test_the_end_of_the_process_is_not_answered_for(death: BaseException) -> None:
    with pytest.raises(type(death)):
        answered(raising(death))


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD", "post"])
def test_only_post_reaches_the_handler(method: str) -> None:
    assert answered(raising(AssertionError()), PostedRequest(b"", method=method)) == ("only POST is taken here\n", 405)


def test_a_sender_that_goes_away_is_waited_for() -> None:
    assert answered(lambda read: Handled("done", read().decode()), UnreadableRequest(ClientDisconnected())) == ("later\n", 503)


def test_a_body_shorter_than_announced_is_not_taken_for_whole() -> None:
    request = PostedRequest(b'{"mess', {"Content-Length": "500"})
    assert answered(lambda read: Handled("done", read().decode()), request) == ("later\n", 503)


def test_a_body_whose_length_is_not_announced_is_taken_as_it_is() -> None:
    assert answered(lambda read: Handled("done", read().decode()), PostedRequest(b"{}", {})) == ("done\n", 200)


def test_the_length_of_a_chunked_body_is_not_believed() -> None:
    request = PostedRequest(b"{}", {"Content-Length": "500", "Transfer-Encoding": "chunked"})
    assert answered(lambda read: Handled("done", read().decode()), request) == ("done\n", 200)


@pytest.mark.parametrize("length", ["101", "1" * 5_000, "nonsense"])
def test_a_body_the_server_will_not_read_is_for_the_intake_to_park(length: str) -> None:
    caught: list[Park] = []

    def act(read: ReadBody) -> Handled:
        with pytest.raises(Park) as park:
            read()
        caught.append(park.value)
        return Handled("parked", "k")

    assert answered(act, UnreadableRequest(RequestEntityTooLarge(), length))[1] == 200
    assert caught[0].code == "too-large"
    assert len(caught[0].reason) < 120


def test_headers_reach_the_handler_as_they_came() -> None:
    seen: list[Mapping[str, str]] = []

    def act(headers: Mapping[str, str], _read: ReadBody) -> Handled:
        seen.append(headers)
        return Handled("done", "k")

    serve("alert", PostedRequest(b"", {"CE-ID": "1"}), act)
    assert seen == [{"CE-ID": "1"}]
