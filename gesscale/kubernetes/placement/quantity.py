"""Quantities as Kubernetes writes them, and the room that they add up to."""

import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Annotated

from pydantic import BeforeValidator

from gesscale.common.text import glimpse

_QUANTITY = re.compile(r"(\d+\.?\d*|\.\d+)(?:([eE][+-]?\d{1,2})|([KMGTPE]i)|([numkMGTPE]))?", re.ASCII)
_BINARY = {f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL = {letter: Decimal(1000) ** power for power, letter in enumerate("num kMGTPE", start=-3)}
_MIB = 1 << 20
_MOST_CHARACTERS, _MOST_BITS = 64, 200


def parse_quantity(value: object) -> Decimal:
    """Return a quantity as Kubernetes writes it.

    Parameters
    ----------
    value
        A number, or text such as ``3800m``, ``1843Mi``, ``2G`` or ``1e3``.

    Returns
    -------
    Decimal
        CPUs or bytes, at least 0; exact, so that what is taken can be subtracted.

    Raises
    ------
    ValueError
        It is no such quantity.
    """
    is_long = isinstance(value, int) and value.bit_length() > _MOST_BITS
    text = glimpse(value) if is_long or not isinstance(value, str | int | float | Decimal) else str(value)
    found = None if isinstance(value, bool) or len(text) > _MOST_CHARACTERS else _parse(text)
    if found is None:
        message = f"expected a quantity such as 3800m or 1843Mi, got {glimpse(value)}"
        raise ValueError(message)
    return found


@lru_cache(maxsize=4096)
def _parse(text: str) -> Decimal | None:
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        return None
    number, exponent, binary, decimal = match.groups()
    return Decimal(number + (exponent or "")) * _BINARY.get(binary, 1) * _DECIMAL.get(decimal, 1)


Quantity = Annotated[Decimal, BeforeValidator(parse_quantity)]
Quantities = dict[str, Quantity]


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What pods ask for, or a node offers, in whole units as the scheduler counts.

    Attributes
    ----------
    cpu_m
        Thousandths of a CPU.
    memory_bytes, pods
        Bytes; how many pods.
    """

    cpu_m: int = 0
    memory_bytes: int = 0
    pods: int = 0

    def __add__(self, other: "Room") -> "Room":
        return Room(
            cpu_m=self.cpu_m + other.cpu_m,
            memory_bytes=self.memory_bytes + other.memory_bytes,
            pods=self.pods + other.pods,
        )

    def without(self, taken: "Room") -> "Room":
        """Return what is left; never less than nothing."""
        return Room(
            cpu_m=max(0, self.cpu_m - taken.cpu_m),
            memory_bytes=max(0, self.memory_bytes - taken.memory_bytes),
            pods=max(0, self.pods - taken.pods),
        )

    def lack(self, free: "Room", whole: "Room") -> str:
        """Say with figures what of this does not fit.

        Parameters
        ----------
        free, whole
            What is left of a node, and what it has when empty.

        Returns
        -------
        str
            Empty where it fits.

        Examples
        --------
        >>> Room(cpu_m=1000, pods=1).lack(Room(cpu_m=400, pods=9), Room(cpu_m=3800, pods=110))
        'asks 1 CPU, 0.4 of 3.8 free'
        """
        lacks = []
        if self.cpu_m > free.cpu_m:
            asked, left, all_of_it = (each.cpu_m / 1000 for each in (self, free, whole))
            lacks.append(f"asks {asked:.4g} CPU, {left:.4g} of {all_of_it:.4g} free")
        if self.memory_bytes > free.memory_bytes:
            asked, left, all_of_it = (each.memory_bytes / _MIB for each in (self, free, whole))
            lacks.append(f"asks {asked:.0f} MiB, {left:.0f} of {all_of_it:.0f} free")
        if self.pods > free.pods:
            lacks.append(f"holds {whole.pods - free.pods} of {whole.pods} pods already")
        return "; ".join(lacks)


ONE_POD = Room(pods=1)
"""A pod that asks for nothing."""


def room_of(amounts: Quantities, pods: int | None = None) -> Room:
    """Return amounts as room, broken parts rounded up.

    Parameters
    ----------
    amounts
        ``cpu`` and ``memory``, and ``pods`` where the next is None; what is missing is 0.
    pods
        How many pods; None to take it from the amounts.
    """
    nothing = Decimal()
    return Room(
        cpu_m=_up(amounts.get("cpu", nothing) * 1000),
        memory_bytes=_up(amounts.get("memory", nothing)),
        pods=_up(amounts.get("pods", nothing)) if pods is None else pods,
    )


def _up(amount: Decimal) -> int:
    return int(amount.to_integral_value(ROUND_CEILING))
