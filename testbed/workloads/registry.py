"""Loads by name, such as ``nyc``, ``nyc:2014-10-01``, ``kanis-cosine`` or ``my.csv``."""

import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path

from gesscale.errors import InputError
from testbed.workloads import daedalus, kanis, new_york, numenta, plain, seep
from testbed.workloads.catalogue import Entry, entries
from testbed.workloads.user_csv import workload_from_csv
from testbed.workloads.workload import Workload, WorkloadRequest

_SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))


#: Each raises `InputError` at a parameter that it does not know.
BUILDERS: Mapping[str, Callable[[WorkloadRequest], Workload]] = {
    **new_york.BUILDERS,
    **numenta.BUILDERS,
    **kanis.BUILDERS,
    **daedalus.BUILDERS,
    **seep.BUILDERS,
    **plain.BUILDERS,
}


def workload_names() -> Mapping[str, str]:
    """Return each name with a line on what it is, what may follow a colon, and its source."""
    return {entry.name: _line(entry) for entry in entries()}


def workload_named(text: str, *, seed: int) -> Workload:
    """Return a load by name.

    Raises
    ------
    InputError
        At an unknown name, a parameter or file that cannot be used, or a negative seed.
    """
    if seed < 0:
        raise InputError(f"workload {text!r}: expected a seed >= 0, got {seed}")
    if text.lower().endswith(".csv") or any(separator in text for separator in _SEPARATORS):
        return workload_from_csv(Path(text), name=text)
    name, colon, parameter = text.partition(":")
    by_name = {entry.name: entry for entry in entries()}
    entry = by_name.get(name)
    if entry is None:
        raise InputError(_unknown(name, tuple(by_name)))
    if colon and not entry.parameter:
        raise InputError(f"workload {text!r}: expected nothing after {name}, got {colon + parameter!r}")
    return BUILDERS[name](WorkloadRequest(text=text, parameter=parameter if colon else None, seed=seed))


def _line(entry: Entry) -> str:
    after = f"; after a colon: {entry.parameter.replace('`', '')}" if entry.parameter else ""
    return f"{entry.what}; {entry.length}{after} ({entry.source})"


def _unknown(name: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(name.lower(), known, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
    return f"expected the name of a workload or a file ending in .csv, got {name!r}; {hint}"
