"""Every remedy that a diagnosis can propose: the knob, whether it takes a new revision, the risk, and text to paste. Pure."""

from collections.abc import Mapping

from shared.diagnose.known import KnownRemedy, RemedyGroup
from shared.diagnose.remedies_platform import CALLERS, PLATFORM, SCALING
from shared.diagnose.remedies_server import BATCHING, MODEL, SERVER

REMEDY_GROUPS: tuple[RemedyGroup, ...] = (
    RemedyGroup("Instances and concurrency", SCALING),
    RemedyGroup("Cloud Run and the project", PLATFORM),
    RemedyGroup("Batching parameters", BATCHING),
    RemedyGroup("Server flags and configuration", SERVER),
    RemedyGroup("The model", MODEL),
    RemedyGroup("Clients, callers and queries", CALLERS),
)
"""All remedies, in the order in which they are listed."""

REMEDIES: Mapping[str, KnownRemedy] = {remedy.name: remedy for group in REMEDY_GROUPS for remedy in group.remedies}
"""By name."""
