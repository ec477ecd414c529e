"""Notifications of Cloud Storage about the files of models, pushed by Pub/Sub, become facts."""

from shared import quick_start

# isort: split
import functions_framework
from flask import Request

import shared.gcp.firestore_uploads
import shared.gcp.pubsub_bus
import shared.gcp.pubsub_events  # noqa: F401 (clients are imported at start-up, under the CPU boost; made at their first use)
from shared import wiring
from shared.handlers.answer import serve
from shared.handlers.upload import handle_upload

quick_start.done()


@functions_framework.http
def upload(request: Request) -> tuple[str, int]:
    """Decode, call, answer."""
    return serve("upload", request, lambda headers, read: handle_upload(headers, read, wiring.upload_ports()), wiring.watch)
