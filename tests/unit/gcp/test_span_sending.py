"""Handing spans over: a request waits so long and no longer, whatever becomes of them."""

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan

from shared.gcp.span_sending import PAUSE_SECONDS, Sending

LONG = 30.0
"""Seconds that no test waits."""


def spans(*names: str) -> list[ReadableSpan]:
    return [ReadableSpan(name) for name in names]


class Sender:
    """Does with each batch what it is told; by itself it keeps it."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.begun, self.free = threading.Event(), threading.Event()
        self.free.set()
        self.answer: Callable[[], str] = lambda: ""

    def send(self, spans: Sequence[ReadableSpan]) -> str:
        self.batches.append([span.name for span in spans])
        self.begun.set()
        assert self.free.wait(LONG)
        return self.answer()


class Scene:
    def __init__(self, wait_seconds: float = LONG) -> None:
        self.sender = Sender()
        self.now = 0.0
        self.connected = 0
        self.sending = Sending(self._connect, lambda: self.now, wait_seconds=wait_seconds)

    def _connect(self) -> Sender:
        self.connected += 1
        return self.sender


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(line["severity"], line["message"]) for line in lines} <= {("WARNING", "traces")}
    return [line["problem"] for line in lines]


def in_threads(*calls: Callable[[], Any]) -> list[threading.Thread]:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    return threads


def test_what_is_handed_over_was_sent_when_the_call_returns(capsys: pytest.CaptureFixture[str]) -> None:
    scene = Scene()
    scene.sending.hand_over(spans("a", "b"))
    scene.sending.hand_over(spans("c"))
    assert (scene.sender.batches, scene.connected, said(capsys)) == ([["a", "b"], ["c"]], 1, [])


def test_what_comes_while_one_batch_is_under_way_goes_as_one_after_it() -> None:
    scene = Scene()
    scene.sender.free.clear()
    threads = in_threads(lambda: scene.sending.hand_over(spans("a")))
    assert scene.sender.begun.wait(LONG)
    threads += in_threads(*(lambda name=name: scene.sending.hand_over(spans(name)) for name in "bcd"))
    while scene.sending._queue.qsize() < 3:
        threading.Event().wait(0.001)
    scene.sender.free.set()
    for thread in threads:
        thread.join(LONG)
    first, second = scene.sender.batches
    assert (first, sorted(second)) == (["a"], ["b", "c", "d"])


def test_a_sender_that_hangs_is_left_and_nothing_is_handed_to_it_for_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    scene = Scene(wait_seconds=0.05)
    scene.sender.free.clear()
    for thread in in_threads(*(lambda: scene.sending.hand_over(spans("a")) for _ in range(8))):
        thread.join(LONG)
        assert not thread.is_alive()
    assert said(capsys) == ["not sent within 0.05 seconds"]
    waiting = scene.sending._queue.qsize()
    scene.now = PAUSE_SECONDS - 1
    scene.sending.hand_over(spans("late"))
    assert scene.sending._queue.qsize() == waiting
    scene.sender.free.set()


def raising(error: Exception) -> Callable[[], str]:
    def fail() -> str:
        raise error

    return fail


@pytest.mark.parametrize(
    ("answer", "problem"), [(lambda: "refused with HTTP 403", "refused with HTTP 403"), (raising(OSError("a secret")), "OSError")]
)
def test_after_a_failure_nothing_is_sent_for_a_while_and_it_is_said_once(
    answer: Callable[[], str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = Scene()
    scene.sender.answer = answer
    for seconds in (0.0, 1.0, PAUSE_SECONDS - 1):
        scene.now = seconds
        scene.sending.hand_over(spans("a"))
    assert (len(scene.sender.batches), said(capsys)) == (1, [problem])
    scene.now, scene.sender.answer = PAUSE_SECONDS, lambda: ""
    scene.sending.hand_over(spans("b"))
    scene.sending.hand_over(spans("c"))
    assert (scene.sender.batches[1:], said(capsys)) == ([["b"], ["c"]], [])


def test_credentials_that_cannot_be_had_are_asked_for_again_after_the_pause(capsys: pytest.CaptureFixture[str]) -> None:
    now, tries, sender = [0.0], [0], Sender()

    def connect() -> Sender:
        tries[0] += 1
        if tries[0] == 1:
            raise KeyError("a secret")
        return sender

    sending = Sending(connect, lambda: now[0], wait_seconds=LONG)
    sending.hand_over(spans("a"))
    assert said(capsys) == ["KeyError"]
    now[0] = PAUSE_SECONDS
    sending.hand_over(spans("b"))
    assert (tries, sender.batches) == ([2], [["b"]])


def test_where_no_thread_can_be_started_the_next_request_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    scene = Scene()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_more)
        with pytest.raises(RuntimeError):
            scene.sending.hand_over(spans("a"))
    scene.sending.hand_over(spans("b"))
    assert scene.sender.batches == [["b"]]
