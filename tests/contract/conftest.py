"""The store on the Firestore emulator, plain and behind a proxy that spoils calls."""

from collections.abc import Iterator

import pytest
from google.cloud import firestore

from shared.gcp.firestore_store import FirestoreStore
from tests.support.emulators import firestore_client, fresh_project
from tests.support.firestore_harness import FirestoreHarness
from tests.support.firestore_proxy import Proxy, proxy_before


@pytest.fixture
def client(firestore_emulator: str) -> Iterator[firestore.Client]:
    with firestore_client(firestore_emulator, fresh_project()) as made:
        yield made


@pytest.fixture
def harness(client: firestore.Client) -> FirestoreHarness:
    return FirestoreHarness(client)


@pytest.fixture
def proxied(firestore_emulator: str) -> Iterator[tuple[FirestoreStore, Proxy]]:
    with proxy_before(firestore_emulator) as proxy, firestore_client(proxy.host, fresh_project()) as client:
        yield FirestoreStore(client, settle_seconds=0.0), proxy
