"""Draws the picture of `docs/explanation/architecture.md` from the imports: ``python tests/architecture.py``."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import grimp
import networkx as nx

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "architecture.svg"
_ALONE = {"gesscale.loop", "gesscale.assembly", "gesscale.ports"}
_ACROSS, _DOWN, _BOX = 150, 62, 28
_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" \
font-family="sans-serif" font-size="14" text-anchor="middle" fill="none" stroke="#557">
<style>rect {{ fill: #eef; }} text {{ fill: #223; stroke: none; }}</style>
<rect width="100%" height="100%" style="fill: #fff" stroke="none"/>
<marker id="tip" markerWidth="8" markerHeight="8" refX="4" refY="4" orient="auto"><path d="M 0 0 L 8 4 L 0 8 z" \
fill="#557" stroke="none"/></marker>"""


def rooms() -> nx.DiGraph:
    """Return which package of gesscale imports which, and its neighbours; an arrow that others imply is left out."""
    graph = grimp.build_graph("gesscale", "latency_map", "perfmodel", "testbed", include_external_packages=False)
    packages = {module for module in graph.modules if graph.find_children(module)}
    found = nx.DiGraph()
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            one, other = _room(importer, packages), _room(imported, packages)
            if one and other and one != other:
                found.add_edge(one, other)
    whole = nx.condensation(found)  # rooms that import each other would be drawn as one
    drawn = nx.transitive_reduction(whole)
    names = {node: " and ".join(sorted(whole.nodes[node]["members"])) for node in whole}
    return nx.relabel_nodes(drawn, names)


def _room(module: str, packages: set[str]) -> str:
    first, *more = module.split(".")
    if first != "gesscale":
        return first
    if not more:
        return ""
    room = f"gesscale.{more[0]}"
    return room if room in packages or room in _ALONE else ""


def picture() -> str:
    """Return the picture as SVG: an arrow leads down, from who imports to who is imported."""
    graph = rooms()
    rows, paths = _rows(graph)
    middle = {
        each: _middle(row, index, rows) for row, each_row in enumerate(rows) for index, each in enumerate(each_row)
    }
    lines = [_arrow([middle[each] for each in path]) for path in paths]
    boxes = [_box(name.removeprefix("gesscale."), *middle[name]) for name in sorted(graph)]
    width, height = _ACROSS * max(map(len, rows)), _DOWN * len(rows)
    return "\n".join((_HEAD.format(width=width, height=height), *lines, *boxes, "</svg>\n"))


def _rows(graph: nx.DiGraph) -> tuple[list[list[str]], list[list[str]]]:
    """Return who stands in which row, from left to right, and the way of each arrow through the rows between."""
    row: dict[str, int] = {}
    for name in nx.lexicographical_topological_sort(graph):
        row[name] = max((row[other] + 1 for other in graph.predecessors(name)), default=0)
    paths = [
        [one, *(f"{one} {other} {at}" for at in range(row[one] + 1, row[other])), other]
        for one, other in sorted(graph.edges)
    ]
    rows: list[list[str]] = [[] for _ in range(max(row.values()) + 1)]
    for name in sorted(row):
        rows[row[name]].append(name)
    for path in paths:
        for at, between in enumerate(path[1:-1], row[path[0]] + 1):
            rows[at].append(between)
    links = nx.Graph(step for path in paths for step in pairwise(path))
    for sweep in range(40):  # each stands in the mean of its neighbours above, then of those below
        for at, other in list(pairwise(range(len(rows)))) if sweep % 2 else list(pairwise(range(len(rows))[::-1])):
            place = {name: _middle(at, index, rows)[0] for index, name in enumerate(rows[at])}
            rows[other].sort(key=lambda name: _mean(place[each] for each in links[name] if each in place))
    return rows, paths


def _mean(places: Iterable[float]) -> float:
    known = list(places)
    return sum(known) / len(known) if known else 0.0


def _middle(row: int, index: int, rows: list[list[str]]) -> tuple[float, float]:
    spare = (max(map(len, rows)) - len(rows[row])) / 2
    return (spare + index + 0.5) * _ACROSS, (row + 0.5) * _DOWN


def _arrow(points: list[tuple[float, float]]) -> str:
    way = " ".join(
        f"C {x0:g} {y0 + _DOWN / 2:g} {x1:g} {y1 - _DOWN / 2:g} {x1:g} {y1:g}"
        for (x0, y0), (x1, y1) in pairwise([*points[:-1], (points[-1][0], points[-1][1] - _BOX / 2 - 6)])
    )
    return f'<path d="M {points[0][0]:g} {points[0][1]:g} {way}" marker-end="url(#tip)"/>'


def _box(name: str, x: float, y: float) -> str:
    width = 8.2 * len(name) + 16
    return (
        f'<rect x="{x - width / 2:g}" y="{y - _BOX / 2:g}" width="{width:g}" height="{_BOX}" rx="5"/>'
        f'<text x="{x:g}" y="{y + 5:g}">{name}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
