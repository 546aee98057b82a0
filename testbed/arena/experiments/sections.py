"""Groups of an experiment file: nodes, operators, rules, metrics, faults, reference, variants."""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from itertools import product
from math import prod
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, field_validator, model_validator

from gesscale.common.errors import InvalidValueError
from gesscale.fields import Duration
from gesscale.settings.analyze import AnalyzeSettings
from latency_map import DelayKind, DelayUnit
from latency_map.names import MAX_NODES
from testbed.arena.case import METRICS
from testbed.simulator.scene import MAPPED_AFTER_S, LinkSlowdown, NodeFailure, Section

#: Value of ``initial_replicas`` for the replicas that the first minutes of the load need.
NEEDED = "needed"


def _check_initial(replicas: object) -> object:
    number = isinstance(replicas, int) and not isinstance(replicas, bool) and replicas >= 1
    if not (number or replicas == NEEDED):
        raise InvalidValueError("initial-replicas-invalid", got=replicas)
    return replicas


class MapKind(StrEnum):
    """How a latency map is generated."""

    UNIFORM = "uniform"
    CLUSTERED = "clustered"


class GeneratedMap(Section):
    """A random latency map.

    Attributes
    ----------
    kind: uniform: each pair independently; clustered: a few sites.
    low_ms: Shortest round trip of a pair, ms.
    high_ms: Longest round trip of a pair, ms.
    clusters: Sites of a clustered map; each is at most 10 ms wide.
    seed: Seed of the map if all seeds share one.
    per_seed: Whether each seed of the experiment has a different map.
    """

    kind: MapKind = MapKind.UNIFORM
    low_ms: float = Field(0.0, ge=0, le=60_000)
    high_ms: float = Field(300.0, ge=0, le=60_000)
    clusters: int = Field(3, ge=1)
    seed: int = Field(0, ge=0)
    per_seed: bool = False

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        if self.low_ms > self.high_ms:
            raise InvalidValueError("delay-range-reversed", low_ms=self.low_ms, high_ms=self.high_ms)
        return self


class NodesSection(Section):
    """Fog nodes: a topology, a latency map, or nodes with a random map.

    Attributes
    ----------
    topology: A topology file or the name of a bundled one.

    map: A file with a latency map.

    unit: Unit of that file, if the file does not state it.

    kind: Direction of its delays, if the file does not state it.

    generated: Parameters of a random map; needs `count`.

    count: Number of nodes; the first ones of a topology or map. Default: all.

    weights: True speed of nodes relative to weight 1. Default: the topology's, else 1.

    reported_weights: Weights that the scaler receives. Default: the true ones.

    slots: Slots of an executor on a node (Spark), each with an equal part of its speed. Default: the topology's if
        they differ from 1, else as in the physics, each with the whole speed.

    prices: Price of a replica on a node for a minute. Default: the topology's, else 1.

    driver_node: Node of the Spark driver. Default: the topology's, else the first.

    """

    topology: str | None = Field(None, min_length=1)
    map: str | None = Field(None, min_length=1)
    unit: DelayUnit | None = None
    kind: DelayKind | None = None
    generated: GeneratedMap | None = None
    count: int | None = Field(None, ge=1, le=MAX_NODES)
    weights: Mapping[str, Annotated[float, Field(gt=0, le=1000)]] = {}
    reported_weights: Mapping[str, Annotated[float, Field(gt=0, le=1000)]] = {}
    slots: Mapping[str, Annotated[int, Field(ge=1, le=64)]] = {}
    prices: Mapping[str, Annotated[float, Field(gt=0, le=1000)]] = {}
    driver_node: str | None = None
    #: Most executors of a node, of all operators together. Default: one of each operator.
    executors_per_node: int | None = Field(None, ge=1)

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        given = [name for name in ("topology", "map", "generated") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidValueError("nodes-source-ambiguous", given=given or "none")
        if self.generated is not None and self.count is None:
            raise InvalidValueError("node-count-required")
        return self


class OperatorSection(Section):
    """An operator to scale; its key is its name.

    Attributes
    ----------
    upstream: Operators whose output it reads. Default: it reads the load.

    load_share: Share of the load's rows that it reads, if it reads the load.

    selectivity: Rows that it emits per row that it reads.

    trigger_s: Trigger interval of the micro-batches (Spark). Default: as in the physics.

    cap_rows_per_replica: Cap B on the rows of a batch, per replica (Spark); null: none.

    restart_s: Time without output at each change (Flink). Default: as in the physics.

    retention_s: Time for which its source keeps a row that is not read (Flink), as Kafka does. Default: for ever.

    constants: Other constants of the physics, by name. Default: as in the physics.

    min_replicas: Fewest replicas.

    max_replicas: Most replicas. Default: the workers of the paper.

    """

    upstream: tuple[str, ...] = ()
    load_share: float = Field(1.0, gt=0, le=1)
    selectivity: float = Field(1.0, ge=0)
    #: Physical constants: a name or a file. Default: `map` on Spark with slower rows, `taxi-nearest` on Flink.
    physics: str | None = Field(None, min_length=1)
    #: Time that a slot computes for a row, ms. Default: as in the physics.
    service_ms_per_row: float | None = Field(None, gt=0)
    trigger_s: Duration | None = None
    cap_rows_per_replica: int | None = Field(2400, ge=1)
    restart_s: Duration | None = None
    retention_s: Duration | None = None
    constants: Mapping[str, float] = {}
    min_replicas: int = Field(1, ge=1)
    max_replicas: int = Field(8, ge=1)
    #: Replicas at the start; `needed`: those that the first five minutes of the load need, at the best placement.
    initial_replicas: Annotated[int | Literal["needed"], BeforeValidator(_check_initial)] = 1

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        initial = self.min_initial_replicas
        if not self.min_replicas <= initial <= self.max_replicas:
            raise InvalidValueError("initial-replicas-limit", min=self.min_replicas, got=initial, max=self.max_replicas)
        return self

    @model_validator(mode="after")
    def _check_load(self) -> Self:
        if self.upstream and self.load_share != 1:
            raise InvalidValueError("load-share-upstream", upstream=list(self.upstream), got=self.load_share)
        return self

    @property
    def min_initial_replicas(self) -> int:
        """Replicas at the start if their number is given, else min_replicas."""
        return self.initial_replicas if isinstance(self.initial_replicas, int) else self.min_replicas


class FaultsSection(Section):
    """Faults during a run.

    Attributes
    ----------
    failures: Node failures.
    slowdowns: Link slow-downs.
    mapped_after_s: Time after which the map that policies read shows a slow-down; null: never.
    """

    failures: tuple[NodeFailure, ...] = ()
    slowdowns: tuple[LinkSlowdown, ...] = ()
    mapped_after_s: Duration | None = MAPPED_AFTER_S


class RulesSection(AnalyzeSettings):
    """Settings of the policies, as in the group ``analyze``.

    Settings of a user's own policy are not validated here: its code runs only in a run.

    Attributes
    ----------
    policy: Fixed: an experiment lists its policies.
    seed: Fixed: each case has a seed.
    """

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True, extra="allow")

    policy: Literal["gesscale"] = Field("gesscale", exclude=True)
    seed: Literal[0] = Field(0, exclude=True)

    def unknown(self, known: Collection[str] = ()) -> tuple[str, ...]:
        """Return the names that are neither settings nor the given groups of users' policies."""
        return tuple(name for name in self.model_extra or {} if name not in known)


#: Published figures by policy and metric.
Figures = Mapping[str, Mapping[str, float]]


class ReferenceSection(Section):
    """Published figures, shown next to ours.

    Attributes
    ----------
    source: Origin of the figures.
    figures: Figures by policy and metric.
    by_workload: Figures by workload, policy and metric. Default: `figures` for every workload.
    """

    source: str = Field(min_length=1)
    figures: Figures = Field({})
    by_workload: Mapping[str, Figures] = {}

    @model_validator(mode="after")
    def _check_metrics(self) -> Self:
        tables = (self.figures, *self.by_workload.values())
        unknown = [name for table in tables for metrics in table.values() for name in metrics if name not in METRICS]
        if unknown:
            raise InvalidValueError("reference-metric-unknown", metric=unknown[0], known=METRICS)
        return self

    def of(self, workload: str) -> Figures:
        """Return the figures of a workload, by policy and metric."""
        return self.by_workload.get(workload, self.figures)


MAX_VARIANTS = 1000


class VariantOption(Section):
    """One option of a choice.

    Attributes
    ----------
    name: Name in results.
    set: Settings to change, such as `metrics.cpu: work`.
    """

    name: str = Field(pattern=r"^[^=,\s]+$")
    set: Mapping[str, JsonValue] = {}


class VariantChoice(Section):
    """A choice between several options; the first is the default.

    Attributes
    ----------
    name: Name in results.
    question: Description for people.
    options: The options; the first is the default.
    """

    name: str = Field(pattern=r"^[^=,\s]+$")
    question: str = ""
    options: tuple[VariantOption, ...] = Field(min_length=1)

    @field_validator("options")
    @classmethod
    def _check_names(cls, options: tuple[VariantOption, ...]) -> tuple[VariantOption, ...]:
        check_distinct([option.name for option in options])
        return options


class VariantsSection(Section):
    """Choices to vary, and how they are combined.

    Attributes
    ----------
    combine: Change one choice at a time, or take every combination.
    choices: The choices.
    """

    combine: Literal["one-at-a-time", "full-factorial"] = "one-at-a-time"
    choices: tuple[VariantChoice, ...] = ()

    @field_validator("choices")
    @classmethod
    def _check_names(cls, choices: tuple[VariantChoice, ...]) -> tuple[VariantChoice, ...]:
        check_distinct([choice.name for choice in choices])
        return choices

    @model_validator(mode="after")
    def _check_number(self) -> Self:
        sizes = [len(choice.options) for choice in self.choices]
        number = prod(sizes) if self.combine == "full-factorial" else 1 + sum(sizes) - len(sizes)
        if number > MAX_VARIANTS:
            raise InvalidValueError("variants-too-many", max=MAX_VARIANTS, got=number)
        return self

    def changes(self) -> Mapping[str, Mapping[str, JsonValue]]:
        """Return the changes of each variant by its name; the first variant has all defaults."""
        found: dict[str, Mapping[str, JsonValue]] = {}
        for picked in self._combinations():
            changed = [f"{c.name}={o.name}" for c, o in zip(self.choices, picked, strict=True) if o != c.options[0]]
            name = ",".join(changed) or ("default" if self.choices else "")
            found[name] = {path: value for option in picked for path, value in option.set.items()}
        return found

    def _combinations(self) -> Iterable[tuple[VariantOption, ...]]:
        if self.combine == "full-factorial":
            return product(*(choice.options for choice in self.choices))
        defaults = tuple(choice.options[0] for choice in self.choices)
        return (
            defaults,
            *(
                (*defaults[:index], option, *defaults[index + 1 :])
                for index, choice in enumerate(self.choices)
                for option in choice.options[1:]
            ),
        )


def check_distinct(names: list[str]) -> None:
    """Reject names that occur twice.

    Raises
    ------
    InvalidValueError
        With the first such name.
    """
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise InvalidValueError("names-not-distinct", name=repeated)
