"""Cloud Run service documents as people have them, read past what the Admin API would refuse. Pure."""

from shared.cloudrun.described import Described


def read_described_document(text: str) -> Described:
    """The service of a v1 (Knative) or v2 document, YAML or JSON, with what the Admin API refuses of it.

    Raises:
        ServiceDocumentError: the text is no YAML or JSON of one service at all.
    """
    raise NotImplementedError(text)
