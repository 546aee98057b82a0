"""``gesscale latency-map``: import, check, repair, measure, look at a map, choose nodes by it, emulate it."""

from gesscale.cli.latency_map import choosing, importing, looking
from gesscale.cli.latency_map.app import app

__all__ = ["app", "choosing", "importing", "looking"]
