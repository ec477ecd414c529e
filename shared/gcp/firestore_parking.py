"""What every store on Firestore has: its client, and the parked entries."""

from typing import Self

from google.api_core.exceptions import AlreadyExists
from google.cloud.firestore import Client, Query

from shared.gcp.firestore_calls import NEVER_RETRY, RPC_TIMEOUT_SECONDS, all_of
from shared.gcp.firestore_layout import Layout, parked_fields, parked_of
from shared.gcp.google_errors import mendable_as_retry
from shared.records.parked import Parked


class FirestoreParking:
    """The parked entries in the database of `client`. The caller makes the client, after forking."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._layout = Layout(client)

    @classmethod
    def connect(cls, project: str, database: str) -> Self:
        """A store with a client of its own; the client connects at its first use."""
        return cls(Client(project=project, database=database))

    def park(self, parked: Parked) -> None:
        """Create the parked entry; one that exists already is left as it is.

        Raises:
            Retry: not known to have been written.
        """
        with mendable_as_retry(f"parking {parked.key}"):
            try:
                self._layout.parked(parked.key).create(parked_fields(parked), retry=None, timeout=RPC_TIMEOUT_SECONDS)
            except AlreadyExists:
                return

    def read_parked(self, key: str) -> Parked | None:
        """A parked entry by its key; None if there is none, or none that can be read.

        Raises:
            Retry: Firestore did not answer.
        """
        with mendable_as_retry(f"reading the parked entry {key}"):
            snapshot = self._layout.parked(key).get(retry=NEVER_RETRY, timeout=RPC_TIMEOUT_SECONDS)
        return parked_of(snapshot)

    def parked(self, *, limit: int) -> list[Parked]:
        """The newest parked entries that can be read, newest first.

        Raises:
            Retry: Firestore did not answer.
        """
        query = self._client.collection("parked").order_by("parked_at", direction=Query.DESCENDING).limit(limit)
        read = (parked_of(snapshot) for snapshot in all_of(query, "reading parked entries"))
        return [parked for parked in read if parked is not None]
