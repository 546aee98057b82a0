"""The rides of the demo: generated and cleaned once, by the pipeline's own commands, and kept in a cache."""

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
from testbed.pipeline.rides import bundled_demand

_CACHE = Path(".cache") / "rides"
_CLEANING_S = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRides:
    """Cleaned rides of one day.

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


def prepare_rides(share: float, copies: int, say: Callable[[str], None]) -> PreparedRides:
    """Generate and clean the rides of a day, unless an earlier demo has.

    Parameters
    ----------
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
    key = hashlib.sha256(recipe + str(share).encode()).hexdigest()[:12]
    folder = _CACHE / key
    summary = folder / "cleaning.json"
    if not summary.exists():
        say("generating a day of rides and cleaning them with Spark (once)")
        shutil.rmtree(folder, ignore_errors=True)
        _run("generate", str(folder / "raw.csv"), "--rides-per-passenger", str(share))
        written = _run("clean", str(folder / "raw.csv"), str(folder / "clean"), "--output", "json")
        summary.write_text(written)
    rides = open_rides(str(folder / "clean")).rides
    begins = bundled_demand().begins
    return PreparedRides(
        folder=folder / "clean",
        rows=rides * copies,
        begins_at_hour=begins.hour + begins.minute / 60,
        cleaning=json.loads(summary.read_text()),
    )


def _run(*words: str) -> str:
    return run(
        (sys.executable, "-m", "testbed.pipeline", *words),
        failure=f"preparing the rides failed: {command_line(words)}",
        timeout_s=_CLEANING_S,
    )
