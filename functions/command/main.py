"""Commands, pushed by Pub/Sub or given over HTTPS, become specs, holds and looks."""

from shared import quick_start

# isort: split
import functions_framework
from flask import Request

import shared.gcp.firestore_commands
import shared.gcp.firestore_store
import shared.gcp.pubsub_bus
import shared.gcp.pubsub_events
import shared.gcp.pubsub_redrive  # noqa: F401 (clients are imported at start-up, under the CPU boost; made at their first use)
from shared import wiring
from shared.handlers.answer import serve_callers
from shared.handlers.command import receive_command

quick_start.done()


@functions_framework.http
def command(request: Request) -> tuple[str, int, dict[str, str]]:
    """Decode, call, answer."""
    return serve_callers("command", request, lambda headers, read: receive_command(headers, read, wiring.command_ports()), wiring.watch)
