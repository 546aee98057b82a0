"""How the Markdown of this repository becomes a site: ``make docs``.

The pages stay what a Git host shows. So the root of the site is that of the repository, and its order is that of the
lists in ``docs/README.md``. What ``--help`` says of each command is added while the site is built.
"""

import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path, PurePosixPath
from typing import Any, get_type_hints

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from typer import Context
from typer.cli import get_docs_for_click
from typer.main import get_command

from gesscale.cli.app import app

ROOT = Path(__file__).parents[1]
INDEX = "docs/README"
COMMANDS = "docs/reference/commands"

project = "gesscale"
author = "the authors of gesscale"
copyright = "the authors of gesscale, Apache License 2.0"  # noqa: A001 - Sphinx names it
version = release = version_of("gesscale")

root_doc = INDEX
source_suffix = {".md": "markdown"}
include_patterns = ["*.md", "docs/**", "examples/**", "deploy/k3s/*.md", "testbed/workloads/data/*.md"]
exclude_patterns = [".*", "build", "dist", "shared", "reports"]
sys.path.insert(0, str(ROOT / "docs"))
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "glossary_links"]
nitpicky = False
myst_heading_anchors = 4  # the anchors of a Git host
myst_enable_extensions = ["colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
default_role = "code"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"gesscale {release}"
html_additional_pages = {"index": "index.html"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
templates_path = ["_templates"]
html_theme_options = {"top_of_page_buttons": []}


def complete(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Add to a page what the site has beside its Markdown.

    The lists of an index become the site's order: each section's links are one part of the sidebar. A link that shows
    the name of a file shows the title of its page.
    """
    source[0] = re.sub(r"\[[\w./]+\.md\]\((?=[^)#:]+\.md[)#])", "[](", source[0])
    folder = PurePosixPath(docname).parent
    if docname.endswith("/README") and docname != INDEX and folder.is_relative_to("docs"):
        pages = sorted(set(re.findall(r"\]\(([\w-]+\.md)\)", source[0])))
        source[0] += _toctree("", pages)
    if docname == COMMANDS:
        source[0] += "\n## Every option\n\n" + every_option()
    if docname != INDEX:
        return
    parts = re.split(r"^## (.+)$", source[0], flags=re.MULTILINE)
    for caption, text in zip(parts[1::2], parts[2::2], strict=True):
        pages = re.findall(r"\]\(([^)#:]+\.md)\)", text)
        source[0] += _toctree(f":caption: {caption}\n", pages)


def every_option() -> str:
    """Return what ``--help`` says of each command, as Markdown."""
    command = get_command(app)
    text = get_docs_for_click(obj=command, ctx=Context(command), indent=2, name="gesscale")
    return re.sub(r"^(#{2,}) `(.+)`$", r"\1 \2", text, flags=re.MULTILINE)


def _toctree(caption: str, pages: list[str]) -> str:
    return "\n".join(("\n```{toctree}", f":hidden:\n{caption}", *pages, "```\n"))


def plain_types(_app: Sphinx, function: Any, _bound: bool) -> None:
    """Show the type of an argument without what pydantic is told of it."""
    if getattr(function, "__name__", "") == "__init__" and hasattr(function, "__annotations__"):
        function.__annotations__ = get_type_hints(function)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the hooks."""
    app.connect("source-read", complete)
    app.connect("autodoc-before-process-signature", plain_types)
    return {"parallel_read_safe": True}
