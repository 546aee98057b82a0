"""How many replicas a workflow has in all, and how often it was scaled, whatever number of operators that took."""

from dataclasses import dataclass

from testbed.scoring.sample import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaCount:
    """The replicas of all operators together, over the measurement; what Kanis (2023, section 5.3) reports.

    Attributes
    ----------
    avg_replicas
        Mean of their supply over time.
    max_replicas
        Its maximum.
    final_replicas
        Its value at the end.
    scaling_actions
        Instants at which changes were ordered; of several operators at once they count once.
    last_action_s
        When the last of them was, seconds since the beginning; 0 where there was none.
    """

    avg_replicas: float
    max_replicas: int
    final_replicas: int
    scaling_actions: int
    last_action_s: float


class ReplicaCounter:
    """Takes the samples of all operators of a workflow, each of which holds until the operator's next one.

    Parameters
    ----------
    measured_s
        T, the length of the measurement; what comes later does not count.
    """

    __slots__ = (
        "_actions",
        "_at_s",
        "_final",
        "_last_action_s",
        "_measured_s",
        "_most",
        "_ordered",
        "_replica_s",
        "_supply",
        "_total",
    )

    def __init__(self, measured_s: float) -> None:
        self._measured_s = measured_s
        self._at_s = self._replica_s = self._last_action_s = 0.0
        self._supply: dict[str, int] = {}
        self._ordered = False
        self._total = self._most = self._final = self._actions = 0

    def sampled(self, operator: str, sample: Sample) -> None:
        """Take an operator's sample; samples come in the order of time, those of an instant in any order."""
        if sample.t_s > self._at_s:
            self._hold_until(sample.t_s)
        supply = sample.supply_replicas
        if supply != self._supply.get(operator):
            self._supply[operator] = supply
            self._total = sum(self._supply.values())
        if sample.reconfigurations:
            self._ordered = True

    def replica_count(self) -> ReplicaCount:
        """Return the figures; the newest samples hold until the end of the measurement."""
        self._hold_until(max(self._at_s, self._measured_s))
        return ReplicaCount(
            avg_replicas=self._replica_s / self._measured_s,
            max_replicas=self._most,
            final_replicas=self._final,
            scaling_actions=self._actions,
            last_action_s=self._last_action_s,
        )

    def _hold_until(self, until_s: float) -> None:
        """Close the current instant: only now all its samples are there."""
        measured_s = self._measured_s
        if self._at_s < measured_s:
            supply = self._final = self._total
            self._replica_s += supply * ((until_s if until_s < measured_s else measured_s) - self._at_s)
            self._most = max(self._most, supply)
            if self._ordered:
                self._actions += 1
                self._last_action_s = self._at_s
        self._at_s, self._ordered = until_s, False
