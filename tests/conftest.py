"""Builders that several tests share: a small edge of five nodes, readings, and fakes of the ports."""

import os
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

os.environ.pop(
    "COLUMNS", None
)  # pytest-xdist sets it for its workers; commands would think it the user's wish

# The same examples in every run: a change fails or passes by itself. HYPOTHESIS_PROFILE=search looks for others.
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("search", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

_KUBERNETES = Path(__file__).parent / "real" / "kubernetes"


def pytest_collection_modifyitems(items):
    """Put the tests on Kubernetes last: on a new machine it is being built while the others run."""
    items.sort(key=lambda item: _KUBERNETES in item.path.parents)
