"""Experiments: which policies on which workloads with which seeds, and in which world."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from gesscale.common.text import truncated_repr
from gesscale.common.yaml_text import read_yaml
from gesscale.errors import InputError
from gesscale.fields import Duration
from gesscale.formatting import key_path
from gesscale.settings.problems import setting_problems
from testbed.arena.case import Case
from testbed.arena.experiments.sections import (
    FaultsSection,
    NodesSection,
    OperatorSection,
    ReferenceSection,
    RulesSection,
    VariantsSection,
    distinct,
)
from testbed.arena.names import Engine
from testbed.simulator.scene import MetricTraits, Moment, Section

BUNDLED = Path(__file__).parent
MAX_SEEDS = 100_000

#: What a variant may not change: cases are made of it.
_OF_CASES = ("name", "policies", "workloads", "seeds", "variants")


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
        good = 0 < len(set(listed)) == len(seeds) and all(0 <= seed < 2**32 for seed in listed)
    else:
        good = len(listed) == 1 and 1 <= listed[0] <= MAX_SEEDS
    if not good:
        raise ValueError(f"expected how many seeds (1 to {MAX_SEEDS}), or a list of distinct whole numbers from 0")
    return seeds


class Experiment(Section):
    """Which policies on which workloads with which seeds, and in which world.

    Attributes
    ----------
    name: How commands and results call it.

    title: What it is for, in a line.

    engine: The engine that is simulated: spark or flink.

    policies: The policies, by their names in the arena.

    workloads: The loads, by name or file.

    seeds: How many (0, 1, ...), or which. Default: what intervals need at least.

    nodes: The fog nodes and the delays between them.

    operators: What is scaled; operators by name.

    rules: Thresholds of the policies.

    metrics: How well Monitor sees.

    faults: What goes wrong on the way.

    load_factor: Patterns are played at their own rates times this. Default: scaled by peak_share instead.

    length_s: Every load is played in this time, at its own rates or as scaled. Default: each in its own.

    period_s: Time between two steps of the loop. Default: paper IV-B.

    min_period_s: A policy may ask for its next step so soon. Default: none may ask, so all have the same steps.

    sample_s: Time between two samples for the scores.

    rescale_timeout_s: A change that has not settled after this time no longer blocks the next.

    drain_limit_s: After the input ends, the time that all rows may take to be processed.

    slo_s: Latency of a row that is still good. Default: one period.

    restart_is_supply: Whether replicas count as supply while they are restarted.

    variants: What is varied.

    reference: Figures to print next to ours.

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
    #: Played as they are.
    peak_share: float = Field(0.8, gt=0, le=10)
    load_factor: float | None = Field(None, gt=0)
    length_s: Duration | None = None
    period_s: Duration = 60.0
    min_period_s: Duration | None = None
    sample_s: Duration = 10.0
    rescale_timeout_s: Duration = 300.0
    drain_limit_s: Moment = 7200.0
    slo_s: Duration = 60.0
    restart_is_supply: bool = True
    #: Beyond.
    time_limit_s: Duration = 60.0
    variants: VariantsSection = VariantsSection()
    reference: ReferenceSection | None = None

    @field_validator("policies", "workloads")
    @classmethod
    def _check_distinct(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        distinct(list(names), "names")
        return names

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        unknown = self.rules.unknown()
        if unknown and not any(":" in name for name in self.policies):
            raise ValueError(f"{key_path(('rules', unknown[0]))}: there is no such setting")
        return self

    @model_validator(mode="after")
    def _check_variants(self) -> Self:
        if self.variants.choices:
            for name in self.variant_names:
                self.variant(name)
        return self

    @property
    def seed_list(self) -> tuple[int, ...]:
        """The seeds, listed."""
        return tuple(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds

    @property
    def variant_names(self) -> tuple[str, ...]:
        """The variants, the one with all defaults first; one empty name where nothing is varied."""
        return tuple(self.variants.changes())

    def cases(self) -> tuple[Case, ...]:
        """Return every case, those of one world next to each other."""
        return tuple(
            Case(variant=variant, workload=workload, seed=seed, policy=policy)
            for variant in self.variant_names
            for workload in self.workloads
            for seed in self.seed_list
            for policy in self.policies
        )

    def variant(self, name: str) -> "Experiment":
        """Return the experiment with a variant's changes made and nothing left to vary.

        Raises
        ------
        InputError
            When there is no such variant, or what it changes cannot be.
        """
        known = self.variants.changes()
        if name not in known:
            raise InputError(
                f"experiment {self.name}: there is no variant {name!r}; choose one of {', '.join(map(repr, known))}"
            )
        if not self.variants.choices:
            return self
        changes = known[name]
        if forbidden := [path for path in changes if path.split(".")[0] in _OF_CASES]:
            raise InputError(f"experiment {self.name}: variant {name}: {forbidden[0]} cannot be varied")
        return self.changed({**changes, "variants": {}}, f"experiment {self.name}: variant {name}")

    def changed(self, changes: Mapping[str, object], origin: str = "") -> "Experiment":
        """Return the experiment with some settings changed.

        Raises
        ------
        InputError
            When there is no such setting or it cannot have that value.
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
        """Return what JSON and YAML can say of it; `experiment_of` reads it back."""
        document: dict[str, Any] = self.model_dump(mode="json", by_alias=True)
        return document


def experiment_of(document: object, origin: str) -> Experiment:
    """Build an experiment from what was read from YAML or JSON.

    Raises
    ------
    InputError
        With every fault: which setting, what was expected and what came.
    """
    if not isinstance(document, Mapping):
        raise InputError(
            f"{origin}: expected a mapping of settings such as `name: mine`, got {truncated_repr(document)}"
        )
    try:
        return Experiment.model_validate(document)
    except ValidationError as error:
        raise InputError(f"{origin}: {'; '.join(map(str, setting_problems(error, (), Experiment)))}") from None


def experiment_names() -> Mapping[str, str]:
    """Return the bundled experiments with their titles."""
    return {path.stem: read_experiment(str(path)).title for path in sorted(BUNDLED.glob("*.yaml"))}


def read_experiment(source: str | Path) -> Experiment:
    """Read an experiment.

    Raises
    ------
    InputError
        When there is none of that name, or it is no experiment.
    """
    return _read(source, ())


def _read(source: str | Path, extended_by: tuple[Path, ...]) -> Experiment:
    path = Path(source)
    if not path.is_file() and (BUNDLED / f"{source}.yaml").is_file():
        path = BUNDLED / f"{source}.yaml"
    if not path.exists() and path.suffix not in {".yaml", ".yml"}:
        names = ", ".join(sorted(file.stem for file in BUNDLED.glob("*.yaml")))
        raise InputError(f"there is no experiment {str(source)!r}; choose one of {names}, or name a YAML file")
    origin = f"experiment {path}"
    try:
        document = read_yaml(path, origin)
    except OSError as error:
        raise InputError(f"{origin}: {error.strerror or error}; name an existing YAML file") from error
    except InputError as error:
        raise InputError(str(error)) from error
    document = _with_whole_paths(document, path.parent)
    if not (isinstance(document, dict) and "extends" in document):
        return experiment_of(document, origin)
    base = document.pop("extends")
    if not isinstance(base, str) or path.resolve() in extended_by:
        raise InputError(f"{origin}: extends: expected the name of another experiment or its file, got {base!r}")
    extended = _read(base, (*extended_by, path.resolve()))
    return extended.changed({"name": path.stem, "title": "", **document}, origin)


def _with_whole_paths(value: Any, directory: Path, *path: str) -> Any:
    """Return a part of a document with the whole path of each file that is in the same directory."""
    if isinstance(value, dict):
        return {
            key: _with_whole_paths(below, directory, *path, "*" if path == ("operators",) else str(key))
            for key, below in value.items()
        }
    if isinstance(value, list):
        return [_with_whole_paths(item, directory, *path) for item in value]
    if isinstance(value, str) and path in _FILES:
        file, colon, rest = value.partition(":")
        return f"{directory / file}{colon}{rest}" if file and (directory / file).is_file() else value
    return value
