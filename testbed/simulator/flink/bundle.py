"""Files of Flink's physics: every figure with its origin."""

from dataclasses import dataclass, fields
from pathlib import Path

from gesscale.errors import InputError
from testbed.simulator.figures import Figures, read_figures
from testbed.simulator.flink.physics import FlinkPhysics

FOLDER = Path(__file__).parent / "physics"
"""Holds the bundled files; each origin begins with how well the figure is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicsFile:
    """The constants of an operator, and where they come from."""

    figures: Figures
    physics: FlinkPhysics


def read_physics(name_or_path: str | Path) -> PhysicsFile:
    """Read the constants of an operator.

    Parameters
    ----------
    name_or_path
        ``taxi-nearest``, ``nexmark-mapper`` or ``word-count``, or a file of the same form.

    Raises
    ------
    InputError
        Where there is no such file, or a figure in it is unknown, missing or out of range.
    """
    figures = read_figures(name_or_path, FOLDER)
    kinds = {field.name: field.type for field in fields(FlinkPhysics)}
    values = figures.values(kinds, str(name_or_path))
    if missing := sorted(kinds.keys() - values.keys()):
        message = (
            f"{name_or_path}: expected every figure of Flink's physics, missing are {', '.join(missing)}"
        )
        raise InputError(message)
    typed: dict[str, bool | int | float] = {}
    for name, value in values.items():
        typed[name] = (
            bool(value) if kinds[name] is bool else int(value) if kinds[name] is int else float(value)
        )
        if typed[name] != value:
            kind = "0 or 1" if kinds[name] is bool else "a whole number"
            message = f"{name_or_path}: {name}: expected {kind}, got {value}"
            raise InputError(message)
    return PhysicsFile(figures=figures, physics=FlinkPhysics(**typed))  # type: ignore[arg-type] # typed above
