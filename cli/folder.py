"""A folder that stands for Cloud Storage: what changes in it is told as Cloud Storage tells it, on the topic `uploads`."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from shared.errors import Refused, Retry
from shared.local.model_folder import ModelFolder
from shared.records.objects import BucketObject

POLL_SECONDS = 2.0
OBJECTS_LIMIT = 100_000


@dataclass
class FolderWatch:
    """Looks at each bucket's folder now and then, and publishes one notification for each file that is new or changed, or gone."""

    root: Path
    files: ModelFolder
    publish: Callable[[bytes, dict[str, str]], object]
    _seen: dict[tuple[str, str], int] = field(default_factory=dict)

    def look(self) -> int:
        """One look; returns how many notifications went out. A folder that cannot be read is looked at again the next time."""
        found: dict[tuple[str, str], BucketObject] = {}
        for bucket in sorted(path.name for path in self.root.iterdir() if path.is_dir()):
            try:
                listing = self.files.list_objects(bucket, "", limit=OBJECTS_LIMIT)
            except (Refused, Retry):
                return 0
            found.update({(bucket, each.name): each for each in listing.objects})
        told = 0
        for (bucket, name), each in found.items():
            if self._seen.get((bucket, name)) != each.generation:
                self._tell("OBJECT_FINALIZE", bucket, name, each.generation, each.size_bytes)
                told += 1
        for (bucket, name), generation in self._seen.items():
            if (bucket, name) not in found:
                self._tell("OBJECT_DELETE", bucket, name, generation, None)
                told += 1
        self._seen = {place: each.generation for place, each in found.items()}
        return told

    def watch(self, stopped: threading.Event) -> None:
        """Look until it is stopped."""
        while not stopped.wait(POLL_SECONDS):
            self.look()

    def _tell(self, event: str, bucket: str, name: str, generation: int, size_bytes: int | None) -> None:
        resource = {"kind": "storage#object", "bucket": bucket, "name": name, "generation": str(generation)}
        body = resource if size_bytes is None else {**resource, "size": str(size_bytes)}
        attributes = {
            "bucketId": bucket,
            "objectId": name,
            "objectGeneration": str(generation),
            "eventType": event,
            "payloadFormat": "JSON_API_V1",
        }
        self.publish(json.dumps(body).encode(), attributes)
