"""DRS (Fu et al., ICDCS 2015, IEEE/ACM ToN 2017): a network of queues says how many replicas a latency needs.

Arrival and service rates make each operator a queue with as many servers as replicas. The policy shares out the fewest
replicas for which the network promises the target, one by one. It corrects the promise by what is measured.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import ClassVar, Literal

from pydantic import Field, FiniteFloat, PositiveFloat

from gesscale.analyze.capacity import has_backlog
from gesscale.fields import Duration
from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.policies.memos import Memo, load_memo
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import Knowledge
from gesscale.wire import MAX_REPLICAS
from testbed.baselines.shared.signals import (
    batch_s,
    demand_of,
    in_time_s,
    processing_latency_s,
    required_rates,
    source_rates,
    true_rate_per_replica,
)
from testbed.baselines.shared.sizing import (
    ON_NODES,
    TOGETHER,
    SizeProposal,
    SizingPolicy,
    SizingSettings,
    blocking_proposal,
    with_configured_placement,
)


class DrsSettings(SizingSettings):
    """DRS (Fu et al., ICDCS 2015, IEEE/ACM ToN 2017)."""

    max_step_up: int = Field(40, ge=1, le=MAX_REPLICAS)
    """Replicas that one change adds at most. Default: as `autrascale`; the papers have no such limit."""
    latency_s: Duration | None = None
    """Tmax: the longest time of a row through the workflow without its wait in a backlog. Default: 1.5 times the
    trigger intervals along the longest path, so that batches end in time, as `autrascale`."""
    release_below_share: float = Field(0.9, gt=0, le=1)
    """Tmin, as a share of Tmax: where a row takes less, replicas go, as many as keep it at that. Default: ours. The
    module that its authors published has both bounds, and 0.25 for a start."""
    rates: Literal["useful", "observed"] = "useful"
    """The rate of a replica: rows over its time in batches (true rates), or over all time, which counts idling as
    work. AuTraScale+ compares with both. Default: useful time, because mu is one over a service time."""
    customer: Literal["batch", "row"] = "batch"
    """What queues: the share of a micro-batch that a replica takes, or a row. Default: the share. For single rows the
    model has no wait before nine tenths of the load, and rows here come in batches."""
    windows: int = Field(5, ge=1, le=100)
    """Latency and correction are the mean over so many newest readings of the present replicas. Default: ours, that
    of the cooldown; with one reading, noise adds and removes replicas in turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """An operator as a queue."""

    #: Lambda, what comes to it, rows/s, at least 0.
    arrivals_per_s: float
    #: Mu, what one replica does when it is never idle, rows/s, above 0.
    service_per_s: float
    #: How often what enters the network comes by, in the mean.
    visits: float = 1.0
    #: Where rows come in batches, the time between two of them, seconds: a customer is then the share of a
    #: batch that one of k replicas takes, ``lambda interval / k`` rows. None: a customer is a row.
    interval_s: float | None = None
    #: The replicas that it may have, ``1 <= least <= most`` (least, most).
    least: int = 1
    most: int

    @property
    def load(self) -> float:
        """The replicas that are busy in the mean, lambda / mu (Erlang)."""
        return self.arrivals_per_s / self.service_per_s

    @property
    def least_stable(self) -> int:
        """The fewest replicas with which its queue does not grow for ever, within the bounds."""
        return min(max(self.least, math.floor(min(self.load, self.most)) + 1), self.most)

    def sojourn_s(self, replicas: int) -> float:
        """Return the mean time from a customer's arrival to the end of its service, seconds.

        Notes
        -----
        ``E[T] = n (1 / mu + C(k, lambda / mu) / (k mu - lambda))`` with n rows a customer: both rates count
        customers, so their proportion stays. Infinite where k replicas are no more than the load. It falls with k and
        is convex, also where n is a share: a product of two such functions above 0 is one.
        """
        spare_per_s = replicas * self.service_per_s - self.arrivals_per_s
        if spare_per_s <= 0:
            return math.inf
        rows = 1.0 if self.interval_s is None else self.arrivals_per_s * self.interval_s / replicas
        return rows * (1.0 / self.service_per_s + erlang_c(replicas, self.load) / spare_per_s)


def erlang_c(servers: int, load: float) -> float:
    """Return the probability that a customer has to wait (Erlang's C formula).

    Notes
    -----
    By the recursion of Erlang's B formula, ``B(k) = a B(k - 1) / (k + a B(k - 1))`` from ``B(0) = 1``, which neither
    overflows nor cancels; ``C = k B / (k - a (1 - B))``.

    Examples
    --------
    >>> round(erlang_c(1, 0.25), 6), round(erlang_c(2, 1.0), 6), round(erlang_c(3, 2.0), 6)
    (0.25, 0.333333, 0.444444)
    """
    if load >= servers:
        return 1.0
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = load * blocked / (count + load * blocked)
    return servers * blocked / (servers - load * (1.0 - blocked))


def total_sojourn_s(stations: Mapping[str, Station], replicas: Mapping[str, int]) -> float:
    """Return the mean time that what enters the network spends in all its operators."""
    return sum(station.visits * station.sojourn_s(replicas[name]) for name, station in stations.items())


def fewest_replicas(
    stations: Mapping[str, Station], target_s: float, *, at_least: int = 0, at_most: int | None = None
) -> Mapping[str, int]:
    """Return the fewest replicas that meet a target for the time in the network.

    Parameters
    ----------
    target_s
        T_max, seconds.
    at_least, at_most
        Replicas of all together; None: as many as the stations may have.

    Notes
    -----
    From the least stable number on, each next replica goes where it takes the most off the total. As each operator's
    sojourn time is convex in its replicas, no other way to share out as many gives less.
    """
    found = {name: station.least_stable for name, station in stations.items()}
    if not stations or any(station.load >= station.most for station in stations.values()):
        return found
    gains_s = {name: _gain_s(station, found[name]) for name, station in stations.items()}
    total, sojourn_s = sum(found.values()), total_sojourn_s(stations, found)
    while total < at_least or sojourn_s > target_s:
        best = max(gains_s, key=lambda name: gains_s[name])
        helps = gains_s[best] > 0 or (gains_s[best] == 0 and total < at_least)
        if not helps or total == at_most:
            break
        found[best] += 1
        total += 1
        sojourn_s = total_sojourn_s(stations, found)
        gains_s[best] = _gain_s(stations[best], found[best])
    return found


def _gain_s(station: Station, replicas: int) -> float:
    """Return how much one more replica takes off the total; below 0 where there may be no more."""
    if replicas >= station.most:
        return -1.0
    return station.visits * (station.sojourn_s(replicas) - station.sojourn_s(replicas + 1))


class DrsMemo(Memo):
    """The run of the present replicas; kept at the first operator in topological order."""

    #: Of each operator, upstream first.
    replicas: tuple[int, ...]
    #: What a row took in the newest readings of this run, oldest first.
    measured_s: tuple[FiniteFloat, ...] = Field(min_length=1)
    #: How many times as long as predicted that was, in the newest readings for which the model predicts
    #: something, with whatever replicas.
    corrections: tuple[PositiveFloat, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Network:
    """The workflow as DRS sees it."""

    #: The operators whose two rates are known.
    stations: Mapping[str, Station]
    #: The replicas of each of them.
    present: Mapping[str, int]
    #: The replicas of the others.
    others: int
    #: What a row takes.
    measured_s: float
    #: The part of it that no replica changes.
    fixed_s: float
    #: Where rows pile up, and all that comes after: a slow operator of a Flink job holds them back at the
    #: source.
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

    name: ClassVar[str] = "drs"

    sizing: DrsSettings = field(default_factory=DrsSettings)

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Size every operator whose two rates are known; see `testbed.baselines.shared.sizing.SizingPolicy`."""
        if (proposal := blocking_proposal(self.workflow, readings, observation)) is not None:
            return dict.fromkeys(readings, proposal)
        network = self._network(readings)
        if isinstance(network, SizeProposal):
            return dict.fromkeys(readings, network)
        first = self.workflow.topological_order[0]
        before = load_memo(DrsMemo, self.name, first, knowledge)
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
            fixed_s=0.0 if by_row else processing_latency_s(self.workflow, readings, dict.fromkeys(order, 0.0)),
            rows_wait=self._behind(readings),
        )

    def _behind(self, readings: Mapping[str, OperatorReading]) -> frozenset[str]:
        waiting = {name for name, reading in readings.items() if has_backlog(reading)}
        return frozenset(name for name in readings if waiting & {name, *self.workflow.ancestors(name)})

    def _arrivals(self, readings: Mapping[str, OperatorReading], offered: Mapping[str, float]) -> Mapping[str, float]:
        """Return lambda of each operator, rows/s, without operators of unknown lambda."""
        pushed_down = required_rates(self.workflow, readings, offered)
        if self.sizing.rates == "useful":
            return {name: demand_of(readings[name], rate) for name, rate in pushed_down.items()}
        reported = {name: _output_per_s(readings[name]) for name in pushed_down}
        return {name: readings[name].throughput_rows_per_s if rate is None else rate for name, rate in reported.items()}

    def _station(self, reading: OperatorReading, arrivals_per_s: float, offered_per_s: float) -> Station | None:
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
        self, network: _Network, before: DrsMemo | None, readings: Mapping[str, OperatorReading], at_s: float
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
        factor = fmean(run.corrections) if run.corrections else 1.0
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


POLICY = PolicyInfo(
    name="drs",
    summary="the fewest replicas with which a network of queues promises the latency, by measured rates",
    source="Fu et al., DRS, ICDCS 2015 and IEEE/ACM ToN 2017; the baseline of AuTraScale+",
    build=with_configured_placement(DrsPolicy),
    settings=DrsSettings,
    accepts=ON_NODES,
    guide="reference/policies/drs.md",
)
