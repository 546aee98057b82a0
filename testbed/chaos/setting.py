"""What chaos is played on: the nodes, the query, its rows, and the settings of the loop."""

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from latency_map import Survey, write_survey
from testbed.cluster.topology import Topology
from testbed.demo.scenario import DEMO, Scenario

SETTINGS, MAP, WANTED, STEPS = "gesscale.yaml", "latency.json", "wanted.json", "steps.jsonl"
MAP_MAX_AGE_S = 3600.0

_ROW_GROUP = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosSetting:
    """What is played.

    Attributes
    ----------
    seed
        Of the plan.
    topology
        The nodes: a file, or a bundled one's name.
    most_replicas
        Of a placement.
    rows_per_s
        Offered, without a pause.
    part_s
        So long the rows of a run of the query last; then another one begins.
    within_s
        A change has to converge in this time.
    """

    seed: int
    topology: str = "edge8"
    most_replicas: int = 4
    rows_per_s: int = 200
    part_s: int = 3600
    within_s: float = 120.0

    @property
    def scenario(self) -> Scenario:
        """The demo's operator, with short batches."""
        return replace(
            DEMO,
            topology=self.topology,
            day_s=float(self.part_s),
            rides_s=float(self.part_s),
            copies=1,
            trigger_s=1.0,
            cap_rows=600,
        )

    def write_rides(self, folder: Path) -> Path:
        """Write rides at the rate of this setting, numbered from 0; return their folder."""
        rides = self.rows_per_s * self.part_s
        gap, begins = timedelta(seconds=1) / self.rows_per_s, datetime(2015, 1, 6, 4)
        micros = np.arange(rides) * round(gap / timedelta(microseconds=1))
        table = pa.table(
            {
                "ride": pa.array(np.arange(rides)),
                "pickup_time": pa.array(np.datetime64(begins) + micros.astype("timedelta64[us]")),
                "pickup_longitude": pa.array(np.full(rides, -73.98)),
                "pickup_latitude": pa.array(np.full(rides, 40.75)),
            }
        )
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, folder / "part-0.parquet", row_group_size=_ROW_GROUP)
        return folder

    def write_loop(self, topology: Topology, metrics_url: str, folder: Path) -> None:
        """Write the settings of the loop as a user would."""
        (operator,) = self.scenario.operators
        settings = {
            "workflow": {
                "operators": {
                    operator.name: {
                        "driver_node": topology.driver_node,
                        "metrics_url": metrics_url,
                        "max_replicas": len(topology.nodes),
                    }
                }
            },
            "latency_map": {"file": MAP, "max_age": f"{MAP_MAX_AGE_S:g}s"},
            "monitor": {
                "period": "2s",
                "least_period": "2s",
                "window": "20s",
                "stale_after": "40s",
                "timeout": "3s",
            },
            "analyze": {"policy": "static"},
            "plan": {"rescale_timeout": "30s"},
            "execute": {"mode": "act", "cluster": "local", "options": {"topology": self.topology}},
            "knowledge": {"file": "knowledge.sqlite"},
        }
        (folder / SETTINGS).write_text(yaml.safe_dump(settings, sort_keys=False))


def write_map(topology: Topology, measured_at_s: float, folder: Path) -> None:
    """Write the latency map with its age, in one step."""
    scratch = folder / f"new-{MAP}"
    survey = Survey(names=topology.map.names, rtt_ms=topology.map.rtt_ms, measured_at_s=measured_at_s)
    write_survey(survey, scratch)
    scratch.replace(folder / MAP)


def write_wanted(operator: str, placement: tuple[str, ...], folder: Path) -> None:
    """Write what the controller is to order, in one step."""
    scratch = folder / f"new-{WANTED}"
    scratch.write_text(json.dumps({operator: placement}))
    scratch.replace(folder / WANTED)


def read_wanted(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the nodes by operator; nothing before the first order."""
    try:
        return {name: tuple(nodes) for name, nodes in json.loads((folder / WANTED).read_text()).items()}
    except FileNotFoundError:
        return {}
