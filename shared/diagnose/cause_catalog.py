"""Every cause that a diagnosis can name: what decides for it, what it is taken for, where it shows, what mends it and what harms. Pure.

A refusal's words matter more than its code. RESOURCE_EXHAUSTED (gRPC 8, HTTP 429) has five unrelated sources here and UNAVAILABLE
(14, HTTP 503) six; gRPC clients show a plain HTTP 429, 502, 503 or 504 of Cloud Run as UNAVAILABLE. Where a cause and a lint code
share a name they mean the same fault, found from evidence and from configuration.
"""

from collections.abc import Mapping

from shared.diagnose.causes_control import CONTROL, OBSERVATION
from shared.diagnose.causes_refusals import EXHAUSTED, UNAVAILABLE
from shared.diagnose.causes_serving import MODELS, SPEED
from shared.diagnose.causes_start import START
from shared.diagnose.known import CauseGroup, KnownCause

CAUSE_GROUPS: tuple[CauseGroup, ...] = (
    CauseGroup("Refused: RESOURCE_EXHAUSTED, 429 and quotas", EXHAUSTED),
    CauseGroup("Refused or broken: UNAVAILABLE, 5xx and 413", UNAVAILABLE),
    CauseGroup("Does not start", START),
    CauseGroup("Models and versions", MODELS),
    CauseGroup("Slow or wasteful", SPEED),
    CauseGroup("Calls of the Admin API and traffic", CONTROL),
    CauseGroup("Observation", OBSERVATION),
)
"""All causes, in the order in which they are listed."""

CAUSES: Mapping[str, KnownCause] = {cause.name: cause for group in CAUSE_GROUPS for cause in group.causes}
"""By name."""
