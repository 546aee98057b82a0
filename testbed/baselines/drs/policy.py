"""DRS (Fu et al., ICDCS 2015, IEEE/ACM ToN 2017): a network of queues says how many replicas a latency needs.

Arrival and service rates make each operator a queue with as many servers as replicas. The policy shares out the fewest
replicas for which the network promises the target, one by one. It corrects the promise by what is measured.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean

from pydantic import Field, FiniteFloat, PositiveFloat

from gesscale.analyze.latency import batch_s, in_time_s, processing_latency_s
from gesscale.analyze.load import has_backlog
from gesscale.analyze.true_rates import demand_of, required_rates, source_rates, true_rate_per_replica
from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.policies.memos import Memo, recalled
from gesscale.policies.sizing import SizeProposal, SizingPolicy
from gesscale.policies.together import TOGETHER, held_up
from gesscale.ports import Knowledge
from testbed.baselines.drs.queueing import Station, fewest_replicas, total_sojourn_s
from testbed.baselines.drs.settings import DrsSettings


class DrsMemo(Memo):
    """The run of the present replicas; kept at the first operator in topological order.

    Attributes
    ----------
    replicas
        Of each operator, upstream first.
    measured_s
        What a row took in the newest readings of this run, oldest first.
    corrections
        How many times as long as predicted that was, in the newest readings for which the model predicts something,
        with whatever replicas.
    """

    replicas: tuple[int, ...]
    measured_s: tuple[FiniteFloat, ...] = Field(min_length=1)
    corrections: tuple[PositiveFloat, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Network:
    """The workflow as DRS sees it.

    Attributes
    ----------
    stations
        The operators whose two rates are known.
    present
        The replicas of each of them.
    others
        The replicas of the others.
    measured_s
        What a row takes.
    fixed_s
        The part of it that no replica changes.
    rows_wait
        Where rows pile up, and all that comes after: a slow operator of a Flink job holds them back at the source.
    """

    stations: Mapping[str, Station]
    present: Mapping[str, int]
    others: int
    measured_s: float
    fixed_s: float
    rows_wait: Collection[str]

    @property
    def total(self) -> int:
        """The replicas of the operators whose two rates are known."""
        return sum(self.present.values())

    @property
    def correction(self) -> float | None:
        """How many times as long as predicted rows take; None where nothing finite is predicted."""
        predicted_s = total_sojourn_s(self.stations, self.present)
        times = (self.measured_s - self.fixed_s) / predicted_s if predicted_s > 0 else 0.0
        return times if 0 < times < math.inf else None

    @property
    def falls_behind(self) -> bool:
        """Whether an operator is not stable by the model, and rows do pile up before or upstream of it."""
        doubtful = self.stations.keys() & self.rows_wait
        return any(self.stations[name].load >= self.present[name] for name in doubtful)


@dataclass(frozen=True, slots=True)
class DrsPolicy(SizingPolicy):
    """More replicas where rows take longer than they may, fewer where they take less; all operators at once."""

    sizing: DrsSettings = field(default_factory=DrsSettings)

    @property
    def name(self) -> str:
        """The registered name."""
        return "drs"

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Size every operator whose two rates are known; see `gesscale.policies.sizing.SizingPolicy`."""
        if (proposal := held_up(self.workflow, readings, observation)) is not None:
            return dict.fromkeys(readings, proposal)
        network = self._network(readings)
        if isinstance(network, SizeProposal):
            return dict.fromkeys(readings, network)
        first = self.workflow.topological_order[0]
        before = recalled(DrsMemo, self.name, first, knowledge)
        run = self._run(network, before, readings, observation.at_s)
        sizes, detail = self._sized(network, run, in_time_s(self.workflow, readings))
        return {
            name: SizeProposal(
                replicas=sizes.get(name),
                detail=f"{detail}; {_rates(network.stations.get(name))}",
                memo=run.model_dump_json() if name == first and run != before else None,
            )
            for name in readings
        }

    # What is seen

    def _network(self, readings: Mapping[str, OperatorReading]) -> _Network | SizeProposal:
        """Return the workflow as a network, or why it stays as it is."""
        order, offered = self.workflow.topological_order, source_rates(self.workflow, readings)
        batches_s = {name: batch_s(readings[name]) for name in order}
        measured_s = processing_latency_s(self.workflow, readings, batches_s)
        arrivals = self._arrivals(readings, offered)
        unknown = [f"what comes to {name}" for name in order if name not in arrivals]
        if not math.isfinite(measured_s):
            unknown.append("what a row takes")
        if unknown:
            detail = f"{unknown[0]} is not known, and {TOGETHER}"
            return SizeProposal(replicas=None, detail=detail, reason=Reason.METRICS_MISSING)
        if sum(offered.values()) == 0:
            return SizeProposal(replicas=None, detail="nothing is offered, so no row takes any time")
        stations = {
            name: station
            for name in order
            if (station := self._station(readings[name], arrivals[name], sum(offered.values()))) is not None
        }
        by_row = self.sizing.customer == "row"
        present = {name: readings[name].replicas for name in order}
        return _Network(
            stations=stations,
            present={name: present[name] for name in stations},
            others=sum(count for name, count in present.items() if name not in stations),
            measured_s=measured_s,
            fixed_s=0.0
            if by_row
            else processing_latency_s(self.workflow, readings, dict.fromkeys(order, 0.0)),
            rows_wait=self._behind(readings),
        )

    def _behind(self, readings: Mapping[str, OperatorReading]) -> frozenset[str]:
        waiting = {name for name, reading in readings.items() if has_backlog(reading)}
        return frozenset(name for name in readings if waiting & {name, *self.workflow.ancestors(name)})

    def _arrivals(
        self, readings: Mapping[str, OperatorReading], offered: Mapping[str, float]
    ) -> Mapping[str, float]:
        """Return lambda of each operator, rows/s, without operators of unknown lambda."""
        pushed_down = required_rates(self.workflow, readings, offered)
        if self.sizing.rates == "useful":
            return {name: demand_of(readings[name], rate) for name, rate in pushed_down.items()}
        reported = {name: _output_per_s(readings[name]) for name in pushed_down}
        return {
            name: readings[name].throughput_rows_per_s if rate is None else rate
            for name, rate in reported.items()
        }

    def _station(
        self, reading: OperatorReading, arrivals_per_s: float, offered_per_s: float
    ) -> Station | None:
        """Return an operator as a queue; None where the rate of a replica is not known."""
        observed, by_row = self.sizing.rates == "observed", self.sizing.customer == "row"
        service_per_s = true_rate_per_replica(replace(reading, busy_share=1.0) if observed else reading)
        if service_per_s is None:
            return None
        operator = self.workflow.operators[reading.operator]
        least = reading.replicas if _output_per_s(reading) is None else operator.min_replicas
        return Station(
            arrivals_per_s=arrivals_per_s,
            service_per_s=service_per_s,
            visits=arrivals_per_s / offered_per_s if by_row else 1.0,
            interval_s=None if by_row else reading.trigger_s or batch_s(reading),
            least=min(max(least, 1), operator.max_replicas),
            most=operator.max_replicas,
        )

    def _run(
        self,
        network: _Network,
        before: DrsMemo | None,
        readings: Mapping[str, OperatorReading],
        at_s: float,
    ) -> DrsMemo:
        """Return what the present replicas have shown until now."""
        if before is not None and before.at_s == at_s:
            return before
        replicas = tuple(readings[name].replicas for name in self.workflow.topological_order)
        measured_s: tuple[float, ...] = ()
        corrections: tuple[float, ...] = ()
        if before is not None and before.at_s < at_s:
            measured_s = before.measured_s if before.replicas == replicas else ()
            corrections = before.corrections
        if network.correction is not None:
            corrections = (*corrections, network.correction)
        windows = self.sizing.windows
        return DrsMemo(
            policy=self.name,
            at_s=at_s,
            replicas=replicas,
            measured_s=(*measured_s, network.measured_s)[-windows:],
            corrections=corrections[-windows:],
        )

    # What is proposed

    def _sized(self, network: _Network, run: DrsMemo, in_time_s: float) -> tuple[Mapping[str, int], str]:
        """Return the replicas of the operators in the network, and the reason."""
        settings, measured_s = self.sizing, fmean(run.measured_s)
        most_s = in_time_s if settings.latency_s is None else settings.latency_s
        least_s = settings.release_below_share * most_s
        factor = fmean(run.corrections) if run.corrections and settings.correction else 1.0
        room = None if settings.total_replicas is None else settings.total_replicas - network.others
        detail = f"rows take {measured_s:.1f} s, {most_s:.1f} s are allowed"
        if measured_s > most_s or network.falls_behind:
            target_s = (most_s - network.fixed_s) / factor
            sizes = fewest_replicas(network.stations, target_s, at_least=network.total, at_most=room)
            if network.falls_behind:
                sizes = {name: max(size, network.present[name]) for name, size in sizes.items()}
        elif measured_s >= least_s or not math.isfinite(most_s):
            return network.present, detail
        elif network.rows_wait:
            return network.present, f"{detail}; none is given up while rows wait"
        else:
            sizes = fewest_replicas(network.stations, (least_s - network.fixed_s) / factor, at_most=room)
            if sum(sizes.values()) >= network.total:
                return network.present, f"{detail}; fewer replicas do not promise to keep that"
        promised_s = network.fixed_s + factor * total_sojourn_s(network.stations, sizes)
        promise = f"promise {promised_s:.1f} s" if math.isfinite(promised_s) else "would not keep up"
        return sizes, f"{detail}; {sum(sizes.values())} replicas {promise}"


def _output_per_s(reading: OperatorReading) -> float | None:
    """Return what is offered to an operator, rows/s; None where that is unknown, or no valid number."""
    offered = reading.input_rows_per_s
    return offered if offered is not None and math.isfinite(offered) and offered >= 0 else None


def _rates(station: Station | None) -> str:
    if station is None:
        return "it stays, because what a replica does is not known"
    return f"{station.arrivals_per_s:.0f} rows/s come to it, a replica does {station.service_per_s:.0f}"
