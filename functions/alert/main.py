"""Cloud Monitoring notifications, pushed by Pub/Sub, become facts."""

from shared import quick_start

# isort: split
import functions_framework
from flask import Request

import shared.gcp.firestore_intake
import shared.gcp.pubsub_bus
import shared.gcp.pubsub_events  # noqa: F401 (clients are imported at start-up, under the CPU boost; made at their first use)
from shared import wiring
from shared.handlers.alert import handle_alert
from shared.handlers.answer import serve

quick_start.done()


@functions_framework.http
def alert(request: Request) -> tuple[str, int]:
    """Decode, call, answer."""
    return serve("alert", request, lambda headers, read: handle_alert(headers, read, wiring.alert_ports()), wiring.watch)
