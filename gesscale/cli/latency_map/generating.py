"""``gesscale latency-map generate``: made-up maps, for tests, plans and emulation."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import typer

from gesscale.cli.latency_map.looking import facts_table
from gesscale.cli.latency_map.reading import plain_errors
from gesscale.cli.output import Output, emit, stderr_console
from gesscale.errors import InputError
from latency_map import write_survey
from latency_map.delays import Delays
from latency_map.formats.document import survey_to_document
from latency_map.generate.places import random_places, read_places
from latency_map.generate.survey import Flaws, Generated, generate, node_names
from latency_map.generate.topologies import Clusters, Span, clustered, geographic, star
from latency_map.summary import summarise

WARNED_FROM_RATIO = 0.005
"""A share of broken triangles that is farther than this from the one asked for is warned of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapRequest:
    """What each generated map is asked for, whatever its shape."""

    broken_triangles: float | None
    asymmetry: float
    missing: float
    seed: int
    target: Path | None
    output: Output

    @property
    def flaws(self) -> Flaws:
        """What is to be wrong with it."""
        return Flaws(
            broken_triangles_ratio=self.broken_triangles,
            asymmetry_ratio=self.asymmetry,
            missing_ratio=self.missing,
        )


def make_star(
    *,
    nodes: int,
    access_ms: str,
    request: MapRequest,
) -> None:
    """Generate a star: every node hangs on a hub; a pair's round trip is the sum of both to the hub."""
    with plain_errors():
        rng, for_flaws = np.random.default_rng(request.seed).spawn(2)
        rtt_ms = star(rng, nodes, _span("--access-ms", access_ms))
        command = _retype("star", nodes=nodes, access_ms=access_ms, seed=request.seed)
        _deliver(for_flaws, node_names(nodes), rtt_ms, command, request)


def make_clustered(
    *,
    nodes: int,
    clusters: int,
    within_ms: str,
    between_ms: str,
    noise: float,
    request: MapRequest,
) -> None:
    """Generate clusters of nodes: near to each other inside, far between; every pair differs a little."""
    with plain_errors():
        rng, for_flaws = np.random.default_rng(request.seed).spawn(2)
        within, between = _span("--within-ms", within_ms), _span("--between-ms", between_ms)
        parameters = Clusters(count=clusters, within=within, between=between, noise=noise)
        rtt_ms = clustered(rng, nodes, parameters)
        options = {"clusters": clusters, "within_ms": within_ms, "between_ms": between_ms, "noise": noise}
        command = _retype("clustered", nodes=nodes, **options, seed=request.seed)
        _deliver(for_flaws, node_names(nodes), rtt_ms, command, request)


def make_geographic(
    *,
    nodes: int | None,
    coordinates: Path | None,
    box: str,
    factor: float,
    access_ms: str,
    request: MapRequest,
) -> None:
    """Generate from places: the great circle at the speed of light in fibre, times a factor, plus access."""
    if (nodes is None) == (coordinates is None):
        message = "generate geographic: expected either --nodes or --coordinates; say one of them"
        raise InputError(message)
    with plain_errors():
        rng, for_flaws = np.random.default_rng(request.seed).spawn(2)
        if coordinates is not None:
            places = read_places(coordinates)
            where: dict[str, object] = {"coordinates": coordinates.name}
        else:
            places = random_places(rng, node_names(nodes or 0), _box(box))
            where = {"nodes": nodes, "box": box}
        rtt_ms = geographic(rng, places, _span("--access-ms", access_ms), factor)
        command = _retype("geographic", **where, factor=factor, access_ms=access_ms, seed=request.seed)
        names = [place.name for place in places]
        _deliver(for_flaws, names, rtt_ms, command, request)


def _deliver(
    rng: np.random.Generator,
    names: Sequence[str],
    rtt_ms: Delays,
    command: str,
    request: MapRequest,
) -> None:
    flaws, target = request.flaws, request.target
    asked = {
        "broken_triangles": flaws.broken_triangles_ratio,
        "asymmetry": flaws.asymmetry_ratio or None,
        "missing": flaws.missing_ratio or None,
    }
    origin = command + _options({name: ratio for name, ratio in asked.items() if ratio is not None})
    generated = generate(rng, names, rtt_ms, flaws, origin=origin)
    _warn_of_more(flaws, generated)
    if target is None:
        typer.echo(survey_to_document(generated.survey), nl=False)
        stderr_console.print(_sentence(generated))
        return
    write_survey(generated.survey, target)
    document = _document(generated, target)
    emit(document, request.output, [facts_table(str(target), document.items())])


def _warn_of_more(flaws: Flaws, generated: Generated) -> None:
    asked, got = flaws.broken_triangles_ratio, generated.broken_triangles_ratio
    if asked is not None and got is not None and abs(got - asked) > WARNED_FROM_RATIO:
        stderr_console.print(
            f"warning: broken triangles: {asked:.2%} asked for, {got:.2%} measured: asymmetry and missing pairs,"
            " and maps of few nodes, move the share"
        )


def _document(generated: Generated, target: Path) -> dict[str, object]:
    summary = summarise(generated.survey, now_s=0.0)
    return {
        "map": str(target),
        "origin": generated.survey.origin,
        "nodes": summary.nodes,
        "pairs": summary.pairs,
        "missing_pairs": summary.missing_pairs,
        "median_ms": summary.median_ms,
        "max_ms": summary.max_ms,
        "asymmetric_ratio": summary.asymmetric_ratio,
        "detours": generated.triangles.judged,
        "detours_shorter": generated.triangles.broken,
        "broken_triangles_ratio": generated.broken_triangles_ratio,
        "clusters_found": len(summary.clusters),
    }


def _sentence(generated: Generated) -> str:
    ratio = generated.broken_triangles_ratio
    broken = "" if ratio is None else f", {ratio:.2%} of the detours shorter than the direct way"
    return f"{generated.survey.origin}: {len(generated.survey)} nodes{broken}"


def _retype(topology: str, **options: object) -> str:
    return f"gesscale latency-map generate {topology}{_options(options)}"


def _options(options: dict[str, object]) -> str:
    return "".join(f" --{name.replace('_', '-')} {value}" for name, value in options.items())


def _span(option: str, text: str) -> Span:
    low_ms, high_ms = _numbers(option, text, 2)
    return Span(low_ms=low_ms, high_ms=high_ms)


def _box(text: str) -> tuple[float, float, float, float]:
    south, west, north, east = _numbers("--box", text, 4)
    return south, west, north, east


def _numbers(option: str, text: str, count: int) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        message = f"{option}: expected {count} numbers separated by commas, got {text!r}"
        raise InputError(message)
    return numbers
