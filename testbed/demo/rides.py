"""The rides of a run: generated and cleaned once, by the pipeline's own commands, and kept in a cache."""

import hashlib
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from latency_map.shell import command_line
from testbed.cluster.commands import run
from testbed.pipeline.ride_store import open_rides
from testbed.pipeline.rides import Demand, write_demand

_CACHE = Path(".cache") / "rides"
_STEP_S, _STEP_RIDES = 180.0, 60_000
"""Generating and cleaning so many rides, those of the demo, may take so long each on a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRides:
    """Cleaned rides.

    Attributes
    ----------
    folder
        The cleaned rides.
    rows
        Rows that a replay of them serves, copies included.
    begins_at_hour
        Hour of the day of the first half hour.
    cleaning
        What the cleaning read, kept and dropped, by reason.
    """

    folder: Path
    rows: int
    begins_at_hour: float
    cleaning: dict[str, object]


def prepare_rides(demand: Demand, share: float, copies: int, say: Callable[[str], None]) -> PreparedRides:
    """Generate and clean the rides of a demand, unless an earlier run has.

    Parameters
    ----------
    demand
        Passengers of each half hour.
    share
        Rides that are generated per real passenger.
    copies
        How often each ride will be served.
    say
        Prints what takes time.

    Returns
    -------
    PreparedRides
        Ready to be replayed.

    Raises
    ------
    GesscaleError
        When the cleaning fails.
    """
    pipeline = Path(__file__).parent.parent / "pipeline"
    recipe = b"".join((pipeline / name).read_bytes() for name in ("rides.py", "clean.py"))
    key = hashlib.sha256(recipe + repr((demand, share)).encode()).hexdigest()[:12]
    folder = _CACHE / key
    summary = folder / "cleaning.json"
    if not summary.exists():
        say("generating rides and cleaning them with Spark (once)")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write_demand(demand, folder / "demand.csv")
        asked = ("--demand", str(folder / "demand.csv"), "--rides-per-passenger", str(share))
        limit_s = _STEP_S * max(1.0, share * sum(demand.passengers) / _STEP_RIDES)
        raw, clean = str(folder / "raw.csv"), str(folder / "clean")
        _run("generate", raw, *asked, limit_s=limit_s)
        written = _run("clean", raw, clean, "--output", "json", limit_s=limit_s)
        (folder / "raw.csv").unlink()
        summary.write_text(written)
    rides = open_rides(str(folder / "clean")).rides
    return PreparedRides(
        folder=folder / "clean",
        rows=rides * copies,
        begins_at_hour=demand.begins.hour + demand.begins.minute / 60,
        cleaning=json.loads(summary.read_text()),
    )


def _run(*words: str, limit_s: float) -> str:
    return run(
        (sys.executable, "-m", "testbed.pipeline", *words),
        failure=f"preparing the rides failed: {command_line(words)}",
        timeout_s=limit_s,
    )
