"""The shell commands and the YAML of the pages that a newcomer follows, and the comment before each.

A block of commands is run as it stands (tests/real/docs/test_commands.py), unless an HTML comment directly before
it says otherwise::

    <!-- not run: needs a k3s cluster -->
    <!-- run by: tests/real/test_release.py -->

Shell is what is indented, or fenced without a language. Other text is fenced with one, such as ``text`` or ``json``.
Only commands that change nothing outside the current folder are run; for any other one a comment is asked for.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]
PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "examples").rglob("*.md")),
    *sorted((ROOT / "docs" / "start").glob("*.md")),
    *sorted((ROOT / "docs" / "howto").glob("*.md")),
)
_MARK = re.compile(r"<!-- (not run|run by): (.+?) -->", re.DOTALL)
_PARSER = MarkdownIt("commonmark").enable("table")
_KINDS = {"": "shell", "sh": "shell", "bash": "shell", "console": "shell"}
_HARMLESS = ("gesscale ", "python -c ", "openssl rand ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of a page."""

    page: Path
    line: int
    kind: str
    text: str
    not_run: str
    run_by: str

    @property
    def is_run(self) -> bool:
        """Whether it is run as it stands."""
        return self.kind == "shell" and not (self.not_run or self.run_by)

    @property
    def is_harmless(self) -> bool:
        """Whether each of its lines begins with a command that may be run on any machine."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return all(line.startswith(_HARMLESS) for line in lines if line and not line.startswith("#"))

    @property
    def name(self) -> str:
        """Its place, for people."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page in their order."""
    before = None
    for token in _PARSER.parse(page.read_text("utf-8")):
        if token.type in {"code_block", "fence"}:
            comment = before.content if before is not None and before.type == "html_block" else ""
            marks = {name: " ".join(text.split()) for name, text in _MARK.findall(comment)}
            language = token.info.split()[0] if token.info else ""
            yield Block(
                page=page,
                line=token.map[0] + 1,
                kind=_KINDS.get(language, language),
                text=token.content,
                not_run=marks.get("not run", ""),
                run_by=marks.get("run by", ""),
            )
        before = token


def blocks(kind: str) -> list[Block]:
    """Return all blocks of a kind."""
    return [block for page in PAGES for block in blocks_of(page) if block.kind == kind]
