"""How the Markdown of this repository becomes a site: ``make docs``.

The pages stay what a Git host shows. So the root of the site is that of the repository, its order is that of the lists in
``docs/README.md``, and there is no page of which the Markdown holds more than headings, text and links.
"""

import re
from importlib.metadata import version as version_of
from pathlib import Path, PurePosixPath

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

ROOT = Path(__file__).parents[1]
INDEX = "docs/README"

project = "gesscale"
author = "the authors of gesscale"
copyright = "the authors of gesscale, Apache License 2.0"  # noqa: A001 - Sphinx names it
version = release = version_of("gesscale")

root_doc = INDEX
source_suffix = {".md": "markdown"}
include_patterns = ["*.md", "docs/**", "examples/**", "deploy/k3s/*.md", "testbed/workloads/data/*.md"]
exclude_patterns = [".*", "build", "dist", "shared", "reports"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
nitpicky = False
myst_heading_anchors = 4  # the anchors of a Git host
myst_enable_extensions = ["colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
default_role = "code"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"gesscale {release}"
html_additional_pages = {"index": "index.html"}
html_copy_source = False
html_show_sourcelink = False
templates_path = ["_templates"]
html_theme_options = {"top_of_page_buttons": []}


def add_toctrees(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Make the lists of the index the site's order: each section's links become one part of the sidebar."""
    folder = PurePosixPath(docname).parent
    if docname.endswith("/README") and docname != INDEX and folder.is_relative_to("docs"):
        pages = sorted(set(re.findall(r"\]\(([\w]+\.md)\)", source[0])))
        source[0] += _toctree("", pages)
    if docname != INDEX:
        return
    parts = re.split(r"^## (.+)$", source[0], flags=re.MULTILINE)
    for caption, text in zip(parts[1::2], parts[2::2], strict=True):
        pages = re.findall(r"\]\(([^)#:]+\.md)\)", text)
        source[0] += _toctree(f":caption: {caption}\n", pages)


def _toctree(caption: str, pages: list[str]) -> str:
    return "\n".join(("\n```{toctree}", f":hidden:\n{caption}", *pages, "```\n"))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the hook."""
    app.connect("source-read", add_toctrees)
    return {"parallel_read_safe": True}
