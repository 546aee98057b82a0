"""Settings of `rules`: the rules, inline or in a YAML file, and options of their evaluation."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import ValidationError, model_validator

from gesscale.common.errors import InputError, InvalidValueError, cause_of
from gesscale.common.yaml_text import parse_yaml, read_text
from gesscale.fields import Duration, FilePath, SettingsGroup
from gesscale.validation import nearest, problems_of
from testbed.baselines.rules.model import ALL, Rule, RuleSet, distinct


class RulesSettings(SettingsGroup):
    """The rules of SEEP and options of their evaluation (Rouaux 2014, sections 4.2 and 4.3.5)."""

    mode: Literal["rearm", "edge"] = "rearm"
    """rearm: after each change of an operator, its conditions must hold again for their full time, and a guard delays
    the rule. edge: a rule acts only when its conditions start to hold, and never if a guard is closed then. Default:
    rearm; edge follows the thesis literally, and misses the scale-in of its section 5.2.7."""
    bounds: Literal["block", "clamp"] = "block"
    """block: skip a change beyond a bound, such as +2 at 7 of 8. clamp: reduce it to the bound. Default: block, as in
    the thesis."""
    allow_single_sample: bool = False
    """Accept a single reading if a time window has only one. Default: no, two must agree, so that an outlier has no
    effect. Sections 5.2.6 and 5.2.7 of the thesis used one."""
    max_gap_s: Duration = 180.0
    """After this long without a reading, all time windows start again. Default: three periods of 60 s."""

    rules: tuple[Rule, ...] = ()
    """The rules. Default: those of docs/reference/policies/rules.md, on lag and CPU."""
    file: FilePath | None = None
    """A YAML file with the rules, which the loop reads at start. Default: none, `rules` is used. With a file without
    rules the policy never changes anything."""

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if self.rules and self.file is not None:
            raise InvalidValueError("rules-given-twice", count=len(self.rules), file=str(self.file))
        return self


def read_rules(path: Path) -> RuleSet:
    """Read a YAML file with ``name`` and ``rules``.

    Raises
    ------
    InputError
        If the file cannot be read, or a rule is invalid.
    """
    try:
        text = read_text(path, f"rules file {path}")
    except OSError as error:
        raise InputError("rules-file-unreadable", source=f"rules file {path}", cause=cause_of(error)) from error
    return parse_rules(text, f"rules file {path}")


def parse_rules(text: str, origin: str = "rules") -> RuleSet:
    """Parse rules from YAML; `origin` is the source in error messages. Raises as `read_rules`."""
    document = parse_yaml(text, origin)
    if not isinstance(document, dict):
        raise InputError("rules-not-a-mapping", source=origin, got=document)
    try:
        return RuleSet.model_validate(document)
    except ValidationError as error:
        raise InputError(problems_of(error, source=origin)) from None


def check_operators(rules: Sequence[Rule], operators: Collection[str]) -> None:
    """Check that the workflow has every operator that a rule names; raises `InputError` if not."""
    for rule in distinct(rules):
        if rule.operator != ALL and rule.operator not in operators:
            raise InputError(
                "rule-operator-unknown",
                place=f"rule {rule.name!r}",
                operator=rule.operator,
                nearest=nearest(rule.operator, operators),
            )


#: The rules without settings.
DEFAULT_RULES = read_rules(Path(__file__).with_name("default.yaml")).rules
