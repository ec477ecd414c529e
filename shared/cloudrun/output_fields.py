"""The fields of a service that only Cloud Run writes, by their v2 names: read past, never sent, no part of what is compared. Pure."""

from typing import Final

OUTPUT_FIELDS: Final = (
    "uid",
    "generation",
    "createTime",
    "updateTime",
    "deleteTime",
    "expireTime",
    "creator",
    "lastModifier",
    "urls",
    "uri",
    "observedGeneration",
    "terminalCondition",
    "conditions",
    "latestReadyRevision",
    "latestCreatedRevision",
    "trafficStatuses",
    "satisfiesPzs",
    "threatDetectionEnabled",
    "reconciling",
    "etag",
)
"""Messages of the Admin API v2, google-cloud-run 0.16.2: marked output only, and the etag, which a write carries by itself."""
