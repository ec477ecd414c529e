"""The part of the store that uploads use, on Firestore: create a fact of a model, park.

It loads none of the records that only reconcile needs: a cold start of functions/upload does not pay for them.
"""

from typing import Any, Literal

from google.api_core.exceptions import AlreadyExists

from shared.gcp.firestore_calls import RPC_TIMEOUT_SECONDS
from shared.gcp.firestore_layout import created_now
from shared.gcp.firestore_parking import FirestoreParking
from shared.gcp.google_errors import mendable_as_retry
from shared.records.facts import UploadFact
from shared.records.model_subject import ModelSubject


class FirestoreUploads(FirestoreParking):
    """`ports.UploadStore` on the database of `client`."""

    def create_upload(self, model: ModelSubject, fact: UploadFact) -> Literal["created", "duplicate"]:
        """Create the fact under the model; one call.

        Raises:
            Retry: not known to have been stored; the fact may exist all the same.
        """
        with mendable_as_retry(f"creating an upload of {model.uri}"):
            try:
                self._layout.upload(model, fact.key).create(upload_fields(model, fact), retry=None, timeout=RPC_TIMEOUT_SECONDS)
            except AlreadyExists:
                return "duplicate"
        return "created"


def upload_fields(model: ModelSubject, fact: UploadFact) -> dict[str, Any]:
    """The document of an upload; `created_at` is filled in by the server."""
    return {"schema_version": fact.schema_version, "record": fact.to_stored(), "uri": model.uri, **created_now()}
