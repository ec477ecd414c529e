"""A relay before an emulator that can break the connection or hold it."""

import contextlib
import socket
import threading
from collections.abc import Callable
from functools import partial


class Gate:
    """A TCP relay to `target` (`host:port`). Open, shut (every connection breaks), or held (they stay, and nothing passes)."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._flowing = threading.Event()
        self._flowing.set()
        self._shut = False
        self._ends: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._spawn(self._accept)

    @property
    def host(self) -> str:
        """Where it listens, as `host:port`."""
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def shut(self) -> None:
        """Break every connection, and each new one at once."""
        with self._lock:
            self._shut = True
        self._break()

    def hold(self) -> None:
        """Let nothing pass any more, in connections that stay open."""
        self._flowing.clear()

    def open(self) -> None:
        """Let everything pass again; what was held back is lost with its connections."""
        self._break()
        self._shut = False
        self._flowing.set()

    def close(self) -> None:
        """Stop listening and end all threads."""
        self._shut = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._break()
        self._flowing.set()
        for thread in self._threads:
            thread.join(5)
        self._listener.close()

    def _break(self) -> None:
        with self._lock:
            for end in self._ends:
                _shutdown(end)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._spawn(partial(self._relay, client))

    def _relay(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError), socket.create_connection(self._target) as server:
            ends = {client, server}
            with self._lock:
                self._ends |= ends
                refused = self._shut
            try:
                if not refused:
                    back = threading.Thread(target=self._pump, args=(server, client), daemon=True)
                    back.start()
                    self._pump(client, server)
                    back.join()
            finally:
                with self._lock:
                    self._ends -= ends

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                self._flowing.wait()
                sink.sendall(data)
        _shutdown(source)
        _shutdown(sink)

    def _spawn(self, work: Callable[[], None]) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()


def _shutdown(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
