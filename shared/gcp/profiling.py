"""Cloud Profiler in a function: where processor time goes. Loaded only where the profiler is switched on.

The library starts threads, so it starts at the first request, after the server's fork, and in a thread of its own: it asks the metadata
server without a bound of time, and a request must not wait for that. It samples processor time only: wall time needs the main thread,
which is the server's. Sources: the library's own text (`googlecloudprofiler.start`), Google's page of profiling Python.
"""

import os
import threading

from google.auth.exceptions import GoogleAuthError

from shared import log
from shared.deployment import service_name

ABSENT = (
    "the profiler is switched on (TRIMTAB_PROFILER), but this archive is without it: deploy build/trimtab-profiler.zip, which Terraform "
    "does by itself where cloud_profiler is true and no other archive is named"
)


def start(function: str, project: str, *, endpoint: str | None = None) -> threading.Thread:
    """Start to profile this process; what goes wrong is a warning in the log. `endpoint` (`http://127.0.0.1:8087`) is for tests."""
    thread = threading.Thread(target=_start, args=(function, project, endpoint), name="profiler-start", daemon=True)
    thread.start()
    return thread


def _start(function: str, project: str, endpoint: str | None) -> None:
    try:
        import googlecloudprofiler  # noqa: PLC0415 (it is in one of the two archives only)
    except ImportError as error:
        log.event("WARNING", "profiler", problem=ABSENT, error=str(error))
        return
    try:
        googlecloudprofiler.start(
            service=service_name(function),
            service_version=os.environ.get("K_REVISION"),
            project_id=project,
            disable_wall_profiling=True,
            verbose=1,
            discovery_service_url=None if endpoint is None else f"{endpoint}/discovery/{{api}}/{{apiVersion}}",
        )
    except (GoogleAuthError, NotImplementedError, OSError, ValueError) as error:
        log.event(
            "WARNING", "profiler", problem="not started: no profiles come from this instance", error=f"{type(error).__name__}: {error}"
        )
        return
    log.event("INFO", "profiler", started=service_name(function))
