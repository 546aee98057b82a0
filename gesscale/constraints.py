"""Constraints between settings, stated once for settings files and for the custom resource."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

from pydantic.alias_generators import to_snake

from gesscale.common.errors import Problem

#: A setting and one of its values, such as ``source`` and ``prometheus``; a resource writes ``Prometheus``.
SettingValue = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Ascending:
    """Two settings that must be in order."""

    #: Their names in code.
    low: str
    high: str
    #: Whether they must differ.
    strict: bool = False
    #: Reason of the constraint, for the rule of the custom resource.
    why: str = ""
    #: The setting and value that switch the constraint off.
    unless: SettingValue | None = None

    @property
    def sign(self) -> str:
        """The comparison of the two."""
        return "<" if self.strict else "<="

    def holds(self, group: object) -> bool:
        """Return whether they are in order, or one of them is not set."""
        low, high = getattr(group, self.low), getattr(group, self.high)
        is_exempt = self.unless is not None and _has_value(group, self.unless)
        return is_exempt or low is None or high is None or low < high or (low == high and not self.strict)

    def problem(self, group: object) -> Problem:
        """Return the problem of a group that violates the constraint."""
        return Problem(
            "settings-out-of-order",
            {
                "low": self.low.removesuffix("_s"),
                "sign": self.sign,
                "high": self.high.removesuffix("_s"),
                "got_low": getattr(group, self.low),
                "got_high": getattr(group, self.high),
            },
        )

    def rule(self) -> str:
        """Return the constraint in a sentence, by the names of a settings file."""
        expected = f"expected {self.low.removesuffix('_s')} {self.sign} {self.high.removesuffix('_s')}"
        return f"{expected}; {self.why}" if self.why else expected


@dataclass(frozen=True, slots=True)
class Requires:
    """A value of a setting that requires another setting."""

    #: The setting and its value.
    choice: SettingValue
    #: The settings of which at least one is required.
    one_of: tuple[str, ...]
    #: A value of one of them.
    example: str

    def holds(self, group: object) -> bool:
        """Return whether the setting has another value, or a required setting is there."""
        return not _has_value(group, self.choice) or any(attrgetter(name)(group) for name in self.one_of)

    def problem(self, group: object) -> Problem:
        """Return the problem of a group that violates the constraint."""
        del group
        setting, value = self.choice
        return Problem(
            "setting-dependency-missing",
            {"setting": setting, "value": value, "one_of": self.one_of, "example": self.example},
        )

    def rule(self, spell: Callable[[str], str] = str) -> str:
        """Return the constraint in a sentence, by the names of a settings file; ``spell`` writes the value."""
        setting, value = self.choice
        return f"{setting} {spell(value)} requires {' or '.join(self.one_of)}, such as {self.example}"


Constraint = Ascending | Requires


def _has_value(group: object, choice: SettingValue) -> bool:
    setting, value = choice
    return to_snake(attrgetter(setting)(group)) == value
