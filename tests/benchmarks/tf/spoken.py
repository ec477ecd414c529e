"""The server's two interfaces: refusals as they travel, the limits of threads, and its metrics page in the hands of the diagnosis."""

import json
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

from shared.diagnose.prometheus_text import read_page
from shared.tfserving.metrics import is_metric
from shared.tfserving.predict import is_prediction, predict_path
from tests.benchmarks.table import Area, Row
from tests.benchmarks.tf.agreement import cause_of
from tests.benchmarks.tf.load import FEATURES, body
from tests.benchmarks.tf.served import Served, serving
from tests.support.tf_server import wire
from tests.support.tf_server.rules import Rules

HOW = (
    "The small server around TensorFlow's scheduler, asked over gRPC and REST: a golden request, a request with too many rows, a queue of "
    "one batch with 30 clients, 4 server threads with 30 clients. What is judged is the form. The refusals of the queue are TensorFlow's; "
    "the limits of threads are written after TF Serving, whose own binary was not at hand."
)
CLIENTS = 30
MODEL = "scorer"
Told = Counter[str]


def measure(tensorflow: Path) -> Area:
    with serving(tensorflow, Rules(2, max_enqueued_batches=1), "--grpc-max-threads=200", "--rest-api-num-threads=200") as served:
        rows = [*_golden(served), *_too_many_rows(served), *_full(served), *_metrics(served)]
    with serving(tensorflow, Rules(64, max_enqueued_batches=100), "--grpc-max-threads=4", "--rest-api-num-threads=4") as served:
        rows += _threads(served)
    return Area("The server", HOW, tuple(rows))


def _rest(served: Served, path: str, rows: int) -> tuple[int, str]:
    document = json.dumps({"instances": [[0.5] * FEATURES] * rows}).encode() if rows else None
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{served.rest_port}{path}", data=document, timeout=60) as answer:
            return int(answer.status), str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def _grpc(channel: Any, rows: int) -> str:
    try:
        wire.read_outputs(channel.unary_unary(wire.PREDICT)(body(rows), timeout=60))
    except grpc.RpcError as error:
        return f"{error.code().name}: {error.details()}"
    return "OK"


def _many(served: Served) -> tuple[Told, Told]:
    """What clients that ask all at once are told, over gRPC and over REST."""
    with ThreadPoolExecutor(CLIENTS) as pool, grpc.insecure_channel(f"127.0.0.1:{served.grpc_port}") as channel:
        over_grpc = Counter(pool.map(lambda _: _grpc(channel, 1), range(CLIENTS)))
        over_rest = Counter(
            "OK" if status == 200 else f"{status} {text}"
            for status, text in pool.map(lambda _: _rest(served, predict_path(MODEL), 1), range(CLIENTS))
        )
    return over_grpc, over_rest


def _golden(served: Served) -> Iterator[Row]:
    status, text = _rest(served, predict_path(MODEL), 2)
    yield Row("a golden request over REST", f"{status}", "a prediction", is_prediction(status, text)[0])
    with grpc.insecure_channel(f"127.0.0.1:{served.grpc_port}") as channel:
        told = _grpc(channel, 2)
    yield Row("the same over gRPC", told, "OK", told == "OK")
    status, text = _rest(served, f"/v1/models/{MODEL}", 0)
    state = json.loads(text)["model_version_status"][0]["state"]
    yield Row("the model's status", f"{status} {state}", "200 AVAILABLE", (status, state) == (200, "AVAILABLE"))


def _too_many_rows(served: Served) -> Iterator[Row]:
    text = "Task size 3 is larger than maximum input batch size 2"
    with grpc.insecure_channel(f"127.0.0.1:{served.grpc_port}") as channel:
        told = _grpc(channel, 3)
    wanted = f"INVALID_ARGUMENT: {text}"
    yield Row("too many rows over gRPC", f"`{told}`", f"`{wanted}`", told == wanted)
    status, answer = _rest(served, predict_path(MODEL), 3)
    yield Row(
        "too many rows over REST", f"`{status} {answer}`", "400, the same text", (status, json.loads(answer)) == (400, {"error": text})
    )


def _full(served: Served) -> Iterator[Row]:
    for name, code, told in zip(("gRPC", "REST"), ("UNAVAILABLE", "503"), _many(served), strict=True):
        refused = [text for text in told if text != "OK"]
        value = f"{told['OK']} answered, {CLIENTS - told['OK']}: `{refused[0] if refused else ''}`"
        holds = bool(refused) and all(text.startswith(code) and cause_of(text) == "batch-queue-full" for text in refused)
        yield Row(f"a full queue over {name}", value, f"{code}, batch-queue-full", holds)


def _metrics(served: Served) -> Iterator[Row]:
    page = read_page(served.page())
    names = {name for name, _ in (*page.counters, *page.histograms)}
    unknown = sorted(name for name in names if not is_metric(name))
    yield Row("metrics that TF Serving does not have", f"{len(unknown)} of {len(names)}", "0", not unknown)
    statuses = {dict(labels)["status"]: int(count) for (name, labels), count in page.counters.items() if name.endswith("request_count")}
    holds = {"OK", "UNAVAILABLE", "INVALID_ARGUMENT"} <= statuses.keys()
    yield Row("request_count by status", ", ".join(f"{status} {count}" for status, count in sorted(statuses.items())), "all three", holds)


def _threads(served: Served) -> Iterator[Row]:
    over_grpc, over_rest = _many(served)
    refused = [text for text in over_grpc if text != "OK"]
    value = f"{over_grpc['OK']} answered, {CLIENTS - over_grpc['OK']}: `{refused[0] if refused else ''}`"
    holds = bool(refused) and all(cause_of(text) == "server-thread-quota" for text in refused)
    yield Row("more gRPC calls than threads", value, "RESOURCE_EXHAUSTED, server-thread-quota", holds)
    yield Row(
        "more REST calls than threads", f"{over_rest['OK']} of {CLIENTS} answered", "all wait and are answered", over_rest["OK"] == CLIENTS
    )
    statuses = {dict(labels)["status"] for name, labels in read_page(served.page()).counters if name.endswith("request_count")}
    yield Row("status in request_count of calls without a thread", ", ".join(sorted(statuses)), "OK only", statuses == {"OK"})
