"""The smallest settings, and the problems of wrong ones."""

from collections.abc import Callable
from typing import Any

import pytest

from gesscale.common.errors import Problem
from gesscale.errors import SettingsError
from gesscale.settings import Settings

SMALLEST: dict[str, Any] = {
    "workflow": {"operators": {"nearest": {"driver_node": "edge1", "metrics_url": "http://edge1:4041"}}},
    "latency_map": {"file": "edge8.csv", "unit": "ms", "kind": "rtt"},
}

Load = Callable[..., Settings]


def problems(load: Load, **given: Any) -> tuple[Problem, ...]:
    with pytest.raises(SettingsError) as raised:
        load(**given)
    assert str(raised.value).isprintable()
    return raised.value.problems


def problem(load: Load, **given: Any) -> Problem:
    """Return the only problem of some settings."""
    (found,) = problems(load, **given)
    return found


def operators(**settings: object) -> dict[str, Any]:
    return {"operators": {"nearest": {**SMALLEST["workflow"]["operators"]["nearest"], **settings}}}
