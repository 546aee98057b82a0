"""Every link between the files of this repository leads somewhere, to the heading that it names."""

import re
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
ROOMS = ("benchmarks", "deploy", "docs", "examples", "gesscale", "latency_map", "perfmodel", "testbed", "tests")
PAGES = sorted([*ROOT.glob("*.md"), *(page for room in ROOMS for page in (ROOT / room).rglob("*.md"))])
_PARSER = MarkdownIt("commonmark").enable("table")


@cache
def _tokens(page: Path) -> list[Token]:
    return _PARSER.parse(page.read_text("utf-8"))


def _links(page: Path) -> set[str]:
    inline = [token for block in _tokens(page) for token in block.children or ()]
    targets = {str(token.attrGet("href") or token.attrGet("src") or "") for token in inline}
    return {target for target in targets if target and not re.match(r"[a-z]+:", target)}


@cache
def _anchors(page: Path) -> set[str]:
    """Return what a Git host calls the headings of a page: lower case, without punctuation, hyphens for blanks."""
    tokens = _tokens(page)
    anchors: Counter[str] = Counter()
    for opening, heading in pairwise(tokens):
        if opening.type == "heading_open":
            words = "".join(token.content for token in heading.children or ()).lower()
            anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            anchors[anchor] += 1
    repeated = {f"{anchor}-{n}" for anchor, times in anchors.items() for n in range(1, times)}
    return anchors.keys() | repeated


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    lost = []
    for link in sorted(_links(page)):
        path, _, anchor = unquote(link).partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            lost.append(link)
    assert lost == []


def test_the_pages_are_those_of_the_repository() -> None:
    rooms = {page.relative_to(ROOT).parts[:2] for page in PAGES}
    assert {("README.md",), ("docs", "README.md"), ("docs", "howto"), ("examples", "README.md")} <= rooms
    assert any("#" in link for page in PAGES for link in _links(page))


def test_every_page_of_the_docs_is_in_an_index() -> None:
    indexes = list((ROOT / "docs").rglob("README.md"))
    listed = {(index.parent / link.partition("#")[0]).resolve() for index in indexes for link in _links(index)}
    pages = set((ROOT / "docs").rglob("*.md")) - {ROOT / "docs" / "README.md"}
    assert {str(page.relative_to(ROOT)) for page in pages - listed} == set()
