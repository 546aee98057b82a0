"""Settings of `rules`: the rules themselves, in place or in a YAML file, and how they are read."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import ValidationError, model_validator

from gesscale.common.errors import InputError
from gesscale.common.text import truncated_repr
from gesscale.common.yaml_text import parse_yaml, read_text
from gesscale.fields import Duration, FilePath, SettingsGroup
from gesscale.formatting import suggestion
from gesscale.validation import first_problem
from testbed.baselines.rules.model import ALL, Rule, RuleSet, distinct

#: Fast up, slow down. Below 40 % one of two replicas can do the work of both at 80 %, so it is not added
#: again.
DEFAULT_RULES = RuleSet.model_validate(
    {
        "name": "default",
        "rules": [
            {
                "name": "behind",
                "operator": ALL,
                "action": "scale-out",
                "by": {"percent": 50},
                "when": [{"metric": "lag", "above": 30, "unit": "s", "for": "1m"}],
                "unless": [{"since": "scale-out", "within": "2m"}],
            },
            {
                "name": "hot",
                "operator": ALL,
                "action": "scale-out",
                "by": {"absolute": 1},
                "when": [{"metric": "cpu", "above": 80, "unit": "percent", "for": "2m"}],
                "unless": [{"since": "scale-out", "within": "2m"}],
            },
            {
                "name": "idle",
                "operator": ALL,
                "action": "scale-in",
                "by": {"percent": 25},
                "when": [
                    {"metric": "cpu", "below": 40, "unit": "percent", "for": "3m"},
                    {"metric": "lag", "below": 10, "unit": "s", "for": "3m"},
                ],
                "unless": [{"since": "scale-out", "within": "5m"}],
            },
        ],
    }
).rules


class RulesSettings(SettingsGroup):
    """The rules of SEEP, and how they are evaluated (Rouaux 2014, sections 4.2 and 4.3.5)."""

    mode: Literal["rearm", "edge"] = "rearm"
    """rearm: after each change of an operator, its conditions must hold again for their whole time, and a guard
    delays. edge: a rule acts only when its conditions begin to hold, and never if a guard is closed then. Default:
    rearm; edge is the thesis word for word, and forgets the scale-in of its section 5.2.7."""
    bounds: Literal["block", "clamp"] = "block"
    """Whether a change beyond a bound is left out or cut short, such as +2 at 7 of 8. Default: block, as in the
    thesis; clamp uses all there is."""
    allow_single_sample: bool = False
    """Whether a single reading is enough where a time holds no more. Default: no, two must agree, so that an outlier
    changes nothing. The thesis's sections 5.2.6 and 5.2.7 used one."""
    max_gap_s: Duration = 180.0
    """After this long without a reading, nothing is known, and all times begin again. Default: three periods of
    60 s."""

    rules: tuple[Rule, ...] = ()
    """The rules. Default: those of docs/reference/policies/rules.md, on lag and CPU."""
    file: FilePath | None = None
    """A YAML file with the rules; the loop reads it at its start. Default: none, they stand here. A file without any
    rule changes nothing."""

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if self.rules and self.file is not None:
            raise ValueError(f"expected rules or a file of rules, got both: {len(self.rules)} rules and {self.file}")
        return self


def read_rules(path: Path) -> RuleSet:
    """Read a YAML file with ``name`` and ``rules``.

    Raises
    ------
    InputError
        With the first fault in a line: which member, what was expected and what came.
    """
    try:
        text = read_text(path, f"rules file {path}")
    except OSError as error:
        raise InputError(f"rules file {path}: {error.strerror or error}; name an existing YAML file") from error
    return parse_rules(text, f"rules file {path}")


def parse_rules(text: str, origin: str = "rules") -> RuleSet:
    """Read rules from YAML; `origin` is named in messages. Raises as `read_rules`."""
    document = parse_yaml(text, origin)
    if not isinstance(document, dict):
        raise InputError(f"{origin}: expected a mapping such as `rules: [...]`, got {truncated_repr(document)}")
    try:
        return RuleSet.model_validate(document)
    except ValidationError as error:
        raise InputError(f"{origin}: {first_problem(error)}") from None


def check_operators(rules: Sequence[Rule], operators: Collection[str]) -> None:
    """Check that there is every operator that rules name; raises InputError at the first that there is not."""
    for rule in distinct(rules):
        if rule.operator != ALL and rule.operator not in operators:
            raise InputError(
                f"rule {rule.name!r}: the workflow has no operator {rule.operator!r}; "
                f"{suggestion(rule.operator, operators)}"
            )
