"""Builders that several tests share: a small edge of five nodes, readings, and fakes of the ports."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
