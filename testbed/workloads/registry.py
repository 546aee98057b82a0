"""Finds loads by name, such as ``nyc``, ``nyc:2014-10-01``, ``kanis-cosine`` or ``my.csv``."""

import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path

from gesscale.errors import InputError
from testbed.workloads import daedalus, kanis, new_york, numenta, plain, seep
from testbed.workloads.catalogue import CatalogueLoad, entries
from testbed.workloads.user_csv import workload_from_csv
from testbed.workloads.workload import Workload, WorkloadRequest

_SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))


#: Builders of loads by name; each raises `InputError` at an invalid parameter.
BUILDERS: Mapping[str, Callable[[WorkloadRequest], Workload]] = {
    **new_york.BUILDERS,
    **numenta.BUILDERS,
    **kanis.BUILDERS,
    **daedalus.BUILDERS,
    **seep.BUILDERS,
    **plain.BUILDERS,
}


def workload_names() -> Mapping[str, str]:
    """Return a line on each named load: shape, parameter and source."""
    return {entry.name: _line(entry) for entry in entries()}


def workload_named(text: str, *, seed: int) -> Workload:
    """Return a load by name.

    Raises
    ------
    InputError
        If the name is unknown, a parameter or file cannot be used, or the seed is negative.
    """
    if seed < 0:
        raise InputError("workload-seed-negative", source=f"workload {text}", seed=seed)
    if text.lower().endswith(".csv") or any(separator in text for separator in _SEPARATORS):
        return workload_from_csv(Path(text), name=text)
    name, colon, parameter = text.partition(":")
    by_name = {entry.name: entry for entry in entries()}
    entry = by_name.get(name)
    if entry is None:
        raise _unknown_error(name, tuple(by_name))
    if colon and not entry.parameter:
        raise InputError("workload-parameter-unexpected", source=f"workload {name}", got=colon + parameter)
    return BUILDERS[name](WorkloadRequest(text=text, parameter=parameter if colon else None, seed=seed))


def _line(entry: CatalogueLoad) -> str:
    after = f"; after a colon: {entry.parameter.replace('`', '')}" if entry.parameter else ""
    return f"{entry.what}; {entry.length}{after} ({entry.source})"


def _unknown_error(name: str, known: tuple[str, ...]) -> InputError:
    similar = get_close_matches(name.lower(), known, n=3)
    return InputError("workload-unknown", workload=name, nearest=similar or list(known))
