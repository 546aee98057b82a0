"""Makes the fluid of these tests importable, as `tests/conftest.py` does for its builders."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
