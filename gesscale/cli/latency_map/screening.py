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

Known = dict[str, Candidate]
"""What a file says of nodes, by name; empty where there is no file."""


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
        What each node holds; empty where no file says it.
    """

    names: tuple[str, ...]
    rejections: tuple[CandidateRejection, ...]
    apart: tuple[tuple[str, ...], ...]
    weights: dict[str, float]


def screen_candidates(
    latencies: LatencyMap,
    keep: Sequence[str],
    *,
    candidates: str | None,
    exclude: str,
    apart: Sequence[str],
    nodes: Path | None,
    pods: Path | None,
    arch: str | None,
    cpu: str,
    memory: str,
) -> CandidateSet:
    """Find the nodes that can be chosen in addition to those kept; the options are those of the commands.

    It says on stderr what was taken for granted.
    """
    needy = {"--pods": pods, "--arch": arch, "--cpu": cpu, "--memory": memory}
    if nodes is None and (lone := [option for option, value in needy.items() if value]):
        message = f"{', '.join(lone)}: expected --nodes with it, which says what nodes there are"
        raise InputError(message)
    needs = Needs(arch=arch, cpus=_quantity("--cpu", cpu), memory_bytes=_quantity("--memory", memory))
    known: Known = {} if nodes is None else {node.name: node for node in read_nodes(nodes, pods)}
    named = [] if candidates is None else some_names("--candidates", candidates)
    excluded = split_names(exclude)
    latencies.positions(name for name in (*named, *excluded) if name not in known)
    if nodes is not None and (absent := [name for name in named if name not in known]):
        message = f"--candidates: expected nodes of {nodes}, got {enumerate_some(absent)}"
        raise InputError(message)
    offered = named or [name for name in known or latencies.names if name not in keep]
    groups = tuple(group for each in apart for group in _groups(each, latencies, known))
    for group in groups:
        if len(together := sorted({*group} & {*keep})) > 1:
            stderr_console.print(
                f"note: {', '.join(together)} are to be apart, but they are kept and stay together"
            )
    if known and (unknown := [name for name in latencies.names if name not in known]):
        stderr_console.print(f"note: {nodes} does not have these nodes of the map: {enumerate_some(unknown)}")
    usable, rejections = screen(
        [known.get(name) or Candidate(name=name) for name in dict.fromkeys(offered)],
        latencies,
        keep=keep,
        exclude=excluded,
        needs=needs,
        apart=groups,
    )
    return CandidateSet(
        names=tuple(node.name for node in usable),
        rejections=rejections,
        apart=groups,
        weights={name: node.weight for name, node in known.items()},
    )


def rejections_table(rejections: Sequence[CandidateRejection]) -> list[Table]:
    """Return a table of the nodes that are out; none where there are none."""
    rows = [[item.node, item.reason.value, item.detail] for item in rejections]
    return [table("cannot be chosen", ["node", "reason", "detail"], rows)] if rows else []


def _quantity(option: str, text: str) -> float:
    try:
        return float(parse_quantity(text)) if text else 0.0
    except ValueError as error:
        message = f"{option}: {error}"
        raise InputError(message) from None


def _groups(text: str, latencies: LatencyMap, known: Known) -> tuple[tuple[str, ...], ...]:
    if "," in text:
        group = tuple(split_names(text))
        latencies.positions(name for name in group if name not in known)
        return (group,)
    groups = same_label(known.values(), text)
    if not groups:
        message = (
            f"--apart: expected names of nodes by commas, or a label of the nodes in --nodes, got {text!r}"
        )
        raise InputError(message)
    return groups
