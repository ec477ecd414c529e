"""Entries of Cloud Run's audit log, pushed by Pub/Sub or an Eventarc trigger, become facts."""

from shared import quick_start

# isort: split
import functions_framework
from flask import Request

import shared.gcp.firestore_intake
import shared.gcp.pubsub_bus
import shared.gcp.pubsub_events  # noqa: F401 (clients are imported at start-up, under the CPU boost; made at their first use)
from shared import wiring
from shared.handlers.answer import serve
from shared.handlers.audit import handle_audit

quick_start.done()


@functions_framework.http
def audit(request: Request) -> tuple[str, int]:
    """Decode, call, answer."""
    return serve("audit", request, lambda headers, read: handle_audit(headers, read, wiring.audit_ports()), wiring.watch)
