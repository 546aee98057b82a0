"""Experiments: policies, workloads, seeds, and the simulated world they run in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from gesscale.common.errors import InvalidValueError, cause_of
from gesscale.common.yaml_text import read_yaml
from gesscale.errors import InputError
from gesscale.fields import Duration
from gesscale.formatting import key_path
from gesscale.model.undone_changes import UNDONE_WITHIN_S
from gesscale.settings.problems import setting_problems
from gesscale.validation import located, nearest
from testbed.arena.case import Case
from testbed.arena.experiments.sections import (
    FaultsSection,
    NodesSection,
    OperatorSection,
    ReferenceSection,
    RulesSection,
    VariantsSection,
    check_distinct,
)
from testbed.arena.names import Engine
from testbed.simulator.scene import MetricTraits, Moment, Section

BUNDLED = Path(__file__).parent
MAX_SEEDS = 100_000

#: Settings that a variant cannot change, because they define the cases.
_CASE_SETTINGS = ("name", "policies", "workloads", "seeds", "variants")


#: Settings that may name files next to the experiment.
_FILES = {
    ("extends",),
    ("policies",),
    ("workloads",),
    ("nodes", "topology"),
    ("nodes", "map"),
    ("rules", "rules", "file"),
    ("operators", "*", "physics"),
}


def _check_seeds(seeds: object) -> object:
    listed = [
        seed
        for seed in (seeds if isinstance(seeds, list | tuple) else [seeds])
        if isinstance(seed, int) and not isinstance(seed, bool)
    ]
    if isinstance(seeds, list | tuple):
        is_valid = 0 < len(set(listed)) == len(seeds) and all(0 <= seed < 2**32 for seed in listed)
    else:
        is_valid = len(listed) == 1 and 1 <= listed[0] <= MAX_SEEDS
    if not is_valid:
        raise InvalidValueError("seeds-invalid", max=MAX_SEEDS, got=seeds)
    return seeds


class Experiment(Section):
    """Policies, workloads, seeds, and the simulated world they run in.

    Attributes
    ----------
    name: Name in commands and results.

    title: Purpose in a line.

    engine: Simulated engine: spark or flink.

    policies: Names of the policies.

    workloads: Loads by name or file.

    seeds: Number of seeds (0, 1, ...), or a list of seeds. Default: the fewest for good intervals.

    nodes: Fog nodes and the delays between them.

    operators: Operators to scale, by name.

    rules: Settings of the policies.

    metrics: Quality of the metrics.

    faults: Faults during a run.

    load_factor: Factor on the rates of patterns. Default: scaled by peak_share instead.

    length_s: Duration of every load, whose rates stay. Default: that of each load.

    period_s: Time between two steps of the loop. Default: paper IV-B.

    min_period_s: Shortest time to a next step that a policy may request. Default: none may, so all steps are equal.

    sample_s: Time between two samples for the scores.

    rescale_timeout_s: A change that has not settled after this time no longer blocks the next.

    drain_limit_s: After the input ends, the longest time until all rows are processed.

    slo_s: Latency objective of a row, for the policies and the scores. Default: one period.

    undone_within_s: A change is undone if its replicas are taken back within this time. Default: as on the page.

    restart_is_supply: Whether replicas count as supply during a restart.

    variants: Settings to vary.

    reference: Published figures to show next to the results.

    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    title: str = ""
    engine: Engine = Engine.SPARK
    policies: tuple[str, ...] = Field(min_length=1)
    workloads: tuple[str, ...] = Field(min_length=1)
    seeds: Annotated[int | tuple[int, ...], BeforeValidator(_check_seeds)] = 30
    nodes: NodesSection
    operators: Mapping[str, OperatorSection] = Field({"operator": OperatorSection()}, min_length=1)
    rules: RulesSection = RulesSection()
    metrics: MetricTraits = MetricTraits()
    faults: FaultsSection = FaultsSection()
    #: Peak of a pattern as a share of the capacity of all replicas; loads of files keep their rates.
    peak_share: float = Field(0.8, gt=0, le=10)
    load_factor: float | None = Field(None, gt=0)
    length_s: Duration | None = None
    period_s: Duration = 60.0
    min_period_s: Duration | None = None
    sample_s: Duration = 10.0
    rescale_timeout_s: Duration = 300.0
    drain_limit_s: Moment = 7200.0
    slo_s: Duration = 60.0
    undone_within_s: Duration = UNDONE_WITHIN_S
    restart_is_supply: bool = True
    #: Computation time that a policy may use in a run; beyond, the run is lost.
    time_limit_s: Duration = 60.0
    variants: VariantsSection = VariantsSection()
    reference: ReferenceSection | None = None

    @field_validator("policies", "workloads")
    @classmethod
    def _check_distinct(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        check_distinct(list(names))
        return names

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        unknown = self.rules.unknown()
        if unknown and not any(":" in name for name in self.policies):
            raise InvalidValueError(
                "setting-unknown",
                place=key_path(("rules", unknown[0])),
                nearest=nearest(unknown[0], RulesSection.model_fields),
            )
        return self

    @model_validator(mode="after")
    def _check_retention(self) -> Self:
        for name, operator in self.operators.items():
            if operator.retention_s is not None and (operator.upstream or self.engine is not Engine.FLINK):
                place = key_path(("operators", name, "retention"))
                raise InvalidValueError(
                    "retention-unsupported", place=place, engine=self.engine.value, upstream=list(operator.upstream)
                )
        return self

    @model_validator(mode="after")
    def _check_variants(self) -> Self:
        if self.variants.choices:
            for name in self.variant_names:
                self.variant(name)
        return self

    @property
    def seed_list(self) -> tuple[int, ...]:
        """All seeds."""
        return tuple(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds

    @property
    def variant_names(self) -> tuple[str, ...]:
        """Names of the variants, the one with all defaults first; one empty name without variants."""
        return tuple(self.variants.changes())

    def cases(self) -> tuple[Case, ...]:
        """Return all cases; those of one world are consecutive."""
        return tuple(
            Case(variant=variant, workload=workload, seed=seed, policy=policy)
            for variant in self.variant_names
            for workload in self.workloads
            for seed in self.seed_list
            for policy in self.policies
        )

    def variant(self, name: str) -> "Experiment":
        """Return the experiment with a variant's changes, and without variants.

        Raises
        ------
        InputError
            If there is no such variant, or its changes are invalid.
        """
        known = self.variants.changes()
        if name not in known:
            raise InputError(
                "experiment-variant-unknown",
                source=f"experiment {self.name}",
                variant=name,
                nearest=nearest(name, list(known)),
            )
        if not self.variants.choices:
            return self
        changes = known[name]
        if forbidden := [path for path in changes if path.split(".")[0] in _CASE_SETTINGS]:
            raise InputError(
                "experiment-setting-fixed", source=f"experiment {self.name}, variant {name}", setting=forbidden[0]
            )
        return self.changed({**changes, "variants": {}}, f"experiment {self.name}, variant {name}")

    def changed(self, changes: Mapping[str, object], origin: str = "") -> "Experiment":
        """Return the experiment with some settings changed.

        Raises
        ------
        InputError
            If a setting does not exist, or its value is invalid.
        """
        document = self.document()
        for path, value in changes.items():
            group, *keys = (document, *path.split("."))
            for key in keys[:-1]:
                below = group.get(key)
                group[key] = group = dict(below) if isinstance(below, Mapping) else {}
            group[keys[-1]] = value
        return experiment_of(document, origin or f"experiment {self.name}")

    def document(self) -> dict[str, Any]:
        """Return it as JSON or YAML can hold it; `experiment_of` reads it back."""
        document: dict[str, Any] = self.model_dump(mode="json", by_alias=True)
        return document


def experiment_of(document: object, origin: str) -> Experiment:
    """Build an experiment from a document of YAML or JSON.

    Raises
    ------
    InputError
        With a problem for each invalid setting.
    """
    if not isinstance(document, Mapping):
        raise InputError("experiment-malformed", source=origin, got=document)
    try:
        return Experiment.model_validate(document)
    except ValidationError as error:
        raise InputError(located(setting_problems(error, root=Experiment), "", origin)) from None


def experiment_names() -> Mapping[str, str]:
    """Return the titles of the bundled experiments by name."""
    return {path.stem: read_experiment(str(path)).title for path in sorted(BUNDLED.glob("*.yaml"))}


def read_experiment(source: str | Path) -> Experiment:
    """Read an experiment.

    Raises
    ------
    InputError
        If it does not exist, or is not an experiment.
    """
    return _read(source, ())


def _read(source: str | Path, extended_by: tuple[Path, ...]) -> Experiment:
    path = Path(source)
    if not path.is_file() and (BUNDLED / f"{source}.yaml").is_file():
        path = BUNDLED / f"{source}.yaml"
    if not path.exists() and path.suffix not in {".yaml", ".yml"}:
        names = sorted(file.stem for file in BUNDLED.glob("*.yaml"))
        raise InputError("experiment-unknown", experiment=str(source), nearest=nearest(str(source), names))
    origin = f"experiment {path}"
    try:
        document = read_yaml(path, origin)
    except OSError as error:
        raise InputError("experiment-unreadable", source=origin, cause=cause_of(error)) from error
    document = _with_absolute_paths(document, path.parent)
    if not (isinstance(document, dict) and "extends" in document):
        return experiment_of(document, origin)
    base = document.pop("extends")
    if not isinstance(base, str) or path.resolve() in extended_by:
        raise InputError("experiment-extends-invalid", source=origin, place="extends", got=base)
    extended = _read(base, (*extended_by, path.resolve()))
    return extended.changed({"name": path.stem, "title": "", **document}, origin)


def _with_absolute_paths(value: Any, directory: Path, *path: str) -> Any:
    """Return a part of a document with absolute paths for files in the directory of the experiment."""
    if isinstance(value, dict):
        return {
            key: _with_absolute_paths(below, directory, *path, "*" if path == ("operators",) else str(key))
            for key, below in value.items()
        }
    if isinstance(value, list):
        return [_with_absolute_paths(item, directory, *path) for item in value]
    if isinstance(value, str) and path in _FILES:
        file, colon, rest = value.partition(":")
        return f"{directory / file}{colon}{rest}" if file and (directory / file).is_file() else value
    return value
