"""Dhalion on back-pressure time (Kanis 2023, 6.7.1): a bottleneck grows by the share of its load that is unprocessed.

No operator shrinks while there is a bottleneck. Without one, every operator without lag shrinks by a fixed share.
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
    PLACEMENT_SETTINGS,
    SizeProposal,
    SizingPolicy,
    ceiling,
    floor,
    with_configured_placement,
)


class DhalionSettings(LagSettings):
    """Dhalion on back-pressure time (Kanis 2023, section 6.7.1)."""

    lag_close_to_zero_s: Duration = 1.0
    """A source has no lag if its backlog is at most the offered rows of this time. Default: too few to fill a batch.
    The 10,000 rows of table 6.1 arrive within 4 ms at the peak of the thesis."""
    lag_close_to_zero_rows: float = Field(0.0, ge=0, le=MAX_ROWS)
    """A source also has no lag if its backlog is at most this, at any load. Default: 0; table 6.1 has 10,000."""
    scale_down_factor: float = Field(0.8, gt=0, lt=1)
    """Factor on the replicas of an operator without lag. Default: that of section 4.2, which table 6.1 calls 1.2."""


# An operator has no lag if the fill level of its input is below this share: table 6.1.
_INPUT_FILL_NEAR_ZERO = 0.2

#: Maximum unprocessed share, so that no factor is above 10 (the code of the thesis).
MAX_UNPROCESSED_SHARE = 0.9


def scale_up_factor(unprocessed_share: float) -> float:
    """Return the factor by which an operator must grow that leaves a share of its load unprocessed."""
    share = min(MAX_UNPROCESSED_SHARE, max(0.0, unprocessed_share))
    return 1 + share / (1 - share)


@dataclass(frozen=True, slots=True)
class DhalionPolicy(SizingPolicy):
    """Scales bottlenecks up by their unprocessed share or, if there are none, other operators down by a fixed share."""

    name: ClassVar[str] = "dhalion"

    sizing: DhalionSettings = field(default_factory=DhalionSettings)

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Find the bottlenecks and resolve them; see `SizingPolicy`."""
        del observation, knowledge
        bottlenecks = Bottlenecks(self.workflow, readings, self.sizing)
        either = {*bottlenecks.causing_back_pressure, *bottlenecks.accumulating_lag}
        found = [name for name in self.workflow.topological_order if name in either]
        if not found:
            return {name: self._scale_down(reading, readings) for name, reading in readings.items()}
        unchanged = SizeProposal(
            replicas=None,
            detail=f"no scale-in while {', '.join(found)} cannot keep up",
            reason=Reason.NOT_ROOT_OF_OVERLOAD,
        )
        return {
            name: self._scale_up(reading, readings) if name in found else unchanged
            for name, reading in readings.items()
        }

    # Up

    def _scale_up(self, reading: OperatorReading, readings: Mapping[str, OperatorReading]) -> SizeProposal:
        unprocessed = max(self._waiting_share(reading), self._blocked_share(reading, readings))
        factor = scale_up_factor(unprocessed)
        detail = f"bottleneck with {100 * unprocessed:.0f} % of its load unprocessed"
        if not unprocessed:
            return SizeProposal(replicas=None, detail=detail, reason=Reason.DRAINING_BACKLOG)
        return SizeProposal(replicas=ceiling(reading.replicas * factor), detail=f"{detail}, scale by {factor:.2f}")

    def _waiting_share(self, reading: OperatorReading) -> float:
        """Return the share of the offered rows that wait before the operator: equations 4.1 and 6.2."""
        growth = lag_growth([reading], self.sizing)
        return growth / (1 + growth) if growth is not None and lag_grows(reading, self.sizing) else 0.0

    def _blocked_share(self, reading: OperatorReading, readings: Mapping[str, OperatorReading]) -> float:
        """Return the largest back-pressure time of its producers: the term of equation 6.1."""
        blocked = [
            1 - readings[name].busy_share
            for name in self.workflow.upstream(reading.operator)
            if name in readings and is_blocked(readings[name])
        ]
        return reading.saturated_share * max(blocked, default=0.0)

    # Down

    def _scale_down(self, reading: OperatorReading, readings: Mapping[str, OperatorReading]) -> SizeProposal:
        if unread := [name for name in self.workflow.operators if name not in readings]:
            detail = f"no scale-in without usable metrics of {', '.join(unread)}"
            return SizeProposal(replicas=None, detail=detail, reason=Reason.METRICS_MISSING)
        lag = self._lag(reading)
        if lag is None:
            return SizeProposal(replicas=None, detail="the backlog is unknown", reason=Reason.METRICS_MISSING)
        has_lag, detail = lag
        if has_lag:
            return SizeProposal(replicas=None, detail=detail, reason=Reason.DRAINING_BACKLOG)
        factor = self.sizing.scale_down_factor
        return SizeProposal(
            replicas=max(1, floor(reading.replicas * factor)),
            detail=f"{detail}, scale {reading.replicas} replicas by {factor:g}",
        )

    def _lag(self, reading: OperatorReading) -> tuple[bool, str] | None:
        """Return whether there is lag, with the figures: the backlog of a source, else the fill level of the input."""
        settings = self.sizing
        if not is_source(reading.operator, self.workflow):
            fill = input_fill(reading)
            if fill is None:
                return None
            detail = f"input fill {100 * fill:.0f} %, lag from {100 * _INPUT_FILL_NEAR_ZERO:.0f} %"
            return fill >= _INPUT_FILL_NEAR_ZERO, detail
        if reading.backlog_rows is None:
            return None
        offered = reading.throughput_rows_per_s if reading.input_rows_per_s is None else reading.input_rows_per_s
        most = max(settings.lag_close_to_zero_rows, settings.lag_close_to_zero_s * offered)
        return reading.backlog_rows > most, f"backlog {reading.backlog_rows:.0f} rows, lag above {most:.0f}"


POLICY = PolicyInfo(
    name="dhalion",
    summary="bottlenecks grow by their unprocessed share; without bottlenecks, operators shrink by a fifth",
    source="Floratou et al., Dhalion, VLDB 2017; as in Kanis, TU Delft 2023, section 6.7.1",
    build=with_configured_placement(DhalionPolicy),
    settings=DhalionSettings,
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/dhalion.md",
)
