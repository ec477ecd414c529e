"""Fixtures of all tests."""

import pytest

pytest.register_assert_rewrite("tests.contract.store_contract")

from tests.support.emulators import firestore_emulator, pubsub_emulator  # noqa: E402 (the registration must come before imports)

__all__ = ["firestore_emulator", "pubsub_emulator"]
