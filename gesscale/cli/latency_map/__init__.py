"""``gesscale latency-map``: import, check, repair, measure, look at a map, choose nodes by it, emulate it."""

from gesscale.cli.latency_map import (
    choosing,
    comparing,
    emulating,
    generating,
    importing,
    looking,
    measuring,
    quality,
    ranking,
)
from gesscale.cli.latency_map.app import JUDGE, MAKE, USE, app

_PANELS = (MAKE, JUDGE, USE)
app.registered_commands.sort(key=lambda command: _PANELS.index(str(command.rich_help_panel)))

__all__ = [
    "app",
    "choosing",
    "comparing",
    "emulating",
    "generating",
    "importing",
    "looking",
    "measuring",
    "quality",
    "ranking",
]
