"""DRS (Fu et al., ICDCS 2015, IEEE/ACM ToN 2017): a queueing network predicts the replicas that a latency needs.

Each operator is a queue with one server per replica, given by its arrival and service rates. The policy adds replicas
one by one until the predicted latency meets the target. Measured latencies correct the prediction.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
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
from testbed.baselines.shared.signals import batch_s, on_time_latency_s, processing_latency_s
from testbed.baselines.shared.sizing import (
    PLACEMENT_SETTINGS,
    SIZED_TOGETHER,
    SizeProposal,
    SizingPolicy,
    blocking_proposal,
    with_configured_placement,
)
from testbed.baselines.shared.true_rates import (
    TrueRateSettings,
    demand_of,
    required_rates,
    source_rates,
    true_rate_per_replica,
)


class DrsSettings(TrueRateSettings):
    """DRS (Fu et al., ICDCS 2015, IEEE/ACM ToN 2017)."""

    max_step_up: int = Field(40, ge=1, le=MAX_REPLICAS)
    """Maximum number of replicas that one change adds. Default: as `autrascale`; the papers have no such limit."""
    latency_s: Duration | None = None
    """Tmax: maximum time of a row through the workflow without its wait in a backlog. Default: 1.5 times the trigger
    intervals along the longest path, so that batches end on time, as `autrascale`."""
    release_below_share: float = Field(0.9, gt=0, le=1)
    """Tmin, as a share of Tmax: below it, replicas are removed as long as the latency stays at Tmin. Default: ours. The
    module that its authors published has both bounds, and starts with 0.25."""
    rates: Literal["useful", "observed"] = "useful"
    """Rate of a replica: rows per time in batches (true rates), or per total time, which counts idle time as work.
    AuTraScale+ compares with both. Default: useful time, because mu is the inverse of a service time."""
    customer: Literal["batch", "row"] = "batch"
    """Customer of the queue: the share of a micro-batch that a replica processes, or a row. Default: the share. For
    single rows the model predicts no wait below nine tenths of the load, and rows here arrive in batches."""
    windows: int = Field(5, ge=1, le=100)
    """Number of newest readings of the present replicas over which latency and correction are averaged. Default: ours,
    the length of the cooldown; with one reading, noise adds and removes replicas alternately."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """An operator as a queue."""

    #: Lambda, arrival rate, rows/s, at least 0.
    arrivals_per_s: float
    #: Mu, service rate of one replica without idle time, rows/s, above 0.
    service_per_s: float
    #: Mean number of visits of a customer of the network.
    visits: float = 1.0
    #: Time between batches, seconds: a customer is the share of a batch that one of k replicas processes,
    #: ``lambda interval / k`` rows. None: a customer is a row.
    interval_s: float | None = None
    #: Minimum and maximum number of replicas, ``1 <= least <= most`` (least, most).
    least: int = 1
    most: int

    @property
    def load(self) -> float:
        """Mean number of busy replicas, lambda / mu (Erlang)."""
        return self.arrivals_per_s / self.service_per_s

    @property
    def min_stable(self) -> int:
        """Minimum number of replicas with a stable queue, within the bounds."""
        return min(max(self.least, math.floor(min(self.load, self.most)) + 1), self.most)

    def sojourn_s(self, replicas: int) -> float:
        """Return the mean time from a customer's arrival to the end of its service, seconds.

        Notes
        -----
        ``E[T] = n (1 / mu + C(k, lambda / mu) / (k mu - lambda))`` with n rows per customer: both rates count
        customers, so their ratio is constant. Infinite if k is at most the load. It decreases with k and is convex,
        also if n is a share: the product of two such positive functions is convex.
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
    """Return the mean time of a customer in all operators of the network."""
    return sum(station.visits * station.sojourn_s(replicas[name]) for name, station in stations.items())


def fewest_replicas(
    stations: Mapping[str, Station], target_s: float, *, at_least: int = 0, at_most: int | None = None
) -> Mapping[str, int]:
    """Return the smallest numbers of replicas that meet a target for the time in the network.

    Parameters
    ----------
    target_s
        T_max, seconds.
    at_least, at_most
        Bounds of the total number of replicas; None: as many as the stations allow.

    Notes
    -----
    Starting at the smallest stable numbers, each further replica is added where it reduces the total most. The sojourn
    time of each operator is convex in its replicas, so this greedy distribution is optimal.
    """
    found = {name: station.min_stable for name, station in stations.items()}
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
    """Return the reduction of the total by one more replica; negative at the maximum."""
    if replicas >= station.most:
        return -1.0
    return station.visits * (station.sojourn_s(replicas) - station.sojourn_s(replicas + 1))


class DrsMemo(Memo):
    """Measurements with the present replicas; stored at the first operator in topological order."""

    #: Replicas of each operator, upstream first.
    replicas: tuple[int, ...]
    #: Measured latency of a row in the newest readings with these replicas, oldest first.
    measured_s: tuple[FiniteFloat, ...] = Field(min_length=1)
    #: Measured over predicted latency, in the newest readings with a prediction, with any replicas.
    corrections: tuple[PositiveFloat, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Network:
    """The workflow as a queueing network."""

    #: The operators whose two rates are known.
    stations: Mapping[str, Station]
    #: Their replicas.
    present: Mapping[str, int]
    #: The total replicas of the other operators.
    other_replicas: int
    #: Measured latency of a row.
    measured_s: float
    #: The part of it that does not depend on replicas.
    fixed_s: float
    #: Operators with a backlog, and all downstream: a slow operator of a Flink job causes a backlog at the source.
    with_backlog: Collection[str]

    @property
    def total(self) -> int:
        """Total replicas of the operators whose two rates are known."""
        return sum(self.present.values())

    @property
    def correction(self) -> float | None:
        """Measured over predicted latency; None without a finite prediction."""
        predicted_s = total_sojourn_s(self.stations, self.present)
        times = (self.measured_s - self.fixed_s) / predicted_s if predicted_s > 0 else 0.0
        return times if 0 < times < math.inf else None

    @property
    def falls_behind(self) -> bool:
        """True if an operator is unstable in the model and rows wait before it or upstream of it."""
        waiting = self.stations.keys() & self.with_backlog
        return any(self.stations[name].load >= self.present[name] for name in waiting)


@dataclass(frozen=True, slots=True)
class DrsPolicy(SizingPolicy):
    """Adds replicas if the latency is too high, removes some if it is low; for all operators at once."""

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
        sizes, detail = self._sized(network, run, on_time_latency_s(self.workflow, readings))
        return {
            name: SizeProposal(
                replicas=sizes.get(name),
                detail=f"{detail}; {_rates_detail(network.stations.get(name))}",
                memo=run.model_dump_json() if name == first and run != before else None,
            )
            for name in readings
        }

    # The queueing network

    def _network(self, readings: Mapping[str, OperatorReading]) -> _Network | SizeProposal:
        """Return the workflow as a network, or the proposal of no change if a figure is missing."""
        order, offered = self.workflow.topological_order, source_rates(self.workflow, readings)
        batches_s = {name: batch_s(readings[name]) for name in order}
        measured_s = processing_latency_s(self.workflow, readings, batches_s)
        arrivals = self._arrivals(readings, offered)
        unknown = [f"arrival rate of {name}" for name in order if name not in arrivals]
        if not math.isfinite(measured_s):
            unknown.append("latency")
        if unknown:
            detail = f"{unknown[0]} unknown; {SIZED_TOGETHER}"
            return SizeProposal(replicas=None, detail=detail, reason=Reason.METRICS_MISSING)
        if sum(offered.values()) == 0:
            return SizeProposal(replicas=None, detail="no input")
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
            other_replicas=sum(count for name, count in present.items() if name not in stations),
            measured_s=measured_s,
            fixed_s=0.0 if by_row else processing_latency_s(self.workflow, readings, dict.fromkeys(order, 0.0)),
            with_backlog=self._with_backlog(readings),
        )

    def _with_backlog(self, readings: Mapping[str, OperatorReading]) -> frozenset[str]:
        waiting = {name for name, reading in readings.items() if has_backlog(reading)}
        return frozenset(name for name in readings if waiting & {name, *self.workflow.ancestors(name)})

    def _arrivals(self, readings: Mapping[str, OperatorReading], offered: Mapping[str, float]) -> Mapping[str, float]:
        """Return lambda of each operator with a known one, rows/s."""
        pushed_down = required_rates(self.workflow, readings, offered)
        if self.sizing.rates == "useful":
            return {name: demand_of(readings[name], rate) for name, rate in pushed_down.items()}
        reported = {name: _output_per_s(readings[name]) for name in pushed_down}
        return {name: readings[name].throughput_rows_per_s if rate is None else rate for name, rate in reported.items()}

    def _station(self, reading: OperatorReading, arrivals_per_s: float, offered_per_s: float) -> Station | None:
        """Return an operator as a queue; None if the rate of a replica is unknown."""
        by_row = self.sizing.customer == "row"
        if self.sizing.rates == "observed":
            service_per_s: float | None = reading.throughput_rows_per_s / reading.replicas
        else:
            service_per_s = true_rate_per_replica(reading, self.sizing.useful_time)
        if service_per_s is None or not 0 < service_per_s < math.inf:
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
        """Return the measurements with the present replicas, including this one."""
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

    # Proposals

    def _sized(self, network: _Network, run: DrsMemo, on_time_latency_s: float) -> tuple[Mapping[str, int], str]:
        """Return the replicas of the operators in the network, with the figures."""
        settings, measured_s = self.sizing, fmean(run.measured_s)
        max_s = on_time_latency_s if settings.latency_s is None else settings.latency_s
        min_s = settings.release_below_share * max_s
        factor = fmean(run.corrections) if run.corrections else 1.0
        room = None if settings.total_replicas is None else settings.total_replicas - network.other_replicas
        detail = f"latency {measured_s:.1f} s, target {max_s:.1f} s"
        if measured_s > max_s or network.falls_behind:
            target_s = (max_s - network.fixed_s) / factor
            sizes = fewest_replicas(network.stations, target_s, at_least=network.total, at_most=room)
            if network.falls_behind:
                sizes = {name: max(size, network.present[name]) for name, size in sizes.items()}
        elif measured_s >= min_s or not math.isfinite(max_s):
            return network.present, detail
        elif network.with_backlog:
            return network.present, f"{detail}; no scale-in during a backlog"
        else:
            sizes = fewest_replicas(network.stations, (min_s - network.fixed_s) / factor, at_most=room)
            if sum(sizes.values()) >= network.total:
                return network.present, f"{detail}; fewer replicas would miss it"
        predicted_s = network.fixed_s + factor * total_sojourn_s(network.stations, sizes)
        prediction = f"predicted {predicted_s:.1f} s" if math.isfinite(predicted_s) else "which would not keep up"
        return sizes, f"{detail}; {sum(sizes.values())} replicas in total, {prediction}"


def _output_per_s(reading: OperatorReading) -> float | None:
    """Return the input of an operator, rows/s; None if unknown or invalid."""
    offered = reading.input_rows_per_s
    return offered if offered is not None and math.isfinite(offered) and offered >= 0 else None


def _rates_detail(station: Station | None) -> str:
    if station is None:
        return "no change: rate of a replica unknown"
    return f"arrivals {station.arrivals_per_s:.0f} rows/s, service rate {station.service_per_s:.0f} per replica"


POLICY = PolicyInfo(
    name="drs",
    summary="the fewest replicas whose latency, predicted by a queueing network, meets the target",
    source="Fu et al., DRS, ICDCS 2015 and IEEE/ACM ToN 2017; the baseline of AuTraScale+",
    build=with_configured_placement(DrsPolicy),
    settings=DrsSettings,
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/drs.md",
)
