"""Tables: readings, loads, peers."""

from pathlib import Path

from fuzz.target import Form, RefusedError, Target, files, from_file
from gesscale.cli import model
from gesscale.cli.output import Output
from latency_map.measure.peers import parse_peers
from testbed.workloads.user_csv import workload_from_csv


def _fit(path: Path) -> None:
    model.fit(path, law=model.Law.AUTO, output=Output.TABLE)


def _peers(path: Path) -> None:
    if not parse_peers(path.read_text(errors="replace")):
        raise RefusedError


TARGETS = (
    Target(name="peers", form=Form.TEXT, samples=files("peers/*"), call=from_file("peers", _peers)),
    Target(
        name="readings",
        form=Form.TEXT,
        samples=files("readings/*", "../../data/spark_saturation_readings.csv"),
        call=from_file("readings.csv", _fit),
    ),
    Target(
        name="workload",
        form=Form.TEXT,
        samples=files("workloads/*"),
        call=from_file("load.csv", lambda path: workload_from_csv(path, name="mine")),
    ),
)
