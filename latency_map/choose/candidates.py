"""Which nodes can be chosen at all: hard filters, and the reason for each node that is out."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gesscale.common.text import enumerate_some
from latency_map.matrix import LatencyMap


class Unfit(StrEnum):
    """Why a node cannot be chosen; the first that holds, in this order."""

    EXCLUDED = "Excluded"
    NOT_IN_POOL = "NotInPool"
    NOT_READY = "NotReady"
    CORDONED = "Cordoned"
    WRONG_ARCHITECTURE = "WrongArchitecture"
    NO_ROOM = "NoRoom"
    DELAY_UNKNOWN = "DelayUnknown"
    ANTI_AFFINITY = "AntiAffinity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A node as the cluster sees it.

    Attributes
    ----------
    name
        As in the latency map.
    weight
        What it can hold, in the unit of the capacity that is asked for.
    ready, schedulable
        Whether it works, and whether it takes new work.
    free_cpus, free_memory_bytes
        Room for new work; None where it is not known.
    arch
        Such as ``arm64``; None where it is not known.
    labels
        What groups it is in, such as ``zone``.
    remark
        Why it is not ready or takes no new work, for people.
    """

    name: str
    weight: float = 1.0
    ready: bool = True
    schedulable: bool = True
    free_cpus: float | None = None
    free_memory_bytes: float | None = None
    arch: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What new work needs of a node.

    Attributes
    ----------
    arch
        The only architecture that it runs on; None for any.
    cpus, memory_bytes
        Room that it takes; 0 where that does not matter.
    """

    arch: str | None = None
    cpus: float = 0.0
    memory_bytes: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRejection:
    """A node that cannot be chosen, and why."""

    node: str
    reason: Unfit
    detail: str


def screen(
    candidates: Iterable[Candidate],
    latencies: LatencyMap,
    *,
    keep: Iterable[str] = (),
    exclude: Iterable[str] = (),
    needs: Needs = Needs(),
    apart: Iterable[Iterable[str]] = (),
) -> tuple[tuple[Candidate, ...], tuple[CandidateRejection, ...]]:
    """Tell the nodes that can be chosen from those that cannot.

    Parameters
    ----------
    candidates
        The nodes to judge, each once; not those in the set already, which stay, ready or not.
    latencies
        The delays.
    keep
        Nodes that are in the set already.
    exclude
        Nodes that must not be chosen.
    needs
        What a node must offer. What is not known of a node is not taken for granted.
    apart
        Groups of nodes; the set has at most one node of each.

    Returns
    -------
    tuple of Candidate, tuple of Rejection
        Those that can be chosen and those that cannot, each in the order given.

    Raises
    ------
    UnknownNodeError
        A node that is kept is not in the map.
    """
    kept, excluded = sorted(set(keep)), set(exclude)
    latencies.positions(kept)
    barred = _barred(kept, apart)
    usable, rejections = [], []
    for candidate in candidates:
        name = candidate.name
        details = {
            Unfit.EXCLUDED: "excluded by name" if name in excluded else "",
            Unfit.NOT_READY: "" if candidate.ready else candidate.remark or "it is not ready",
            Unfit.CORDONED: "" if candidate.schedulable else candidate.remark or "it takes no new work",
            Unfit.WRONG_ARCHITECTURE: _misfit(candidate, needs),
            Unfit.NO_ROOM: _lack(candidate, needs),
            Unfit.DELAY_UNKNOWN: _gap(latencies, name, kept),
            Unfit.ANTI_AFFINITY: f"it may not be with {barred[name]}" if name in barred else "",
        }
        if (found := first_problem(details)) is None:
            usable.append(candidate)
        else:
            rejections.append(CandidateRejection(node=name, reason=found[0], detail=found[1]))
    return tuple(usable), tuple(rejections)


def first_problem(problems: Mapping[Unfit, str]) -> tuple[Unfit, str] | None:
    """Return the first thing that stands against a node, in the order of `Unfit`; None where nothing does.

    Parameters
    ----------
    problems
        Each in words, empty where it does not hold.
    """
    return next(((reason, problems[reason]) for reason in Unfit if problems.get(reason)), None)


def runs_on(architecture: str | None, wanted: Collection[str]) -> bool:
    """Say whether a node can take what runs on some architectures only.

    Parameters
    ----------
    architecture
        The node's; None or empty where it is not known, which is not taken for granted.
    wanted
        Empty for any.
    """
    return not wanted or architecture in wanted


def same_label(candidates: Iterable[Candidate], key: str) -> tuple[tuple[str, ...], ...]:
    """Group nodes by a label.

    Parameters
    ----------
    candidates
        The nodes.
    key
        The label, such as ``zone``; nodes without it are in no group.

    Returns
    -------
    tuple of groups
        Names, each group sorted, in the order of the label's values.
    """
    groups: dict[str, list[str]] = {}
    for candidate in candidates:
        if key in candidate.labels:
            groups.setdefault(candidate.labels[key], []).append(candidate.name)
    return tuple(tuple(sorted(groups[value])) for value in sorted(groups))


def _barred(kept: Sequence[str], apart: Iterable[Iterable[str]]) -> dict[str, str]:
    """Return the nodes that may not be with those kept, each with the first of those."""
    barred: dict[str, str] = {}
    for group in map(set, apart):
        for member in kept:
            if member in group:
                barred |= dict.fromkeys(group - barred.keys() - set(kept), member)
    return barred


def _misfit(candidate: Candidate, needs: Needs) -> str:
    if needs.arch is None or runs_on(candidate.arch, {needs.arch}):
        return ""
    return f"expected {needs.arch}, got {candidate.arch or 'a node where that is not known'}"


def _lack(candidate: Candidate, needs: Needs) -> str:
    lacks = []
    for wanted, free, scale, unit in (
        (needs.cpus, candidate.free_cpus, 1, "CPU"),
        (needs.memory_bytes, candidate.free_memory_bytes, 1 << 20, "MiB"),
    ):
        if wanted and (free is None or free < wanted):
            has = "a node where that is not known" if free is None else f"{free / scale:.4g}"
            lacks.append(f"expected {wanted / scale:.4g} {unit} free, got {has}")
    return "; ".join(lacks)


def _gap(latencies: LatencyMap, name: str, kept: Sequence[str]) -> str:
    if name not in latencies:
        return "the latency map does not have this node"
    lost = [member for member in kept if latencies.delay_ms(name, member) is None]
    return f"the latency map has no round trip to {enumerate_some(lost)}" if lost else ""
