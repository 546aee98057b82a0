"""The groups of an experiment file: nodes, operators, rules, metrics, faults, reference, variants."""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from itertools import product
from math import prod
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, field_validator, model_validator

from gesscale.fields import Duration
from gesscale.settings.analyze import AnalyzeSettings
from latency_map import DelayKind, DelayUnit
from latency_map.names import MAX_NODES
from testbed.arena.case import METRICS
from testbed.simulator.scene import LinkSlowdown, NodeFailure, Section

#: Stands for as many replicas as the first minutes of the load need.
NEEDED = "needed"


def _check_initial(replicas: object) -> object:
    number = isinstance(replicas, int) and not isinstance(replicas, bool) and replicas >= 1
    if not (number or replicas == NEEDED):
        raise ValueError(f"expected a whole number of replicas from 1, or {NEEDED}")
    return replicas


class MapKind(StrEnum):
    """How a latency map is generated."""

    UNIFORM = "uniform"
    CLUSTERED = "clustered"


class GeneratedMap(Section):
    """A latency map that is drawn.

    Attributes
    ----------
    kind: uniform: each pair on its own; clustered: a few sites.
    low_ms: Least round trip of a pair, ms.
    high_ms: Greatest round trip of a pair, ms.
    clusters: How many sites a clustered map has; each is 10 ms wide at most.
    seed: Of the map, where all seeds share one.
    per_seed: Whether each seed of the experiment draws another map.
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
            raise ValueError(f"expected low_ms <= high_ms, got {self.low_ms:g} and {self.high_ms:g}")
        return self


class NodesSection(Section):
    """The fog nodes: a topology, a latency map, or nodes with a map that is drawn.

    Attributes
    ----------
    topology: A topology file or the name of a bundled one.

    map: A file with a latency map.

    unit: Unit of that file, where it does not tell.

    kind: Direction of its delays, where it does not tell.

    generated: How the map is drawn; needs `count`.

    count: How many nodes; of a topology or map the first. Default: all.

    weights: True speed of nodes against one of weight 1. Default: the topology's, else 1.

    reported_weights: Weights that the scaler receives. Default: the true ones.

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
    driver_node: str | None = None
    #: Operator.
    executors_per_node: int | None = Field(None, ge=1)

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        given = [name for name in ("topology", "map", "generated") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"expected one of topology, map and generated, got {' and '.join(given) or 'none'}")
        if self.generated is not None and self.count is None:
            raise ValueError("generated needs count, the number of nodes; say for instance count: 8")
        return self


class OperatorSection(Section):
    """An operator that is scaled; its key is its name.

    Attributes
    ----------
    upstream: Operators whose output it reads. Default: it reads the load.

    load_share: Share of the load's rows that it reads, where it reads the load.

    selectivity: Rows that it emits per row that it reads.

    trigger_s: Trigger interval of the micro-batches (Spark). Default: as in the physics.

    cap_rows_per_replica: Cap B on the rows of a batch, per replica (Spark); null: none.

    restart_s: Time without output at each change (Flink). Default: as in the physics.

    constants: Other constants of the physics, by name. Default: as they are.

    min_replicas: Fewest replicas.

    max_replicas: Most replicas. Default: the workers of the paper.

    """

    upstream: tuple[str, ...] = ()
    load_share: float = Field(1.0, gt=0, le=1)
    selectivity: float = Field(1.0, ge=0)
    #: `taxi-nearest` on Flink.
    physics: str | None = Field(None, min_length=1)
    #: Are named.
    service_ms_per_row: float | None = Field(None, gt=0)
    trigger_s: Duration | None = None
    cap_rows_per_replica: int | None = Field(2400, ge=1)
    restart_s: Duration | None = None
    constants: Mapping[str, float] = {}
    min_replicas: int = Field(1, ge=1)
    max_replicas: int = Field(8, ge=1)
    #: `needed`: as many as the first five minutes of the load need, where they are best.
    initial_replicas: Annotated[int | Literal["needed"], BeforeValidator(_check_initial)] = 1

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        initial = self.least_initial_replicas
        if not self.min_replicas <= initial <= self.max_replicas:
            raise ValueError(
                "expected min_replicas <= initial_replicas <= max_replicas, got "
                f"{self.min_replicas}, {initial} and {self.max_replicas}"
            )
        return self

    @model_validator(mode="after")
    def _check_load(self) -> Self:
        if self.upstream and self.load_share != 1:
            raise ValueError(
                f"expected no load_share where it reads {', '.join(self.upstream)}, got {self.load_share:g}"
            )
        return self

    @property
    def least_initial_replicas(self) -> int:
        """Replicas that it begins with where their number is given, else the fewest."""
        return self.initial_replicas if isinstance(self.initial_replicas, int) else self.min_replicas


class FaultsSection(Section):
    """What goes wrong on the way.

    Attributes
    ----------
    failures: Nodes that fail.
    slowdowns: Links that slow down.
    """

    failures: tuple[NodeFailure, ...] = ()
    slowdowns: tuple[LinkSlowdown, ...] = ()


class RulesSection(AnalyzeSettings):
    """Thresholds of the policies, as in the settings of group ``analyze``.

    The settings of a policy of one's own stand here as they were read: the code of that policy runs only to play it.

    Attributes
    ----------
    policy: Not here: an experiment lists them.
    seed: Not here: each case has its own.
    """

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True, extra="allow")

    policy: Literal["gesscale"] = Field("gesscale", exclude=True)
    seed: Literal[0] = Field(0, exclude=True)

    def unknown(self, known: Collection[str] = ()) -> tuple[str, ...]:
        """Return the settings that there are not, but for groups of policies of one's own."""
        return tuple(name for name in self.model_extra or {} if name not in known)


#: By policy and metric.
Figures = Mapping[str, Mapping[str, float]]


class ReferenceSection(Section):
    """Published figures, shown next to ours.

    Attributes
    ----------
    source: Where they are from.
    figures: By policy and metric.
    by_workload: By workload, policy and metric. Default: `figures` hold for every workload.
    """

    source: str = Field(min_length=1)
    figures: Figures = Field({})
    by_workload: Mapping[str, Figures] = {}

    @model_validator(mode="after")
    def _check_metrics(self) -> Self:
        tables = (self.figures, *self.by_workload.values())
        unknown = [name for table in tables for metrics in table.values() for name in metrics if name not in METRICS]
        if unknown:
            raise ValueError(f"there is no metric {unknown[0]!r}; there are {', '.join(METRICS)}")
        return self

    def of(self, workload: str) -> Figures:
        """Return the figures of a workload, by policy and metric."""
        return self.by_workload.get(workload, self.figures)


MAX_VARIANTS = 1000


class Option(Section):
    """One reading of a choice.

    Attributes
    ----------
    name: How results call it.
    set: What it changes, such as `metrics.cpu: work`.
    """

    name: str = Field(pattern=r"^[^=,\s]+$")
    set: Mapping[str, JsonValue] = {}


class VariantChoice(Section):
    """A question with several answers; the first is the one that holds elsewhere.

    Attributes
    ----------
    name: How results call it.
    question: What is chosen, for people.
    options: The answers; the first is the default.
    """

    name: str = Field(pattern=r"^[^=,\s]+$")
    question: str = ""
    options: tuple[Option, ...] = Field(min_length=1)

    @field_validator("options")
    @classmethod
    def _check_names(cls, options: tuple[Option, ...]) -> tuple[Option, ...]:
        distinct([option.name for option in options], "options")
        return options


class VariantsSection(Section):
    """What is varied, and how choices are combined.

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
        distinct([choice.name for choice in choices], "choices")
        return choices

    @model_validator(mode="after")
    def _check_number(self) -> Self:
        sizes = [len(choice.options) for choice in self.choices]
        number = prod(sizes) if self.combine == "full-factorial" else 1 + sum(sizes) - len(sizes)
        if number > MAX_VARIANTS:
            raise ValueError(f"expected at most {MAX_VARIANTS} variants, got {number}")
        return self

    def changes(self) -> Mapping[str, Mapping[str, JsonValue]]:
        """Return the changes of each variant by its name; the first variant takes every default."""
        found: dict[str, Mapping[str, JsonValue]] = {}
        for picked in self._combinations():
            changed = [f"{c.name}={o.name}" for c, o in zip(self.choices, picked, strict=True) if o != c.options[0]]
            name = ",".join(changed) or ("default" if self.choices else "")
            found[name] = {path: value for option in picked for path, value in option.set.items()}
        return found

    def _combinations(self) -> Iterable[tuple[Option, ...]]:
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


def distinct(names: list[str], what: str) -> None:
    """Refuse names that occur twice.

    Raises
    ------
    ValueError
        Naming the first of them.
    """
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"expected distinct {what}, got {twice!r} twice")
