"""Serve one model; a line of JSON on standard output says on which ports, then it runs until it is told to end."""

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from tests.support.tf_server import grpc_door, rest_door
from tests.support.tf_server.batches import BatchedModel
from tests.support.tf_server.counters import Counters
from tests.support.tf_server.model import save
from tests.support.tf_server.rules import Rules
from tests.support.tf_server.service import Service

THREADS_PER_CPU = 4
"""TF Serving's default for both interfaces."""


def _settings() -> argparse.Namespace:
    threads = THREADS_PER_CPU * (os.cpu_count() or 1)
    parser = argparse.ArgumentParser(prog="python -m tests.support.tf_server")
    parser.add_argument("--model", help="folder of a SavedModel with one float input; absent: one of --layers, --rank and --tokens")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rank", type=int, default=256, help="sets the fixed time of a batch")
    parser.add_argument("--tokens", type=int, default=64, help="sets the time of a row")
    parser.add_argument("--name", default="scorer")
    parser.add_argument("--port", type=int, default=0, help="gRPC; 0: any")
    parser.add_argument("--rest-api-port", type=int, default=0, help="0: any")
    parser.add_argument("--grpc-max-threads", type=int, default=threads)
    parser.add_argument("--rest-api-num-threads", type=int, default=threads)
    parser.add_argument("--no-batching", action="store_true")
    parser.add_argument("--max-batch-size", type=int, default=16)
    parser.add_argument("--num-batch-threads", type=int, default=1)
    parser.add_argument("--max-enqueued-batches", type=int, default=100)
    parser.add_argument("--batch-timeout-ms", type=int, default=0)
    parser.add_argument("--allowed-batch-sizes", type=int, nargs="*", default=[])
    parser.add_argument("--enable-large-batch-splitting", action="store_true")
    parser.add_argument("--compute-core", type=int, help="batches are computed on this core and everything else on the others")
    return parser.parse_args()


def _keep_apart(core: int) -> None:
    """Puts the threads that compute on a core of their own, as a card is beside the host's CPU."""
    others = os.sched_getaffinity(0) - {core}
    for task in Path("/proc/self/task").iterdir():
        computes = (task / "comm").read_text().startswith(("tf_", "batch_threads"))
        os.sched_setaffinity(int(task.name), {core} if computes else others)


def main() -> int:
    wanted = _settings()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(2)
    rules = Rules(
        wanted.max_batch_size,
        wanted.num_batch_threads,
        wanted.max_enqueued_batches,
        wanted.batch_timeout_ms,
        tuple(wanted.allowed_batch_sizes),
        wanted.enable_large_batch_splitting,
    )
    counters = Counters(wanted.name)
    with tempfile.TemporaryDirectory() as scratch:
        folder = wanted.model or str(save(Path(scratch) / "1", layers=wanted.layers, rank=wanted.rank, tokens=wanted.tokens))
        model = BatchedModel(folder, None if wanted.no_batching else rules, counters)
    model.warm_up()
    if wanted.compute_core is not None:
        _keep_apart(wanted.compute_core)
    service = Service(wanted.name, model, counters)
    grpc_server, port = grpc_door.start(service, wanted.port, wanted.grpc_max_threads)
    rest_server, rest_port = rest_door.start(service, wanted.rest_api_port, wanted.rest_api_num_threads)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    print(json.dumps({"grpc": port, "rest": rest_port, "tensorflow": tf.__version__}), flush=True)
    ended.wait()
    rest_server.shutdown()
    grpc_server.stop(1.0).wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
