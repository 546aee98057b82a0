"""The smallest settings, and what is said of wrong ones."""

from collections.abc import Callable
from typing import Any

import pytest

from gesscale.errors import SettingsError
from gesscale.settings import Settings

SMALLEST: dict[str, Any] = {
    "workflow": {"operators": {"nearest": {"driver_node": "edge1", "metrics_url": "http://edge1:4041"}}},
    "latency_map": {"file": "edge8.csv", "unit": "ms", "kind": "rtt"},
}

Load = Callable[..., Settings]


def faults(load: Load, **given: Any) -> list[str]:
    with pytest.raises(SettingsError) as raised:
        load(**given)
    first, *rest = str(raised.value).splitlines()
    assert first == "the settings cannot be used:"
    return [line.strip() for line in rest]


def operators(**settings: object) -> dict[str, Any]:
    return {"operators": {"nearest": {**SMALLEST["workflow"]["operators"]["nearest"], **settings}}}
