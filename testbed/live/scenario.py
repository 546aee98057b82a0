"""Scenarios of live runs: operators, nodes, a compressed day, and the settings of the loop."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from gesscale.errors import InputError
from gesscale.fields import SettingsGroup
from gesscale.policies.gesscale.settings import GesscaleSettings
from gesscale.policies.registry import find_policy_info, relative_to
from gesscale.settings import Settings, load_settings
from gesscale.settings.groups import MonitorSettings
from latency_map import write_csv
from testbed.baselines.rules.settings import DEFAULT_RULES, RulesSettings
from testbed.cluster.topology import Topology
from testbed.pipeline.operator import Work

LATENCY_MAP = "latency.csv"

_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOperator:
    """One operator: a separate Spark application."""

    name: str = "nearest"
    #: The operators that it reads from.
    upstream: tuple[str, ...] = ()
    #: Its function of a ride.
    work: Work = Work.NEAREST
    #: Its topics if Kafka feeds it; without an output topic it writes files (reads, writes).
    reads: str = "rides"
    writes: str | None = None
    #: Emulated work of a node of weight 1 on one row.
    service_ms_per_row: float = 2.2
    #: Port of its driver's metrics.
    metrics_port: int = 9108

    def metrics_url(self, topology: Topology) -> str:
        """Return the URL of its driver's metrics."""
        return f"http://{topology.driver.address}:{self.metrics_port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicInput:
    """A broker on the driver's node, and a producer outside of the nodes."""

    #: Share of the rows that are sent without a position; the first operator drops them.
    broken_share: float = 0.02
    #: Partitions of each topic, and so tasks of a batch. Six divide evenly among one, two and three replicas.
    partitions: int = 6
    #: The broker's port.
    port: int = 9092
    #: Whether the loop reads the offered rows from the broker; otherwise it takes them from the offsets in the
    #: drivers' batches.
    loop_reads: bool = True

    def bootstrap(self, topology: Topology) -> str:
        """Return the broker's address."""
        return f"{topology.driver.address}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The parameters of a run; the defaults are those of the taxi day on eight nodes."""

    #: The policy that scales every operator.
    policy: str = "gesscale"
    #: A bundled topology or the path of one.
    topology: str = "edge8"
    #: In the order of the stream.
    operators: tuple[LiveOperator, ...] = (LiveOperator(),)
    #: The topics that feed and connect them; None if the only operator replays the rides itself.
    kafka: TopicInput | None = None
    #: How policies without delays choose nodes: nearest or random.
    node_choice: str = "random"
    #: Length of the compressed day, s.
    day_s: float = 240.0
    #: Original length of the rides, s: the 24 hours of a day.
    demand_duration_s: float = 86400.0
    #: Time from the start of a driver that replays rides itself to the first ride, s.
    head_start_s: float = 30.0
    #: Time limit for the rest of the rows after the last ride is due, s.
    drain_s: float = 90.0
    #: Rides that are generated per real passenger; with the copies it sets the load.
    share: float = 0.105
    #: Times that each ride is replayed; 3 in the paper.
    copies: int = 3
    #: B, the cap on a batch, per replica: about 2.6 s of work, so that the fixed cost of a batch stays small.
    #: With Kafka, whose connector only has a fixed cap, of all replicas: three process it in a trigger interval.
    cap_rows: int = 1200
    #: The trigger interval.
    trigger_s: float = 2.0
    #: The loop's period: an hour of the day at the default compression.
    period_s: float = 10.0
    #: Limit for each operator; two cores can run this many executors.
    max_replicas: int = 5
    #: Latency objective of a row, s; None means two periods.
    objective_s: float | None = None
    #: Price of a late minute in replica-minutes, for policies with such a setting.
    late_minute_price: float = GesscaleSettings().late_minute_price

    @property
    def speed(self) -> float:
        """Seconds of the rides per second of the run."""
        return self.demand_duration_s / self.day_s

    @property
    def broken_share(self) -> float:
        """Share of the rows that are sent without a position."""
        return self.kafka.broken_share if self.kafka else 0.0

    @property
    def change_price(self) -> float:
        """Price of a change in replica-minutes: the default, with periods instead of minutes."""
        return GesscaleSettings().change_price * self.period_s / _MINUTE_S

    @property
    def slo_s(self) -> float:
        """Latency objective of a row, s."""
        return 2 * self.period_s if self.objective_s is None else self.objective_s

    @property
    def min_period_s(self) -> float:
        """Shortest period that a policy may request: the default, as Spark's metrics are no faster here."""
        return min(self.period_s, MonitorSettings().min_period_s)

    @property
    def history_s(self) -> float:
        """History of batches that is read: five periods, at least the default."""
        return max(5 * self.period_s, MonitorSettings().history_s)

    @property
    def stale_after_s(self) -> float:
        """Age beyond which metrics are stale: four periods."""
        return 4 * self.period_s

    @property
    def rescale_timeout_s(self) -> float:
        """Time after which an unsettled change no longer blocks the next one: six periods."""
        return 6 * self.period_s

    def settings(self, topology: Topology) -> str:
        """Return the settings of the loop as a user would write them (YAML)."""
        settings = {
            "workflow": {
                "slo": f"{self.slo_s:g}s",
                "operators": {each.name: self._operator(each, topology) for each in self.operators},
            },
            "latency_map": {"file": LATENCY_MAP, "unit": "ms", "kind": "rtt", "max_age": None},
            "monitor": {
                "period": f"{self.period_s:g}s",
                "min_period": f"{self.min_period_s:g}s",
                "window": f"{self.period_s:g}s",
                "history": f"{self.history_s:g}s",
                "stale_after": f"{self.stale_after_s:g}s",
            },
            "analyze": {
                "policy": relative_to(self.policy, Path.cwd()),
                "node_choice": self.node_choice,
                **self.rules(self.policy),
            },
            "plan": {"rescale_timeout": f"{self.rescale_timeout_s:g}s"},
            "execute": {"mode": "act", "cluster": "local", "options": {"topology": self.topology}},
            "knowledge": {"file": "knowledge.sqlite"},
        }
        return yaml.safe_dump(settings, sort_keys=False)

    def rules(self, *policies: str) -> dict[str, object]:
        """Return the settings of policies in the group ``analyze``: periods replace the minutes of the defaults."""
        rules: dict[str, object] = {}
        for info in map(find_policy_info, policies):
            if info.settings is None:
                continue
            with_rules = {"rules": DEFAULT_RULES} if issubclass(info.settings, RulesSettings) else {}
            own = compressed(info.settings(**with_rules), self.period_s / _MINUTE_S)
            prices = {"late_minute_price": self.late_minute_price, "change_price": self.change_price}
            priced = own.model_copy(update={name: prices[name] for name in prices.keys() & info.settings.model_fields})
            if changed := priced.model_dump(mode="json", by_alias=True, exclude_defaults=True):
                rules[info.group] = changed
        return rules

    def _operator(self, operator: LiveOperator, topology: Topology) -> dict[str, object]:
        described: dict[str, object] = {
            "driver_node": topology.driver_node,
            "upstream": list(operator.upstream),
            "metrics_url": operator.metrics_url(topology),
            "max_replicas": self.max_replicas,
        }
        if self.kafka is None:
            return {**described, "batch_cap_rows_per_replica": self.cap_rows}
        described["batch_cap_rows"] = self.cap_rows
        if self.kafka.loop_reads:
            described["kafka"] = {"bootstrap": self.kafka.bootstrap(topology), "topic": operator.reads}
        return described

    def stream_options(self, operator: LiveOperator, folder: Path) -> dict[str, object]:
        """Return the options of an operator's driver program, without its source of rows."""
        sink = {"output-topic": operator.writes} if operator.writes else {"to": folder.resolve() / "sink"}
        return {
            "operator": operator.name,
            "work": operator.work.value,
            **sink,
            "checkpoint": folder.resolve() / f"checkpoint-{operator.name}",
            "cap-rows-per-replica" if self.kafka is None else "cap-rows": self.cap_rows,
            "trigger-s": self.trigger_s,
            "service-ms-per-row": operator.service_ms_per_row,
            "metrics-port": operator.metrics_port,
        }


CLEAN = LiveOperator(name="clean", work=Work.VALID, writes="valid", service_ms_per_row=2.4)
NEAREST = LiveOperator(upstream=("clean",), reads="valid", service_ms_per_row=4.0, metrics_port=9109)


def compressed(group: SettingsGroup, factor: float) -> SettingsGroup:
    """Multiply the times of settings, also of nested ones; times below a minute are Spark's and stay."""

    def changed(name: str, value: object) -> object:
        if isinstance(value, float) and name.endswith("_s") and value >= _MINUTE_S:
            return value * factor
        if isinstance(value, SettingsGroup):
            return compressed(value, factor)
        if isinstance(value, tuple):
            return tuple(changed(name, each) for each in value)
        return value

    return group.model_copy(update={name: changed(name, getattr(group, name)) for name in type(group).model_fields})


#: The taxi day: one operator on eight nodes.
RIDES = Scenario()

#: `testbed workflow`: two operators connected by Kafka.
WORKFLOW = Scenario(operators=(CLEAN, NEAREST), kafka=TopicInput(), share=0.09, copies=1, max_replicas=3)

#: `testbed kubernetes demo`: the taxi day, on five nodes, with a load that three can carry.
KUBE5 = Scenario(
    topology="kube5", operators=(LiveOperator(service_ms_per_row=1.9),), share=0.066, max_replicas=3, drain_s=180.0
)


def prepare_settings(scenario: Scenario, topology: Topology, folder: Path, config: Path | None = None) -> Settings:
    """Write the settings of the loop and the latency map, as a user would, and load them.

    Raises
    ------
    InputError
        If they are invalid, or describe other operators.
    """
    text = scenario.settings(topology) if config is None else config.read_text("utf-8")
    write_csv(topology.map, folder / LATENCY_MAP)
    file = folder / "gesscale.yaml"
    file.write_text(text)
    settings = load_settings(file)
    names = {operator.name for operator in scenario.operators}
    if settings.workflow.operators.keys() != names:
        raise InputError(
            "scenario-operators-differ",
            source=str(config),
            expected=sorted(names),
            got=sorted(settings.workflow.operators),
        )
    return settings
