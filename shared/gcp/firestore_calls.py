"""How Firestore is called: every call bounded in time, none repeated by the library, tokens as texts, listings a page at a time."""

from collections.abc import Iterator, Sequence
from typing import Any

from google.api_core.retry import Retry as LibraryRetry
from google.cloud.firestore import Client, CollectionGroup, DocumentReference, DocumentSnapshot, Query
from google.protobuf.timestamp_pb2 import Timestamp

from shared.errors import TokenConflict
from shared.gcp.google_errors import mendable_as_retry

RPC_TIMEOUT_SECONDS = 10.0
"""Of every call. Firestore answers in tens of milliseconds; a function has to answer within a minute."""
PAGE_DOCUMENTS = 300
"""How many keys one page of a listing fetches."""
DOCUMENTS_PER_READ = 200
"""How many documents are read in one call where there may be many."""

NEVER_RETRY = LibraryRetry(predicate=lambda _error: False)
"""For reads. The library's streams cannot take `retry=None`: at an error they call its predicate."""


def get_all(
    client: Client, references: Sequence[DocumentReference], what: str, field_paths: Sequence[str] | None = None
) -> dict[str, DocumentSnapshot[Any]]:
    """The documents by their paths, those that do not exist too; one call.

    Raises:
        Retry: Firestore did not answer.
    """
    with mendable_as_retry(what):
        found = client.get_all(list(references), field_paths, retry=NEVER_RETRY, timeout=RPC_TIMEOUT_SECONDS)
        return {snapshot.reference.path: snapshot for snapshot in found}


def get_many(
    client: Client, references: Sequence[DocumentReference], what: str, field_paths: Sequence[str]
) -> Iterator[DocumentSnapshot[Any]]:
    """Some fields of any number of documents; one call for `DOCUMENTS_PER_READ` of them.

    Raises:
        Retry: Firestore did not answer (while iterating).
    """
    for start in range(0, len(references), DOCUMENTS_PER_READ):
        yield from get_all(client, references[start : start + DOCUMENTS_PER_READ], what, field_paths).values()


def all_of(query: Any, what: str) -> list[DocumentSnapshot[Any]]:
    """All documents of a query that bounds itself.

    Raises:
        Retry: Firestore did not answer.
    """
    with mendable_as_retry(what):
        return list(query.stream(retry=NEVER_RETRY, timeout=RPC_TIMEOUT_SECONDS))


def pages(query: Query | CollectionGroup, order: Sequence[str], what: str, *, limit: int | None = None) -> Iterator[DocumentSnapshot[Any]]:
    """The documents of a query in the order of these fields, a page at a time, at most `limit` of them.

    Raises:
        Retry: Firestore did not answer (while iterating).
    """
    for field in order:
        query = query.order_by(field)
    given, page = 0, query.limit(PAGE_DOCUMENTS)
    while True:
        size = PAGE_DOCUMENTS if limit is None else min(PAGE_DOCUMENTS, limit - given)
        found = all_of(page.limit(size), what)
        yield from found
        given += len(found)
        if len(found) < size or given == limit:
            return
        last = found[-1]
        page = query.start_after({name: last.reference if name == "__name__" else last.get(name) for name in order})


def token_of(update_time: Any) -> str:
    """A document's token: its update time, to the nanosecond."""
    return str(update_time.rfc3339())


def update_time_of(token: str) -> Timestamp:
    """The update time that a token stands for.

    Raises:
        TokenConflict: it is not one of `token_of`, so no document has it.
    """
    moment = Timestamp()
    try:
        moment.FromJsonString(token)
    except ValueError as error:
        raise TokenConflict(f"token {token[:80]!r} is not one of this store") from error
    return moment


def unchanged_since(client: Client, token: str | None) -> Any:
    """The precondition of a write that the document still has this token; of None that there is no document.

    Raises:
        TokenConflict: the token is not one of this store.
    """
    if token is None:
        return client.write_option(exists=False)
    return client.write_option(last_update_time=update_time_of(token))
