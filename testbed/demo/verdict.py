"""What the demo promises, checked on what it did."""

from collections.abc import Sequence
from dataclasses import dataclass

from gesscale.model.decision import Decision, Reason
from latency_map import LatencyMap
from testbed.demo.record import Day, Rescale


@dataclass(frozen=True, slots=True)
class PromiseCheck:
    """One promise.

    Attributes
    ----------
    promise
        What was promised.
    kept
        Whether it was kept.
    detail
        The figures.
    """

    promise: str
    kept: bool
    detail: str


def check_both_directions(rescales: Sequence[Rescale]) -> PromiseCheck:
    """Check that replicas were both added and removed."""
    up = sum(rescale.growth > 0 for rescale in rescales)
    down = sum(rescale.growth < 0 for rescale in rescales)
    return PromiseCheck("it scaled up and down", up > 0 and down > 0, f"{up} times up, {down} times down")


def draws_nodes(decisions: Sequence[Decision]) -> bool:
    """Say whether the policy draws nodes, as DS2 does, so that the latency map calls for none of them."""
    return any(
        rejection.reason is Reason.NOT_SELECTED
        for decision in decisions
        for rejection in decision.plan.rejections
    )


def check_nodes(decisions: Sequence[Decision], delays: LatencyMap, driver_node: str) -> PromiseCheck:
    """Check every chosen node against the latency map, by the map's figures alone.

    Parameters
    ----------
    decisions
        Those that acted.
    delays
        The latency map; its nodes are the candidates.
    driver_node
        Counts as a member of every placement.

    Returns
    -------
    PromiseCheck
        Broken where an added node was not of the least largest round trip to the placement and the driver's
        node, or a removed one not of the greatest.
    """
    wrong = []
    chosen = 0
    for decision in decisions:
        if decision.analysis.reading is None or decision.plan.change is None:
            continue
        placement = set(decision.analysis.reading.placement)
        change = decision.plan.change
        for _ in change.add:
            chosen += 1
            members = placement | {driver_node}
            distances = {
                name: _distance(delays, name, members) for name in delays.names if name not in placement
            }
            come = [node for node in change.add if distances.get(node) == min(distances.values())]
            if not come:
                wrong.append(f"+{sorted(set(change.add) - placement)}")
                break
            placement.add(come[0])
        for _ in change.remove:
            chosen += 1
            members = placement | {driver_node}
            distances = {name: _distance(delays, name, members - {name}) for name in placement}
            gone = [node for node in change.remove if distances.get(node) == max(distances.values())]
            if not gone:
                wrong.append(f"-{sorted(set(change.remove) & placement)}")
                break
            placement.remove(gone[0])
    detail = f"{chosen} nodes chosen" + (
        f", wrong: {', '.join(wrong)}" if wrong else ", none other than the map calls for"
    )
    return PromiseCheck(
        "every chosen node is the one the latency map calls for", chosen > 0 and not wrong, detail
    )


def _distance(delays: LatencyMap, node: str, members: set[str]) -> float:
    row = delays.rtt_ms[delays.names.index(node)]
    return max((float(row[delays.names.index(member)]) for member in members), default=0.0)


def check_rows(day: Day) -> tuple[PromiseCheck, ...]:
    """Check at each end of the stream that every valid row is there, and once.

    Parameters
    ----------
    day
        With the rows counted.

    Returns
    -------
    tuple of Check
        One for each topic between operators, and one for the files.
    """
    valid, sent, rows = day.produced - day.broken, f"{day.produced} produced", "rows"
    if day.broken:
        sent, rows = f"{sent} less {day.broken} without a position = {valid}", "valid rows"
    counts = {f"rows out of {name}": count for name, count in day.handed_on.items()}
    return tuple(
        PromiseCheck(
            f"{place} = {rows} produced, each once",
            count.rows == count.distinct == valid,
            f"{sent}; {count.rows} there, {count.duplicated} doubled, {count.missing} missing",
        )
        for place, count in {**counts, "rows in the sink": day.sink}.items()
    )
