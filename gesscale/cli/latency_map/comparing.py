"""``gesscale latency-map diff``: what two maps disagree about."""

from pathlib import Path

import typer
from rich.table import Table

from gesscale.cli.latency_map.looking import facts_table, some
from gesscale.cli.latency_map.reading import load_survey, plain_errors, split_names
from gesscale.cli.output import Output, emit, table
from gesscale.errors import InputError
from latency_map.difference import DelayChange, Difference, Effect, Tolerance, compare, effect_on
from latency_map.kinds import DelayKind, DelayUnit
from latency_map.summary import PlacementSummary
from latency_map.survey import Survey

CHANGES_SHOWN = 20
NOT_EQUAL = 3


def compare_files(
    *,
    before: Path,
    after: Path,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    tolerance_ms: float,
    tolerance_ratio: float,
    members: str,
    output: Output,
) -> None:
    """Say what B says otherwise than A; exit code 0 where they are equal within the tolerance, 3 if not."""
    with plain_errors():
        tolerance = Tolerance(ms=tolerance_ms, ratio=tolerance_ratio)
        old, new = (load_survey(file, unit, kind).survey for file in (before, after))
        difference = compare(old, new, tolerance)
        nodes = split_names(members)
        for file, survey in ((before, old), (after, new)):
            _check_members(file, survey, nodes)
        effect = effect_on(old, new, nodes) if nodes else None
    document = {"equal": difference.equal, "difference": difference, "effect": effect}
    emit(document, output, _difference_tables(f"{before.name} → {after.name}", difference, effect))
    if not difference.equal:
        raise typer.Exit(NOT_EQUAL)


def _check_members(file: Path, survey: Survey, nodes: list[str]) -> None:
    unknown = [node for node in nodes if node not in survey.names]
    if unknown:
        message = f"--members: expected nodes of both maps, {file} has no {unknown[0]!r}; leave it out"
        raise InputError(message)


def _difference_tables(title: str, difference: Difference, effect: Effect | None) -> list[Table]:
    facts: list[list[object]] = [
        ["equal within the tolerance", "yes" if difference.equal else "no"],
        ["nodes added", some(difference.added) or None],
        ["nodes removed", some(difference.removed) or None],
        ["round trips compared", difference.compared],
        ["changed", len(difference.changed)],
        ["no longer known", len(difference.lost)],
        ["newly known", len(difference.found)],
        ["median difference, ms", difference.median_abs_ms],
        ["largest difference, ms", difference.max_abs_ms],
    ]
    if effect is not None:
        facts += [
            ["NDmax of the members, ms", f"{_nd_max(effect.before)} → {_nd_max(effect.after)}"],
            ["nearest other node", f"{effect.nearest_before or '–'} → {effect.nearest_after or '–'}"],
        ]
    tables = [facts_table(title, facts)]
    for changes, name in (
        (difference.changed, "changed"),
        (difference.lost, "no longer known"),
        (difference.found, "newly known"),
    ):
        if changes:
            tables.append(_changes_table(name, changes))
    return tables


def _nd_max(placement: PlacementSummary) -> str:
    return "unknown" if placement.nd_max_ms is None else f"{placement.nd_max_ms:.4g}"


def _changes_table(name: str, changes: tuple[DelayChange, ...]) -> Table:
    rows = [
        [
            change.a,
            change.b,
            change.before_ms,
            change.after_ms,
            None
            if change.before_ms is None or change.after_ms is None
            else change.after_ms - change.before_ms,
        ]
        for change in changes[:CHANGES_SHOWN]
    ]
    of_all = f", {CHANGES_SHOWN} of {len(changes)}" if len(changes) > CHANGES_SHOWN else ""
    return table(f"{name}{of_all}, round trips in ms", ["from", "to", "A", "B", "B - A"], rows)
