"""Chance, by a seed and a name: what one part of the simulation draws does not move what another draws."""

import hashlib

import numpy as np


def stream(seed: int, name: str) -> np.random.Generator:
    """The generator of that name. The same seed and name give the same numbers, in any process."""
    key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(key,))))
