"""``gesscale latency-map``: look at a latency map and choose nodes by it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output, emit, table, talk
from gesscale.errors import InputError
from latency_map import (
    Asymmetry,
    DelayKind,
    DelayUnit,
    LatencyMap,
    LatencyMapError,
    LoadedMap,
    NoChoiceError,
    Ranking,
    farthest,
    least_nd_max_subset,
    read_map,
)
from latency_map import nearest as rank_nearest

app = typer.Typer(
    help="Look at a latency map and choose nodes by it. Unit and kind of its delays are never guessed.",
    no_args_is_help=True,
)

NOT_FEASIBLE = 3
MATRIX_SHOWN_UP_TO = 12

MapFile = Annotated[Path, typer.Argument(metavar="FILE", help="CSV: a square matrix or rows from,to,delay.")]
Unit = Annotated[DelayUnit, typer.Option("--unit", help="Unit of the delays in the file.")]
Kind = Annotated[DelayKind, typer.Option("--kind", help="Round trips, or one way (doubled).")]
Symmetry = Annotated[
    Asymmetry, typer.Option("--asymmetry", help="What to do where the two directions of a pair differ.")
]
Form = Annotated[Output, typer.Option("--output", "-o", help="How to write the result.")]
Members = Annotated[
    str, typer.Option("--members", help="Nodes of the placement, by commas; the driver's too.")
]


@app.command()
def show(
    file: MapFile,
    *,
    unit: Unit,
    kind: Kind,
    asymmetry: Symmetry = Asymmetry.REFUSE,
    output: Form = Output.TABLE,
) -> None:
    """Show a map as round trips in milliseconds."""
    with _plain_errors():
        loaded = _load(file, unit, kind, asymmetry)
    latencies = loaded.latencies
    missing = latencies.missing()
    document = {
        "form": loaded.form,
        "reason": loaded.reason,
        "names": latencies.names,
        "rtt_ms": latencies.rtt_ms,
        "missing": missing,
    }
    title = f"{len(latencies)} nodes, round trips in ms, pairs missing: {len(missing)}"
    rows: list[list[object]]
    if len(latencies) <= MATRIX_SHOWN_UP_TO:
        columns = ["", *latencies.names]
        rows = [[a, *(latencies.delay_ms(a, b) for b in latencies.names)] for a in latencies.names]
    else:
        columns = ["node", "nearest", "to nearest", "to farthest", "missing"]
        rows = [_summary(latencies, node) for node in latencies.names]
    emit(document, output, [table(title, columns, rows)])


@app.command()
def nearest(
    file: MapFile,
    *,
    unit: Unit,
    kind: Kind,
    members: Members,
    candidates: Annotated[
        str, typer.Option("--candidates", help="Nodes to choose from, by commas; all but the members.")
    ] = "",
    asymmetry: Symmetry = Asymmetry.REFUSE,
    output: Form = Output.TABLE,
) -> None:
    """Rank the nodes to add: least largest round trip to a member, then least mean, then name."""
    with _plain_errors():
        latencies = _load(file, unit, kind, asymmetry).latencies
        placement = _members(members)
        offered = _names(candidates) or [name for name in latencies.names if name not in placement]
        ranking = rank_nearest(latencies, placement, offered)
    _emit_ranking(ranking, "nearest first", output)


@app.command("farthest")
def rank_farthest(
    file: MapFile,
    *,
    unit: Unit,
    kind: Kind,
    members: Members,
    removable: Annotated[
        str, typer.Option("--removable", help="Members that may go, by commas; all of them by default.")
    ] = "",
    asymmetry: Symmetry = Asymmetry.REFUSE,
    output: Form = Output.TABLE,
) -> None:
    """Rank the nodes to remove: greatest largest round trip to another member, then mean, then name."""
    with _plain_errors():
        latencies = _load(file, unit, kind, asymmetry).latencies
        placement = _members(members)
        ranking = farthest(latencies, placement, _names(removable) or placement)
    _emit_ranking(ranking, "farthest first", output)


@app.command()
def choose(
    file: MapFile,
    *,
    unit: Unit,
    kind: Kind,
    size: Annotated[int, typer.Option("--size", help="How many nodes, those kept included.")],
    keep: Annotated[str, typer.Option("--keep", help="Nodes that must be in, by commas.")] = "",
    exclude: Annotated[str, typer.Option("--exclude", help="Nodes that must be out, by commas.")] = "",
    candidates: Annotated[
        str, typer.Option("--candidates", help="Nodes to choose from, by commas; the whole map by default.")
    ] = "",
    asymmetry: Symmetry = Asymmetry.REFUSE,
    output: Form = Output.TABLE,
) -> None:
    """Choose the nodes with the least NDmax; exit code 3 where no set of that size is possible."""
    with _plain_errors():
        latencies = _load(file, unit, kind, asymmetry).latencies
        offered = _names(candidates) or None
        choice = least_nd_max_subset(
            latencies, size, keep=_names(keep), exclude=_names(exclude), candidates=offered
        )
    document = {
        "nodes": choice.nodes,
        "nd_max_ms": choice.nd_max_ms,
        "optimal": choice.optimal,
        "gap_ms": choice.gap_ms,
    }
    certainty = "optimal" if choice.optimal else f"at most {choice.gap_ms:.4g} ms above the least"
    title = f"NDmax {choice.nd_max_ms:.4g} ms round trip, {certainty}"
    emit(document, output, [table(title, ["node"], [[node] for node in choice.nodes])])


@contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except NoChoiceError as error:
        talk.print(f"not feasible: {error}", markup=False, highlight=False)
        raise typer.Exit(NOT_FEASIBLE) from None
    except LatencyMapError as error:
        raise InputError(str(error)) from None


def _load(file: Path, unit: DelayUnit, kind: DelayKind, asymmetry: Asymmetry) -> LoadedMap:
    loaded = read_map(file, unit, kind, asymmetry)
    talk.print(f"{file} read as {loaded.form.value}: {loaded.reason}", markup=False, highlight=False)
    return loaded


def _names(listing: str) -> list[str]:
    return [name.strip() for name in listing.split(",") if name.strip()]


def _members(listing: str) -> list[str]:
    names = _names(listing)
    if not names:
        message = f"--members: expected the names of nodes, separated by commas, got {listing!r}"
        raise InputError(message)
    return names


def _summary(latencies: LatencyMap, node: str) -> list[object]:
    known = sorted(
        (delay, other)
        for other in latencies.names
        if other != node and (delay := latencies.delay_ms(node, other)) is not None
    )
    missing = len(latencies) - 1 - len(known)
    if not known:
        return [node, None, None, None, missing]
    (least, closest), (greatest, _) = known[0], known[-1]
    return [node, closest, least, greatest, missing]


def _emit_ranking(ranking: Ranking, order: str, output: Output) -> None:
    rows = [[item.node, item.distance_ms, item.mean_ms] for item in ranking.ranked]
    tables = [table(f"{order}, round trips in ms", ["node", "largest", "mean"], rows)]
    if ranking.unreachable:
        lost = [[item.node, ", ".join(item.missing_to)] for item in ranking.unreachable]
        tables.append(table("not ranked", ["node", "no delay to"], lost))
    emit(ranking, output, tables)
