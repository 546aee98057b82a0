"""``gesscale arena``: policies against each other, without a cluster."""

from testbed.arena.cli import catalogue, compare, run, score
from testbed.arena.cli.app import app

__all__ = ["app", "catalogue", "compare", "run", "score"]
