"""Settings of a chaos run: the nodes, the query, its rows, and the settings of the loop."""

import json
from dataclasses import dataclass
from pathlib import Path

from gesscale.errors import InputError
from latency_map import Survey, write_survey
from testbed.chaos.plan import KUBERNETES_FAULTS, LOCAL_FAULTS, ChaosFault
from testbed.cluster.topology import Topology
from testbed.live.scenario import LiveOperator, Scenario, TopicInput

RIDES = "rides"
QUERIES = (RIDES, "q5")
SETTINGS, MAP, ORDER, STEPS = "gesscale.yaml", "latency.json", "order.json", "steps.jsonl"
MAP_MAX_AGE_S = 3600.0
PARTITIONS = 4
#: Emulated work of a node of weight 1 on an event of Nexmark, if the query generates its events itself.
NEXMARK_MS_PER_ROW = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosSettings:
    """The settings of a run.

    Raises
    ------
    InputError
        If they contradict each other.
    """

    #: Seed of the plan.
    seed: int
    #: The nodes: a file, or a bundled one's name.
    topology: str = "edge8"
    #: Maximum replicas of a placement.
    max_replicas: int = 4
    #: Constant load.
    rows_per_s: int = 200
    #: Duration of the rows of a run of the query; then another run starts.
    part_s: int = 3600
    #: Time limit for a change to converge.
    within_s: float = 120.0
    #: ``rides``, the demo's query without state, or ``q5`` of Nexmark, with a shuffle and state.
    query: str = RIDES
    #: Whether the events go through a topic of a real broker; only with ``q5``.
    kafka: bool = False
    #: The faults to inject.
    faults: tuple[ChaosFault, ...] = LOCAL_FAULTS
    #: Whether it runs on Kubernetes, with the real controller.
    kubernetes: bool = False

    def __post_init__(self) -> None:
        if self.query not in QUERIES:
            raise InputError("query-unknown", place="--query", got=self.query, known=QUERIES)
        if self.kafka and (self.query == RIDES or self.kubernetes):
            cluster = "Kubernetes" if self.kubernetes else "the local cluster"
            raise InputError("chaos-kafka-unsupported", place="--kafka", query=self.query, cluster=cluster)
        service_ms = self.scenario.operators[0].service_ms_per_row  # 0: no emulated work
        if service_ms and self.rows_per_s > (most := int(1000 / service_ms)):
            raise InputError("chaos-load-excessive", place="--rows-per-s", max=most, got=self.rows_per_s)
        if not self.faults:
            raise InputError("chaos-faults-empty")
        local = {*LOCAL_FAULTS, ChaosFault.NODE_CUT_OFF_LONG, *([ChaosFault.BROKER_KILLED] if self.kafka else [])}
        possible = {*KUBERNETES_FAULTS} if self.kubernetes else local
        if impossible := [each.value for each in self.faults if each not in possible]:
            raise InputError("chaos-fault-impossible", fault=impossible[0], possible=sorted(possible))

    @property
    def scenario(self) -> Scenario:
        """The demo's operator, with short batches."""
        operator = LiveOperator()
        if self.query != RIDES:
            service_ms = 0.0 if self.kafka else NEXMARK_MS_PER_ROW
            operator = LiveOperator(name=self.query, service_ms_per_row=service_ms)
        return Scenario(
            topology=self.topology,
            operators=(operator,),
            kafka=TopicInput(partitions=PARTITIONS) if self.kafka else None,
            day_s=float(self.part_s),
            demand_duration_s=float(self.part_s),
            copies=1,
            trigger_s=1.0,
            cap_rows=600,
        )

    @property
    def events(self) -> int:
        """Number of rows of a run of the query."""
        return self.rows_per_s * self.part_s

    def write_loop(self, topology: Topology, metrics_url: str, folder: Path) -> None:
        """Write the settings of the loop as a user would."""
        (operator,) = self.scenario.operators
        loop_settings = (
            Path(__file__)
            .with_name("loop.yaml")
            .read_text()
            .format(
                operator=operator.name,
                driver_node=topology.driver_node,
                metrics_url=metrics_url,
                max_replicas=len(topology.nodes),
                map_file=MAP,
                max_age_s=MAP_MAX_AGE_S,
                topology=json.dumps(self.topology),
            )
        )
        (folder / SETTINGS).write_text(loop_settings)


def write_map(topology: Topology, measured_at_s: float, folder: Path) -> None:
    """Write the latency map with its age, atomically."""
    scratch = folder / f"new-{MAP}"
    survey = Survey(names=topology.map.names, rtt_ms=topology.map.rtt_ms, measured_at_s=measured_at_s)
    write_survey(survey, scratch)
    scratch.replace(folder / MAP)


def write_order(operator: str, placement: tuple[str, ...], folder: Path) -> None:
    """Write the placement that the controller must order, atomically."""
    scratch = folder / f"new-{ORDER}"
    scratch.write_text(json.dumps({operator: placement}))
    scratch.replace(folder / ORDER)


def read_order(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the ordered nodes by operator; empty before the first order."""
    try:
        return {name: tuple(nodes) for name, nodes in json.loads((folder / ORDER).read_text()).items()}
    except FileNotFoundError:
        return {}
