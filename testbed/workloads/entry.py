"""A load that can be called by name, and what is asked of it."""

from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from gesscale.errors import InputError
from testbed.workloads.workload import Workload

_MINUTES_MOST = 1440.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRequest:
    """A request for a load.

    Attributes
    ----------
    text
        As it was written, such as ``nyc:2014-10-01``; the name of the load that results.
    parameter
        What stood after the colon; None without a colon.
    seed
        Decides all that is random, >= 0.
    """

    text: str
    parameter: str | None
    seed: int

    def rng(self, name: str) -> np.random.Generator:
        """Return the generator of a load's name: another name or seed draws other numbers."""
        return np.random.default_rng([self.seed, crc32(name.encode())])

    def minutes(self, default: float) -> float:
        """Return the parameter where it is a number of minutes, 1..1440.

        Raises
        ------
        InputError
            Where it is something else.
        """
        if self.parameter is None:
            return default
        try:
            minutes = float(self.parameter)
        except ValueError:
            minutes = 0.0
        if not 1 <= minutes <= _MINUTES_MOST:  # NaN fails too
            message = (
                f"workload {self.text!r}: expected minutes after the colon, 1 to {_MINUTES_MOST:g}, "
                f"got {self.parameter!r}"
            )
            raise InputError(message)
        return minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A load of the catalogue.

    Attributes
    ----------
    name
        What stands before the colon.
    what
        Its shape, in a phrase.
    length
        How long it is and in what steps.
    source
        Where it is from: data set and licence, or paper and section.
    is_random
        Whether the seed decides something of it.
    parameter
        What may stand after the colon; empty where nothing may.
    build
        Makes the load. Raises `InputError` at a parameter that it does not know.
    """

    name: str
    what: str
    length: str
    source: str
    is_random: bool = False
    parameter: str = ""
    build: Callable[[WorkloadRequest], Workload]
