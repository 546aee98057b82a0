"""What settings must keep towards each other: stated once, for settings files and for the custom resource."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

from pydantic.alias_generators import to_snake

#: A setting and one of its values, such as ``source`` and ``prometheus``; a resource writes ``Prometheus``.
Choice = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Ascending:
    """Two settings that must be in order."""

    #: Their names in code (low, high).
    low: str
    high: str
    #: Whether they may not be equal.
    strict: bool = False
    #: What to do about it.
    hint: str = ""
    #: The choice with which they need not be in order.
    unless: Choice | None = None

    @property
    def sign(self) -> str:
        """How the two compare."""
        return "<" if self.strict else "<="

    def holds(self, group: object) -> bool:
        """Say whether they are in order, or one of them is not set."""
        low, high = getattr(group, self.low), getattr(group, self.high)
        is_exempt = self.unless is not None and _is_chosen(group, self.unless)
        return is_exempt or low is None or high is None or low < high or (low == high and not self.strict)

    def message(self, group: object | None = None) -> str:
        """Return what is expected and, of a group, what came, by the names of a settings file."""
        expected = f"expected {self.low.removesuffix('_s')} {self.sign} {self.high.removesuffix('_s')}"
        figures = (f"{getattr(group, name):g}{_unit(name)}" for name in (self.low, self.high))
        got = "" if group is None else f", got {' and '.join(figures)}"
        return f"{expected}{got}{self.hint and f'; {self.hint}'}"


@dataclass(frozen=True, slots=True)
class Needs:
    """A choice that needs another setting."""

    #: The choice.
    choice: Choice
    #: The settings; it needs at least one of them.
    one_of: tuple[str, ...]
    #: An example, such as ``such as latency.csv``.
    hint: str

    def holds(self, group: object) -> bool:
        """Say whether another choice is made or one of the settings is there."""
        return not _is_chosen(group, self.choice) or any(attrgetter(name)(group) for name in self.one_of)

    def message(self, group: object | None = None, spell: Callable[[str], str] = str) -> str:
        """Return what is expected, by the names of a settings file; ``spell`` writes the value of the choice."""
        del group
        setting, value = self.choice
        return f"{setting} {spell(value)} needs {' or '.join(self.one_of)}, {self.hint}"


Condition = Ascending | Needs


def _is_chosen(group: object, choice: Choice) -> bool:
    setting, value = choice
    return to_snake(attrgetter(setting)(group)) == value


def _unit(name: str) -> str:
    return " s" if name.endswith("_s") else ""
