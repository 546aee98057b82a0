"""Links each page's first use of a word of the glossary to its meaning, which also shows where the pointer rests."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.typing import ExtensionMetadata

GLOSSARY = "docs/reference/glossary"
_FILE = Path(__file__).parent / "reference" / "glossary.md"
_LEFT_ALONE = (
    *(nodes.title, nodes.literal, nodes.literal_block, nodes.reference, nodes.doctest_block, nodes.rubric),
    *(addnodes.desc_signature, addnodes.toctree, addnodes.pending_xref, addnodes.download_reference),
)


@cache
def meanings() -> dict[str, str]:
    """Return what the glossary says of each word, in plain text; of words with two names by both."""
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| (.+) \|$", _FILE.read_text("utf-8"), re.MULTILINE)
    plain = re.compile(r"[`*]|\[(.*?)\]\(.*?\)")
    return {word: plain.sub(r"\1", text) for words, text in rows for word in re.split(r", | \(|\)", words) if word}


def anchor(word: str) -> str:
    """Return where a word is in the glossary."""
    return f"term-{nodes.make_id(word)}"


@cache
def pattern() -> re.Pattern[str]:
    """Return what finds a word: in one or several, small or capital; abbreviations as they are."""
    longest_first = sorted(meanings(), key=len, reverse=True)
    words = "|".join(re.escape(word) if word.isupper() else f"(?i:{re.escape(word)})(?:e?s)?" for word in longest_first)
    return re.compile(rf"(?<![\w.-])(?:{words})(?![\w-]|\.\w)")


def word_of(found: str) -> str:
    """Return the glossary's form of what was found."""
    known = {word.lower(): word for word in meanings()}
    forms = (found, found.lower(), found.lower().removesuffix("s"), found.lower().removesuffix("es"))
    return next(known[form.lower()] for form in forms if form.lower() in known)


class GlossaryLinks(SphinxPostTransform):
    """Links the words of one page; in the glossary itself it makes the places that the links lead to."""

    default_priority = 900
    formats = ("html",)

    def run(self, **_kwargs: Any) -> None:
        """Change the page."""
        if self.env.docname == GLOSSARY:
            for word in self.document.findall(nodes.strong):
                names = re.split(r", | \(|\)", word.astext())
                word["ids"] += [anchor(name) for name in names if name]
            return
        address = self.app.builder.get_relative_uri(self.env.docname, GLOSSARY)
        seen: set[str] = set()
        for text in list(self.document.findall(nodes.Text)):
            if not _is_within(text, _LEFT_ALONE):
                parts = linked(text.astext(), address, seen)
                if len(parts) > 1:
                    text.parent.replace(text, parts)


def linked(text: str, address: str, seen: set[str]) -> list[nodes.Node]:
    """Return a text with its words that were not seen yet as links to the page of that address."""
    parts: list[nodes.Node] = []
    end = 0
    for match in pattern().finditer(text):
        word = word_of(match[0])
        if word in seen:
            continue
        seen.add(word)
        link = nodes.reference("", match[0], internal=True, refuri=f"{address}#{anchor(word)}")
        link["reftitle"], link["classes"] = meanings()[word], ["term"]
        parts += [nodes.Text(text[end : match.start()]), link]
        end = match.end()
    return [*parts, nodes.Text(text[end:])]


def _is_within(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the links."""
    app.add_post_transform(GlossaryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
