"""What ``choose`` and ``nearest`` share: which nodes are offered, and which of them are out and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from gesscale.cli.latency_map.nodes_file import read_nodes
from gesscale.cli.latency_map.reading import some_names, split_names
from gesscale.cli.output import stderr_console, table
from gesscale.common.text import enumerate_some
from gesscale.errors import InputError
from gesscale.kubernetes.placement.nodes import parse_quantity
from latency_map import LatencyMap
from latency_map.choose.candidates import Candidate, CandidateRejection, Needs, same_label, screen


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesAsked:
    """The options that say which nodes are offered; as the commands have them."""

    candidates: str | None
    exclude: str
    apart: Sequence[str]
    nodes: Path | None
    pods: Path | None
    arch: str | None
    cpu: str
    memory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSet:
    """The nodes that can be chosen.

    Attributes
    ----------
    names
        Without those that are kept.
    rejections
        The nodes that are out.
    apart
        Groups of nodes; at most one node of each may be in.
    weights
        What each node holds; None where no file says it.
    """

    names: tuple[str, ...]
    rejections: tuple[CandidateRejection, ...]
    apart: tuple[tuple[str, ...], ...]
    weights: dict[str, float] | None


def screen_candidates(latencies: LatencyMap, asked: NodesAsked, keep: Sequence[str]) -> CandidateSet:
    """Find the nodes that can be chosen in addition to those kept, and say on stderr what was taken for granted.

    Parameters
    ----------
    latencies
        The delays.
    asked
        The options.
    keep
        Nodes that are in the set already; named as candidates all the same, they are judged like others.

    Returns
    -------
    CandidateSet
        What is left to choose from.

    Raises
    ------
    InputError
        An option or a file is wrong.
    UnknownNodeError
        A node that is named is neither in the map nor in the file of nodes.
    """
    needs = _needs(asked)
    known = None if asked.nodes is None else {node.name: node for node in read_nodes(asked.nodes, asked.pods)}
    exclude = split_names(asked.exclude)
    _check_named(latencies, known, asked, exclude)
    nodes = _offered(latencies, known, asked, keep)
    apart = tuple(group for each in asked.apart for group in _groups(each, latencies, known))
    _say(latencies, known, asked, keep, apart)
    usable, rejections = screen(nodes, latencies, keep=keep, exclude=exclude, needs=needs, apart=apart)
    return CandidateSet(
        names=tuple(node.name for node in usable),
        rejections=rejections,
        apart=apart,
        weights=None if known is None else {name: node.weight for name, node in known.items()},
    )


def rejections_table(rejections: Sequence[CandidateRejection]) -> list[Table]:
    """Return a table of the nodes that are out; none where there are none."""
    rows = [[item.node, item.reason.value, item.detail] for item in rejections]
    return [table("cannot be chosen", ["node", "reason", "detail"], rows)] if rows else []


def _needs(asked: NodesAsked) -> Needs:
    needy = {"--pods": asked.pods, "--arch": asked.arch, "--cpu": asked.cpu, "--memory": asked.memory}
    lone = [option for option, value in needy.items() if value]
    if lone and asked.nodes is None:
        message = f"{', '.join(lone)}: expected --nodes with it, which says what nodes there are"
        raise InputError(message)
    return Needs(
        arch=asked.arch,
        cpus=_quantity("--cpu", asked.cpu),
        memory_bytes=_quantity("--memory", asked.memory),
    )


def _quantity(option: str, text: str) -> float:
    try:
        return float(parse_quantity(text)) if text else 0.0
    except ValueError as error:
        message = f"{option}: {error}"
        raise InputError(message) from None


def _check_named(
    latencies: LatencyMap, known: dict[str, Candidate] | None, asked: NodesAsked, exclude: Sequence[str]
) -> None:
    named = [] if asked.candidates is None else some_names("--candidates", asked.candidates)
    latencies.positions(name for name in (*named, *exclude) if name not in (known or {}))
    if known is not None and (absent := [name for name in named if name not in known]):
        message = f"--candidates: expected nodes of {asked.nodes}, got {enumerate_some(absent)}"
        raise InputError(message)


def _offered(
    latencies: LatencyMap, known: dict[str, Candidate] | None, asked: NodesAsked, keep: Sequence[str]
) -> list[Candidate]:
    names = split_names(asked.candidates or "") or [
        name for name in known or latencies.names if name not in keep
    ]
    return [Candidate(name=name) if known is None else known[name] for name in dict.fromkeys(names)]


def _groups(
    text: str, latencies: LatencyMap, known: dict[str, Candidate] | None
) -> tuple[tuple[str, ...], ...]:
    if "," in text:
        group = tuple(split_names(text))
        latencies.positions(name for name in group if name not in (known or {}))
        return (group,)
    groups = same_label((known or {}).values(), text)
    if not groups:
        message = (
            f"--apart: expected names of nodes by commas, or a label of the nodes in --nodes, got {text!r}"
        )
        raise InputError(message)
    return groups


def _say(
    latencies: LatencyMap,
    known: dict[str, Candidate] | None,
    asked: NodesAsked,
    keep: Sequence[str],
    apart: Sequence[Sequence[str]],
) -> None:
    """Say on stderr what a reader of the result would not expect."""
    for group in apart:
        if len(together := sorted({*group} & {*keep})) > 1:
            stderr_console.print(
                f"note: {', '.join(together)} are to be apart, but they are kept and stay together"
            )
    if known is None:
        return
    if unknown := [name for name in latencies.names if name not in known]:
        stderr_console.print(
            f"note: {asked.nodes} does not have these nodes of the map: {enumerate_some(unknown)}"
        )
