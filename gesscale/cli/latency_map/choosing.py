"""``gesscale latency-map choose``: the set of nodes with the least NDmax."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gesscale.cli.latency_map.reading import load_map, plain_errors, split_names
from gesscale.cli.latency_map.screening import CandidateSet, NodesAsked, rejections_table, screen_candidates
from gesscale.cli.output import Output, emit, stderr_console, table
from gesscale.errors import InputError
from latency_map import Choice, LatencyMap, Method, NoChoiceError, least_nd_max_subset
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit


def choose_nodes(
    *,
    file: Path,
    size: int | None,
    capacity: float | None,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    keep: str,
    running: str,
    exclude: str,
    candidates: str | None,
    apart: list[str] | None,
    nodes: Path | None,
    pods: Path | None,
    arch: str | None,
    cpu: str,
    memory: str,
    method: Method,
    asymmetry: Asymmetry | None,
    output: Output,
) -> None:
    """Choose the nodes with the least NDmax; exit code 3 where no such set is possible."""
    asked = NodesAsked(
        candidates=candidates,
        exclude=exclude,
        apart=apart or (),
        nodes=nodes,
        pods=pods,
        arch=arch,
        cpu=cpu,
        memory=memory,
    )
    with plain_errors():
        latencies = load_map(file, unit, kind, asymmetry)
        fixed, in_use = split_names(keep), split_names(running)
        latencies.positions([*fixed, *in_use])
        _check_kept(fixed, in_use, split_names(exclude), size)
        offer = screen_candidates(latencies, asked, [*fixed, *in_use])
        wanted, offer = _wanted(size, capacity, offer)
        try:
            choice = _choose(latencies, wanted, offer, [*fixed, *in_use], method)
        except NoChoiceError:
            for out in offer.rejections:
                stderr_console.print(f"{out.node} is out: {out.reason}, {out.detail}")
            raise
        free = _free_choice(latencies, wanted, offer, fixed, in_use, method)
    _emit_choice(choice, offer, free, output)


def _check_kept(
    fixed: Sequence[str], in_use: Sequence[str], exclude: Sequence[str], size: int | None
) -> None:
    kept = {*fixed, *in_use}
    if both := sorted(kept & {*exclude}):
        message = f"--exclude: expected nodes that are neither kept nor running, got {', '.join(both)}"
        raise InputError(message)
    if size is not None and size < max(1, len(kept)):
        message = (
            f"--size: expected at least {max(1, len(kept))}, the nodes kept and running included, which are never "
            f"dropped, got {size}"
        )
        raise InputError(message)


def _wanted(size: int | None, capacity: float | None, offer: CandidateSet) -> tuple[float, CandidateSet]:
    """Return what is wanted, and the offer with weights only where they are asked for."""
    if size is not None and capacity is None:
        return size, replace(offer, weights=None)
    if capacity is None or size is not None:
        message = "choose: expected either --size or --capacity"
        raise InputError(message)
    if offer.weights is None:
        message = "--capacity: expected --nodes with it, which says what each node holds"
        raise InputError(message)
    return capacity, offer


def _choose(
    latencies: LatencyMap, wanted: float, offer: CandidateSet, keep: Sequence[str], method: Method
) -> Choice:
    return least_nd_max_subset(
        latencies,
        wanted,
        weights=offer.weights,
        keep=keep,
        candidates=offer.names,
        apart=offer.apart,
        method=method,
    )


def _free_choice(
    latencies: LatencyMap,
    wanted: float,
    offer: CandidateSet,
    fixed: Sequence[str],
    in_use: Sequence[str],
    method: Method,
) -> Choice | None:
    """Choose as if what runs could be moved; None where nothing runs or no such set was found."""
    if not in_use:
        return None
    try:
        return _choose(latencies, wanted, replace(offer, names=(*offer.names, *in_use)), fixed, method)
    except NoChoiceError:
        return None


def _emit_choice(choice: Choice, offer: CandidateSet, free: Choice | None, output: Output) -> None:
    saves_ms = 0.0 if free is None else max(0.0, choice.nd_max_ms - free.nd_max_ms)
    document = {
        "nodes": choice.nodes,
        "nd_max_ms": choice.nd_max_ms,
        "optimal": choice.optimal,
        "gap_ms": choice.gap_ms,
        "method": choice.method,
        "holds": None if offer.weights is None else sum(offer.weights[node] for node in choice.nodes),
        "rejections": offer.rejections,
        "if_moved": None if free is None else {"nodes": free.nodes, "saves_ms": saves_ms},
    }
    certainty = "optimal" if choice.optimal else f"at most {choice.gap_ms:.4g} ms above the least"
    stopped = ", the search stopped early" if choice.method is Method.EXACT and not choice.optimal else ""
    title = f"NDmax {choice.nd_max_ms:.4g} ms round trip, {certainty} ({choice.method}{stopped})"
    if free is not None and saves_ms:
        stderr_console.print(f"what runs stays; moving would save {saves_ms:.4g} ms: {', '.join(free.nodes)}")
    rows = [[node] for node in choice.nodes]
    emit(document, output, [table(title, ["node"], rows), *rejections_table(offer.rejections)])
