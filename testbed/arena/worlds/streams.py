"""Independent randomness for each purpose of a case."""

from zlib import crc32

import numpy as np


def stream(seed: int, purpose: str) -> np.random.SeedSequence:
    """Return the randomness of a purpose, independent of every other one of the same seed."""
    return np.random.SeedSequence([seed, crc32(purpose.encode())])


def seed_of(seed: int, purpose: str) -> int:
    """Return the same as a whole number, for who asks for a seed."""
    return int(stream(seed, purpose).generate_state(1, np.uint64)[0])
