"""Samples of delays, as the readers of all formats yield them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from gesscale.common.errors import Problem
from latency_map.delays import Delays
from latency_map.kinds import DelayKind, DelayUnit


class DelaySample(NamedTuple):
    """One measurement of the delay between two nodes."""

    #: The nodes, by name (source, target).
    source: str
    target: str
    #: The delay in its unit; NaN if the probe was lost or the file marks it as missing.
    delay: float
    #: Place in the file, such as ``line 3``.
    place: str
    #: Unit that the file states for this sample; None if it does not.
    unit: DelayUnit | None = None
    #: Share of lost probes, 0 to 1; None if unknown. A sample with total loss has no delay.
    loss_ratio: float | None = None
    #: Time of the measurement, seconds since the epoch; None if the file does not state it.
    at_s: float | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """One delay for each pair of the nodes of a matrix, where a sample for each cell would be slow."""

    #: The n nodes.
    names: tuple[str, ...]
    #: Shape ``(n, n)``, row to column, NaN where missing. It is converted in place.
    values: Delays
    #: Maps row and column, counted from 0, to a place in the file.
    place: Callable[[int, int], str]


@dataclass(slots=True, kw_only=True)
class Readings:
    """Delays that a reader finds in a file."""

    #: The samples, in the order of the file. They are read once, so this may be a generator.
    samples: Iterable[DelaySample] | Block
    #: Unit of the samples that do not state theirs, and direction; None if the file does not state them (unit, kind).
    unit: DelayUnit | None = None
    kind: DelayKind | None = None
    #: Place where it states them.
    stated_at: str = ""
    #: The samples may be links of a network: `latency_map.formats.collect` decides by their number.
    graph: bool = False
    #: A link of a graph leads from its source to its target only.
    directed: bool = False
    #: Nodes that the file lists, which may have no sample. A sample may add others.
    names: tuple[str, ...] = ()
    #: Notes on the interpretation of the file, and doubts about the delays. A generator adds to them as it reads.
    notes: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
