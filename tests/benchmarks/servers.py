"""Functions served as in production: functions-framework under gunicorn, each in processes of its own."""

import contextlib
import http.client
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.emulators import _free_port, _stop

START_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class Server:
    """A running one. The one that answers is a child of `process`."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def processes(self) -> list[int]:
        first = self.process.pid
        children = Path(f"/proc/{first}/task/{first}/children")
        return [first, *(int(pid) for pid in (children.read_text().split() if children.exists() else []))]

    def cpu_seconds(self) -> float:
        """What all its threads have used until now, in seconds; 0 where the system does not tell."""
        used = 0
        for pid in self.processes:
            for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                used += int(task.read_text().split()[0])
        return used / 1e9

    def request(self, body: bytes | None, *, method: str = "POST", path: str = "/") -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body is not None else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def first_answer(self, body: bytes | None, *, method: str = "POST", path: str = "/") -> tuple[int, str]:
        """Ask again and again until somebody listens.

        Raises:
            RuntimeError: it ended, or does not listen in time; the message holds the end of what it printed.
        """
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while True:
            try:
                return self.request(body, method=method, path=path)
            except ConnectionRefusedError as refused:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    printed = self.log.read_text(errors="replace")[-2_000:]
                    raise RuntimeError(f"no answer (exit {self.process.poll()}); its output ends:\n{printed}") from refused
                time.sleep(0.001)


def compiled_environment(scratch: Path, **variables: str) -> dict[str, str]:
    """The environment of a process that reads and leaves byte-compiled modules in `scratch`, as a deployed image has them."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE" and not name.startswith("TRIMTAB_")}
    return {**kept, "PYTHONPYCACHEPREFIX": str(scratch), **variables}


def pinned(command: list[str], core: int | None) -> list[str]:
    taskset = shutil.which("taskset")
    return command if core is None or taskset is None else [taskset, "-c", str(core), *command]


@contextlib.contextmanager
def serving(target: str, source: Path, environment: Mapping[str, str], log: Path, *, core: int | None = None) -> Iterator[Server]:
    """Start it; what it prints goes to the file `log`. It may not listen yet."""
    port = _free_port()
    options = [f"--target={target}", f"--source={source}", "--host=127.0.0.1", f"--port={port}"]
    command = pinned([sys.executable, "-m", "functions_framework", *options], core)
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment)
        try:
            yield Server(port, process, log)
        finally:
            _stop(process)
