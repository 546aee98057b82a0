"""From a text of whatever form to a survey: what it is, what its delays mean, round trips, what looks wrong."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from latency_map.delays import count_differing, direct_round_trips, find_impossible
from latency_map.errors import LatencyMapError, error_at
from latency_map.formats.alto import read_cost_map
from latency_map.formats.document_reading import read_document
from latency_map.formats.edges_csv import read_edges, read_p2psim
from latency_map.formats.forms import MapForm
from latency_map.formats.goldpinger import read_check_all
from latency_map.formats.graph_files import read_gml, read_graphml
from latency_map.formats.json_text import JsonReader
from latency_map.formats.links_json import read_links
from latency_map.formats.liqo import read_liqo_answer, read_liqo_metrics
from latency_map.formats.matrix_csv import read_bare_matrix, read_named_matrix
from latency_map.formats.ping_text import read_fping, read_ping
from latency_map.formats.pings_csv import read_pings
from latency_map.formats.raw import RawDelays, SideFiles
from latency_map.formats.recognise import looks_like_json, recognise_json, recognise_text
from latency_map.formats.scheduler_plugins_reading import read_netperf, read_network_topology
from latency_map.formats.source import MapSource
from latency_map.kinds import DelayKind, DelayUnit
from latency_map.plausibility import find_implausible
from latency_map.survey import Survey

_OF_TEXT: Mapping[MapForm, Callable[[MapSource, SideFiles], RawDelays]] = {
    MapForm.MATRIX: read_named_matrix,
    MapForm.BARE_MATRIX: read_bare_matrix,
    MapForm.EDGES: read_edges,
    MapForm.PINGS: read_pings,
    MapForm.P2PSIM: read_p2psim,
    MapForm.GML: read_gml,
    MapForm.GRAPHML: read_graphml,
    MapForm.PING: read_ping,
    MapForm.FPING: read_fping,
    MapForm.NETWORK_TOPOLOGY: read_network_topology,
    MapForm.NETPERF: read_netperf,
    MapForm.LIQO: read_liqo_metrics,
}
_OF_JSON: Mapping[MapForm, Callable[[JsonReader, SideFiles], RawDelays]] = {
    MapForm.LINKS: lambda content, _: read_links(content),
    MapForm.GOLDPINGER: lambda content, _: read_check_all(content),
    MapForm.ALTO: lambda content, _: read_cost_map(content),
    MapForm.LIQO_ANSWER: read_liqo_answer,
}
_WANTS = {
    "names": frozenset((MapForm.BARE_MATRIX, MapForm.EDGES, MapForm.P2PSIM)),
    "servers": frozenset((MapForm.PINGS,)),
    "probed_from": frozenset((MapForm.PING, MapForm.FPING, MapForm.LIQO, MapForm.LIQO_ANSWER)),
}
Judge = Callable[[RawDelays, DelayUnit, DelayKind], None]
Read = TypeVar("Read")
_SAID_BY_CALLER = "the caller says so"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A survey and what its text was taken for.

    Attributes
    ----------
    survey
        The round trips.
    form, reason
        What the text was taken for, and why.
    unit, kind
        What its figures mean, as the text or the caller says.
    notes
        What was done on the way, for people.
    warnings
        What looks implausible, for people.
    """

    survey: Survey
    form: MapForm
    reason: str
    unit: DelayUnit
    kind: DelayKind
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def import_source(
    source: MapSource,
    *,
    form: MapForm | None,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    side_files: SideFiles,
    judge: Judge | None = None,
) -> Imported:
    """Read a text of any form.

    Parameters
    ----------
    source
        The text.
    form
        What it is; None to tell from how it begins.
    unit, kind
        What its delays mean; None where it says so itself.
    side_files
        What belongs to it and is not in it.
    judge
        Called with the delays as the text has them and what they mean, before they become round trips; may raise.

    Returns
    -------
    Imported
        The survey, and what was found out on the way.

    Raises
    ------
    LatencyMapError
        See `latency_map.read_survey`.
    """
    reason = _SAID_BY_CALLER
    if form is None:
        form, reason = recognise_json(source) if looks_like_json(source) else recognise_text(source)
    _check_side_files(source.name, form, side_files)
    if form is MapForm.DOCUMENT:
        survey = _read_json(source, read_document)
        stated = RawDelays(
            names=survey.names,
            values=survey.rtt_ms,
            place=lambda _a, _b: "",
            unit=DelayUnit.MS,
            kind=DelayKind.RTT,
            stated_at="its unit is ms and its delay is rtt",
            measured_at_s=survey.measured_at_s,
        )
        unit, kind = _meaning(source.name, stated, unit, kind)
        if judge:
            judge(stated, unit, kind)
        return Imported(survey=survey, form=form, reason=reason, unit=unit, kind=kind)
    if form in _OF_JSON:
        raw = _read_json(source, lambda content: _OF_JSON[form](content, side_files))
    else:
        raw = _OF_TEXT[form](source, side_files)
    unit, kind = _meaning(source.name, raw, unit, kind)
    _refuse_impossible(source.name, raw, unit, kind)
    if judge:
        judge(raw, unit, kind)
    survey, notes = _to_survey(source.name, raw, unit, kind)
    warnings = raw.warnings
    del raw  # its matrix is the survey's now; where each cell stood takes memory too
    return Imported(
        survey=survey,
        form=form,
        reason=reason,
        unit=unit,
        kind=kind,
        notes=notes,
        warnings=warnings + find_implausible(survey, unit=unit),
    )


def _read_json(source: MapSource, read: Callable[[JsonReader], Read]) -> Read:
    content = JsonReader(source.pieces(), source.name, source.limits)
    result = read(content)
    content.end()
    return result


def _meaning(
    source: str, raw: RawDelays, unit: DelayUnit | None, kind: DelayKind | None
) -> tuple[DelayUnit, DelayKind]:
    """Bring together what the file and the caller say of its delays."""
    for name, said, stated in (("unit", unit, raw.unit), ("kind", kind, raw.kind)):
        if said is not None and stated is not None and said != stated:
            problem = (
                f"expected {stated.value!r} for {name}, got {said.value!r}; leave it out, or correct the file"
            )
            raise error_at(source, raw.stated_at, problem)
    unit, kind = unit or raw.unit, kind or raw.kind
    if unit is not None and kind is not None:
        return unit, kind
    asked = {"unit": (unit, "unit (us, ms or s)"), "kind": (kind, "kind (rtt or one-way)")}
    lacking = [name for name, (value, _) in asked.items() if value is None]
    message = (
        f"{source}: expected {' and '.join(lacking)} of its delays to be stated, the file does not say;"
        f" say {' and '.join(asked[name][1] for name in lacking)};"
        f" `gesscale latency-map` takes this as {' and '.join(f'--{name}' for name in lacking)}"
    )
    raise LatencyMapError(message)


def _refuse_impossible(source: str, raw: RawDelays, unit: DelayUnit, kind: DelayKind) -> None:
    fault = find_impossible(raw.values, unit=unit, kind=kind)
    if fault:
        problem = f"{raw.names[fault.row]} to {raw.names[fault.column]}: {fault.problem}"
        raise error_at(source, raw.place(fault.row, fault.column), problem)


def _to_survey(
    source: str, raw: RawDelays, unit: DelayUnit, kind: DelayKind
) -> tuple[Survey, tuple[str, ...]]:
    """Make the round trips of delays, in the memory where they are, and return notes on what was done."""
    notes = raw.notes
    if kind is DelayKind.ONE_WAY:
        differing = count_differing(raw.values)
        notes += (
            "one-way delays of both directions added up, of one direction doubled; pairs that differ by direction:"
            f" {differing}",
        )
    rtt_ms = raw.values
    direct_round_trips(rtt_ms, unit=unit, kind=kind)
    to_itself = rtt_ms.diagonal()
    np.fill_diagonal(rtt_ms, np.where(np.isnan(to_itself), 0.0, to_itself))
    rtt_ms += 0.0  # -0.0 becomes 0.0
    rtt_ms.setflags(write=False)
    survey = Survey(names=raw.names, rtt_ms=rtt_ms, measured_at_s=raw.measured_at_s, origin=source)
    return survey, notes


def _check_side_files(source: str, form: MapForm, side_files: SideFiles) -> None:
    for name, forms in _WANTS.items():
        if getattr(side_files, name) is not None and form not in forms:
            option = {"probed_from": "--source"}.get(name, f"--{name}")
            listed = ", ".join(sorted(forms))
            message = (
                f"{source}: expected no {option} with a file of the form {form.value}; it is for {listed}"
            )
            raise LatencyMapError(message)
