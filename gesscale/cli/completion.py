"""What a shell may complete: names of policies, settings and operators, found without what commands need to run."""

from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points

import typer

from gesscale.built_in_policies import BUILT_IN, ENTRY_POINTS


def beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin with what was typed, sorted."""
    return sorted(name for name in names if name.startswith(incomplete))


def policies(incomplete: str) -> list[str]:
    """Complete the name of a policy."""
    return beginning(incomplete, {*BUILT_IN, *(entry.name for entry in entry_points(group=ENTRY_POINTS))})


def settings_keys(incomplete: str) -> list[str]:
    """Complete a setting as ``--set`` takes it, up to the ``=``."""
    from gesscale.settings import Settings
    from gesscale.settings.reference import setting_rows

    return beginning(incomplete, (f"{row.key}=" for row in setting_rows(Settings)))


def operators_of(context: typer.Context, incomplete: str) -> list[str]:
    """Complete an operator of the settings file that ``--config`` names, else of ``gesscale.yaml``."""
    return beginning(incomplete, _operators(context.params.get("config") or "gesscale.yaml"))


def _operators(config: object) -> Iterator[str]:
    import yaml

    try:
        with open(str(config), encoding="utf-8") as file:  # noqa: PTH123 - a path as it was typed
            document = yaml.safe_load(file)
        yield from document["workflow"]["operators"]
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
        return
