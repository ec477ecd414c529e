"""The tick, pushed by Pub/Sub every minute, wakes what is due."""

from shared import quick_start

# isort: split
import functions_framework
from flask import Request

import shared.gcp.firestore_store
import shared.gcp.pubsub_bus  # noqa: F401 (clients are imported at start-up, under the CPU boost; made at their first use)
from shared import wiring
from shared.handlers.answer import serve
from shared.handlers.schedule import handle_tick

quick_start.done()


@functions_framework.http
def schedule(request: Request) -> tuple[str, int]:
    """Decode, call, answer."""
    return serve("schedule", request, lambda headers, read: handle_tick(headers, read, wiring.schedule_ports()), wiring.watch)
