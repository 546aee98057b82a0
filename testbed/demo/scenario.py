"""What the demo plays: a day in minutes, on eight nodes, and the settings of its loop."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from gesscale.options import PolicyOptions
from gesscale.options.sizing import SizingSettings
from latency_map import write_csv
from testbed.cluster.topology import Topology

LATENCY_MAP = "latency.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The demo in figures.

    Attributes
    ----------
    policy
        The policy that scales.
    topology
        A bundled topology or the path of one.
    operator
        Name of the operator.
    day_s
        Seconds into which the 24 hours are compressed.
    share
        Rides that are generated per real passenger; with the copies it sets the load.
    copies
        How often each ride is served; 3 in the paper.
    service_ms_per_row
        Emulated work of a node of weight 1 on one row.
    cap_rows_per_replica
        B, per replica: about 2.6 s of work, so that the fixed cost of a batch stays small.
    trigger_s
        The trigger interval.
    period_s
        The loop's period: an hour of the day at the default compression.
    max_replicas
        So many executors two cores can carry.
    metrics_port
        Where the driver publishes its batches.
    """

    policy: str = "gesscale"
    topology: str = "edge8"
    operator: str = "nearest"
    day_s: float = 240.0
    share: float = 0.105
    copies: int = 3
    service_ms_per_row: float = 2.2
    cap_rows_per_replica: int = 1200
    trigger_s: float = 2.0
    period_s: float = 10.0
    max_replicas: int = 5
    metrics_port: int = 9108

    @property
    def speed(self) -> float:
        """Seconds of the day per second of the demo."""
        return 86400.0 / self.day_s

    def metrics_url(self, topology: Topology) -> str:
        """Return where the driver publishes its batches."""
        return f"http://{topology.driver.address}:{self.metrics_port}"

    def write_settings(self, folder: Path, topology: Topology) -> Path:
        """Write the settings of the loop as a user would, and return the file.

        Parameters
        ----------
        folder
            Where it goes, with the latency map beside it.
        topology
            The nodes.
        """
        operator = {
            "driver_node": topology.driver_node,
            "metrics_url": self.metrics_url(topology),
            "max_replicas": self.max_replicas,
            "batch_cap_rows_per_replica": self.cap_rows_per_replica,
        }
        settings = loop_settings(
            {self.operator: operator},
            policy=self.policy,
            period_s=self.period_s,
            cluster={"topology": self.topology},
        )
        return write_settings(yaml.safe_dump(settings, sort_keys=False), folder, topology)


def loop_settings(
    operators: Mapping[str, object], *, policy: str, period_s: float, cluster: Mapping[str, str]
) -> dict[str, object]:
    """Return the settings of a loop over a compressed day.

    Parameters
    ----------
    operators
        The members of ``workflow.operators``.
    policy, period_s
        Who decides, and how often.
    cluster
        The options of the local cluster.
    """
    # The day is compressed 360 times; what the defaults say of an hour holds here for seconds.
    soon = f"{3 * period_s:g}s"
    analyze: dict[str, object] = {"policy": policy, "recovery_target": soon}
    group = policy.replace("-", "_")
    if isinstance(getattr(PolicyOptions(), group, None), SizingSettings):
        analyze[group] = {"cooldown": soon}
    return {
        "workflow": {"operators": dict(operators)},
        "latency_map": {"file": LATENCY_MAP, "unit": "ms", "kind": "rtt"},
        "monitor": {
            "period": f"{period_s:g}s",
            "window": f"{period_s:g}s",
            "stale_after": f"{4 * period_s:g}s",
        },
        "analyze": analyze,
        "plan": {"settle_timeout": f"{6 * period_s:g}s"},
        "execute": {"mode": "act", "cluster": "local", "options": dict(cluster)},
        "knowledge": {"file": "knowledge.sqlite"},
    }


def write_settings(settings: str, folder: Path, topology: Topology) -> Path:
    """Write settings (YAML), and the latency map that they name beside them; return their file."""
    write_csv(topology.map, folder / LATENCY_MAP)
    file = folder / "gesscale.yaml"
    file.write_text(settings)
    return file
