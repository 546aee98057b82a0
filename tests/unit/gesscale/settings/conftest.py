from pathlib import Path

import pytest
import yaml
from settings_files import SMALLEST, Load

from gesscale.settings import Settings, load_settings


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load the smallest settings with some groups added, or any text at all."""

    def from_text(
        text: str = "", *, overrides: tuple[str, ...] = (), environ: dict[str, str] | None = None, **groups: object
    ) -> Settings:
        path = tmp_path / "gesscale.yaml"
        path.write_text(text or yaml.safe_dump({**SMALLEST, **groups}), "utf-8")
        return load_settings(path, overrides, environ or {})

    return from_text
