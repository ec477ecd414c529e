"""Cloud Profiler in a function: where processor time goes. Loaded only where the profiler is switched on.

The library starts threads, so it starts at the first request, after the server's fork, and in a thread of its own: it asks the metadata
server without a bound of time, and a request must not wait for that. It samples processor time only: wall time needs the main thread,
which is the server's. Sources: the library's own text (`googlecloudprofiler.start`), Google's page of profiling Python.
"""

import logging
import os
import threading

from shared import log
from shared.deployment import service_name

ABSENT = (
    "the profiler is switched on (TRIMTAB_PROFILER), but this archive is without it: deploy build/trimtab-profiler.zip, which Terraform "
    "does by itself where cloud_profiler is true and no other archive is named"
)
NOT_STARTED = "not started: no profiles come from this instance"
VERBOSE = 3
"""The library's level of debugging: that it may not make profiles (its API is off, a role is missing) it says at no other."""


def start(function: str, project: str, *, endpoint: str | None = None) -> threading.Thread:
    """Start to profile this process; what goes wrong is a warning in the log. `endpoint` (`http://127.0.0.1:8087`) is for tests."""
    thread = threading.Thread(target=_start, args=(function, project, endpoint), name="profiler-start", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        log.event("WARNING", "profiler", problem=NOT_STARTED, error=str(error))
    return thread


def _start(function: str, project: str, endpoint: str | None) -> None:
    try:
        import googlecloudprofiler  # noqa: PLC0415 (it is in one of the two archives only)
    except ImportError as error:
        log.event("WARNING", "profiler", problem=ABSENT if error.name == "googlecloudprofiler" else NOT_STARTED, error=str(error))
        return
    logger = logging.getLogger("googlecloudprofiler")
    logger.addHandler(_Lines())
    logger.propagate = False
    try:
        googlecloudprofiler.start(
            service=service_name(function),
            service_version=os.environ.get("K_REVISION"),
            project_id=project,
            disable_wall_profiling=True,
            verbose=VERBOSE,
            discovery_service_url=None if endpoint is None else f"{endpoint}/discovery/{{api}}/{{apiVersion}}",
        )
    except Exception as error:  # noqa: BLE001 (a thread of nobody: what is not logged here is plain text on standard error)
        log.event("WARNING", "profiler", problem=NOT_STARTED, error=type(error).__name__)
        return
    log.event("INFO", "profiler", asked_to_start=service_name(function))


class _Lines(logging.Handler):
    """What the library says, as log lines of ours instead of plain text on standard error: one of each kind."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print it, where it is worth it."""
        kind = str(record.msg)
        if _worth_saying(record) and kind not in self._said:
            self._said.add(kind)
            log.event("WARNING", "profiler", problem=record.getMessage(), by=record.name)


def _worth_saying(record: logging.LogRecord) -> bool:
    """Warnings, and that a profile was refused; a conflict is how the API says that it wants none now."""
    if record.levelno >= logging.WARNING:
        return True
    return str(record.msg).startswith("Failed to create profile") and "HttpError 409" not in record.getMessage()
