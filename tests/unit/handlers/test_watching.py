"""Who watches a request is told what it came to, and decides nothing."""

import contextlib
import json
from collections.abc import Iterator

import pytest

from shared.errors import Retry
from shared.handlers.answer import Handled, Headers, Reply, Told, serve, serve_callers
from tests.support.rig import PostedRequest

DONE = Handled("done", "0.1:open", "in so many words")


class Watcher:
    """Keeps what it is told; fails where it is told to."""

    def __init__(self, *fails: str) -> None:
        self.told: list[tuple[str, int, str]] = []
        self.seen: list[str] = []
        self._fails = fails

    @contextlib.contextmanager
    def __call__(self, function: str, _headers: Headers) -> Iterator[Told]:
        self._may_fail("enter")
        self.seen.append(f"{function} in")
        try:
            yield self._tell
        finally:
            self._may_fail("leave")
            self.seen.append(f"{function} out")

    def _tell(self, verdict: str, status: int, key: str) -> None:
        self._may_fail("told")
        self.told.append((verdict, status, key))

    def _may_fail(self, step: str) -> None:
        if step in self._fails:
            raise KeyError("the secret of acme")


def with_note(error: Exception) -> Exception:
    error.add_note("9001")
    return error


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (DONE, ("done", 200, "0.1:open")),
        (Handled("parked", "k"), ("parked", 200, "k")),
        (with_note(Retry("the secret of acme")), ("later", 503, "9001")),
        (with_note(KeyError("the secret of acme")), ("bug", 500, "9001")),
    ],
)
def test_it_is_told_verdict_status_and_key_once_while_it_watches(outcome: Handled | Exception, told: tuple[str, int, str]) -> None:
    for answer in (serve, serve_callers):
        watcher = Watcher()

        def handle(_headers: object, _read: object) -> Handled:
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        assert answer("alert", PostedRequest(b"{}"), handle, watcher)[1] == told[1]
        assert (watcher.told, watcher.seen) == ([told], ["alert in", "alert out"])


def test_a_reply_to_a_caller_is_told_with_its_own_status() -> None:
    watcher = Watcher()
    reply = Reply(403, {}, Handled("forbidden", "c1"))
    assert serve_callers("command", PostedRequest(b"{}"), lambda _headers, _read: reply, watcher)[1] == 403
    assert watcher.told == [("forbidden", 403, "c1")]


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT"])
def test_a_request_that_is_no_event_is_not_watched(method: str) -> None:
    watcher = Watcher()
    request = PostedRequest(b"{}")
    request.method = method
    assert serve("alert", request, lambda _headers, _read: DONE, watcher)[1] == 405
    assert (watcher.told, watcher.seen) == ([], [])


@pytest.mark.parametrize("fails", [("enter",), ("told",), ("leave",), ("told", "leave")])
def test_where_watching_fails_the_answer_is_the_same_and_the_log_names_the_kind(
    fails: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    handled: list[int] = []

    def handle(_headers: object, _read: object) -> Handled:
        handled.append(1)
        return DONE

    assert serve("alert", PostedRequest(b"{}"), handle, Watcher(*fails)) == ("done\n", 200)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    warned = [line for line in lines if line["severity"] == "WARNING"]
    assert (handled, [line["error"] for line in warned]) == ([1], ["KeyError"] * len(fails))
    assert "secret" not in json.dumps(lines)


@pytest.mark.parametrize("death", [SystemExit(1), KeyboardInterrupt()])
def test_the_end_of_the_process_ends_the_watching_and_goes_on(death: BaseException) -> None:
    watcher = Watcher()

    def handle(_headers: object, _read: object) -> Handled:
        raise death

    with pytest.raises(type(death)):
        serve("alert", PostedRequest(b"{}"), handle, watcher)
    assert (watcher.told, watcher.seen) == ([], ["alert in", "alert out"])
