"""Draws the picture of `docs/explanation/architecture.md` from the imports: ``python tests/architecture.py``."""

import re
from pathlib import Path

import grimp
import networkx as nx

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "architecture.md"
_PICTURE = re.compile(r"```mermaid\n.*?```", re.DOTALL)
_VALUES = {f"gesscale.{name}" for name in ("ports", "order", "decision", "observation", "workflow")}
_ALONE = {"gesscale.loop", "gesscale.assembly"}


def rooms() -> nx.DiGraph:
    """Return which package of gesscale imports which, and its neighbours; an arrow that others imply is left out."""
    graph = grimp.build_graph(
        "gesscale", "latency_map", "perfmodel", "testbed", include_external_packages=False
    )
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
    if room in packages or room in _ALONE:
        return room
    return "ports, order, decision, observation, workflow" if room in _VALUES else ""


def picture() -> str:
    """Return the picture in the language of mermaid, which GitHub draws."""
    graph = rooms()
    order = sorted(graph)
    ids = {name: f"r{number}" for number, name in enumerate(order)}
    lines = [f'    {ids[name]}["{name.removeprefix("gesscale.")}"]' for name in order]
    lines += [f"    {ids[one]} --> {ids[other]}" for one, other in sorted(graph.edges)]
    return "\n".join(("```mermaid", "graph TD", *lines, "```"))


def page_with_picture() -> str:
    """Return the page as it is to be."""
    return _PICTURE.sub(lambda _: picture(), PAGE.read_text("utf-8"))


if __name__ == "__main__":
    PAGE.write_text(page_with_picture(), "utf-8")
