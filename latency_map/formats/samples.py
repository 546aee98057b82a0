"""Samples of delays, as the readers of all formats yield them."""

from typing import NamedTuple

from latency_map.kinds import DelayKind, DelayUnit


class Sample(NamedTuple):
    """One measurement of the delay between two nodes."""

    #: The nodes, by name (source, target).
    source: str
    target: str
    #: The delay in its unit; NaN if the probe was lost or the file marks it as missing.
    delay: float
    #: Place in the file, such as ``line 3``.
    place: str
    #: Unit and direction that the file states for this sample; None if it does not (unit, kind).
    unit: DelayUnit | None = None
    kind: DelayKind | None = None
    #: Share of lost probes, 0 to 1; None if unknown. A sample with total loss has no delay.
    loss_ratio: float | None = None
    #: Time of the measurement, seconds since the epoch; None if the file does not state it.
    at_s: float | None = None
