"""Wakes, pushed by Pub/Sub: fold, observe, decide, commit, act, record."""

from shared import quick_start

# isort: split
import functions_framework
from flask import Request

import shared.gcp.cloud_logging
import shared.gcp.cloud_monitoring
import shared.gcp.cloud_run
import shared.gcp.firestore_store
import shared.gcp.gcs
import shared.gcp.prober
import shared.gcp.pubsub_bus
import shared.gcp.pubsub_events  # noqa: F401 (clients are imported at start-up, under the CPU boost; made at their first use)
from shared import wiring
from shared.handlers.answer import serve
from shared.handlers.reconcile import handle_wake

quick_start.done()


@functions_framework.http
def reconcile(request: Request) -> tuple[str, int]:
    """Decode, call, answer."""
    return serve("reconcile", request, lambda headers, read: handle_wake(headers, read, wiring.reconcile_ports()), wiring.watch)
