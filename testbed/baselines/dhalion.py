"""Dhalion on back-pressure time (Kanis 2023, 6.7.1): bottlenecks grow by what they leave undone.

While one operator is a bottleneck nothing shrinks; where none is, every operator without lag gives up a fixed share.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import Field

from gesscale.fields import MAX_ROWS, Duration
from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import Knowledge
from testbed.baselines.shared.bottlenecks import Bottlenecks, LagSettings, is_blocked, lag_grows, lag_growth
from testbed.baselines.shared.signals import input_fill, is_source
from testbed.baselines.shared.sizing import (
    ON_NODES,
    SizeProposal,
    SizingPolicy,
    ceiling,
    floor,
    with_configured_placement,
)


class DhalionSettings(LagSettings):
    """Dhalion on back-pressure time (Kanis 2023, section 6.7.1)."""

    lag_close_to_zero_s: Duration = 1.0
    """A source has no lag while no more rows wait than are offered in this time. Default: too few to fill a batch.
    The 10,000 rows of table 6.1 come within 4 ms at the thesis's peak."""
    lag_close_to_zero_rows: float = Field(0.0, ge=0, le=MAX_ROWS)
    """A source also has no lag while no more rows than these wait, however few are offered. Default: none; table 6.1
    has 10,000."""


# On the replicas of an operator without lag: Kanis 4.2; table 6.1 calls it 1.2.
_SCALE_DOWN_FACTOR = 0.8

# An operator has no lag while its input is filled to less than this share: table 6.1.
_INPUT_FILL_NEAR_ZERO = 0.2

#: Cap on the share of the load that counts as left undone, so that no factor is above 10 (the thesis's code).
MOST_UNDONE_SHARE = 0.9


def scale_up_factor(undone_share: float) -> float:
    """Return the factor by which an operator must grow that leaves a share of its load undone."""
    undone = min(MOST_UNDONE_SHARE, max(0.0, undone_share))
    return 1 + undone / (1 - undone)


@dataclass(frozen=True, slots=True)
class DhalionPolicy(SizingPolicy):
    """Bottlenecks up by what they leave undone or, where there are none, the others down by a fixed share."""

    name: ClassVar[str] = "dhalion"

    sizing: DhalionSettings = field(default_factory=DhalionSettings)

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Diagnose the workflow and resolve; see `SizingPolicy`."""
        del observation, knowledge
        threshold = self.options.back_pressure_threshold
        bottlenecks = Bottlenecks(self.workflow, readings, threshold, self.sizing)
        either = {*bottlenecks.pressing, *bottlenecks.overrun}
        found = [name for name in self.workflow.topological_order if name in either]
        if not found:
            return {name: self._healthy(reading, readings) for name, reading in readings.items()}
        others = SizeProposal(
            replicas=None,
            detail=f"nothing shrinks while {', '.join(found)} cannot keep up",
            reason=Reason.NOT_ROOT_OF_OVERLOAD,
        )
        return {name: self._grown(reading, readings) if name in found else others for name, reading in readings.items()}

    # Up

    def _grown(self, reading: OperatorReading, readings: Mapping[str, OperatorReading]) -> SizeProposal:
        undone = max(self._waiting_share(reading), self._blocked_share(reading, readings))
        factor = scale_up_factor(undone)
        detail = f"a bottleneck that leaves {100 * undone:.0f} % of its load undone"
        if not undone:
            return SizeProposal(replicas=None, detail=detail, reason=Reason.DRAINING_BACKLOG)
        return SizeProposal(
            replicas=ceiling(reading.replicas * factor), detail=f"{detail}, so {factor:.2f} times as many"
        )

    def _waiting_share(self, reading: OperatorReading) -> float:
        """Return the share of the rows that came and had to wait before the operator: equations 4.1 and 6.2."""
        growth = lag_growth([reading], self.sizing)
        return growth / (1 + growth) if growth is not None and lag_grows(reading, self.sizing) else 0.0

    def _blocked_share(self, reading: OperatorReading, readings: Mapping[str, OperatorReading]) -> float:
        """Return the greatest back-pressure time of its producers: the term of equation 6.1."""
        blocked = [
            1 - readings[name].busy_share
            for name in self.workflow.upstream(reading.operator)
            if name in readings and is_blocked(readings[name])
        ]
        return reading.saturated_share * max(blocked, default=0.0)

    # Down

    def _healthy(self, reading: OperatorReading, readings: Mapping[str, OperatorReading]) -> SizeProposal:
        if unjudged := [name for name in self.workflow.operators if name not in readings]:
            detail = f"nothing shrinks while {', '.join(unjudged)} cannot be judged"
            return SizeProposal(replicas=None, detail=detail, reason=Reason.METRICS_MISSING)
        lag = self._lag(reading)
        if lag is None:
            detail = "the number of rows that wait is not known"
            return SizeProposal(replicas=None, detail=detail, reason=Reason.METRICS_MISSING)
        waits, detail = lag
        if waits:
            return SizeProposal(replicas=None, detail=detail, reason=Reason.DRAINING_BACKLOG)
        return SizeProposal(
            replicas=max(1, floor(reading.replicas * _SCALE_DOWN_FACTOR)),
            detail=f"{detail}, so {_SCALE_DOWN_FACTOR:g} times as many as {reading.replicas}",
        )

    def _lag(self, reading: OperatorReading) -> tuple[bool, str] | None:
        """Return whether rows wait, and what shows it: their number before a source, else how full the input is."""
        settings = self.sizing
        if not is_source(reading.operator, self.workflow):
            fill = input_fill(reading)
            if fill is None:
                return None
            detail = f"input filled to {100 * fill:.0f} % (below {100 * _INPUT_FILL_NEAR_ZERO:.0f} % is no lag)"
            return fill >= _INPUT_FILL_NEAR_ZERO, detail
        if reading.backlog_rows is None:
            return None
        offered = reading.throughput_rows_per_s if reading.input_rows_per_s is None else reading.input_rows_per_s
        most = max(settings.lag_close_to_zero_rows, settings.lag_close_to_zero_s * offered)
        return (reading.backlog_rows > most, f"{reading.backlog_rows:.0f} rows wait (up to {most:.0f} are no lag)")


POLICY = PolicyInfo(
    name="dhalion",
    summary="bottlenecks grow by the share of their load left undone; without any, operators shrink by a fifth",
    source="Floratou et al., Dhalion, VLDB 2017; as in Kanis, TU Delft 2023, section 6.7.1",
    build=with_configured_placement(DhalionPolicy),
    settings=DhalionSettings,
    accepts=("back_pressure_threshold", *ON_NODES),
    guide="reference/policies/dhalion.md",
)
