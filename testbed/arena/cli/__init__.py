"""``gesscale arena``: policies against each other, without a cluster."""

from testbed.arena.cli import catalogue, compare, league, run, score
from testbed.arena.cli.app import app
from testbed.simulator.validation.commands import refit, validate

app.command()(validate)
app.command()(refit)

__all__ = ["app", "catalogue", "compare", "league", "run", "score"]
