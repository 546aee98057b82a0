"""Files of the page: JavaScript modules, a style sheet and an HTML document; served, or put into one file.

The modules are joined into one script in the order of their imports, without import statements and the word export. So
a name must mean the same in all modules.
"""

import hashlib
import re
from functools import cache
from importlib.metadata import version
from importlib.resources import files

_FOLDER = files("gesscale.service") / "page"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=async |function |const |let |class )", re.MULTILINE)
_FIRST = "main.js"


@cache
def page_html() -> bytes:
    """Return the HTML document."""
    return _text("page.html").replace("BUILD", build_number()).encode()


@cache
def page_style() -> bytes:
    """Return the style sheet."""
    return _text("page.css").encode()


@cache
def page_script() -> bytes:
    """Return all modules as one script."""
    joined: dict[str, str] = {}
    _join(_FIRST, joined)
    return "\n".join(joined.values()).encode()


@cache
def build_number() -> str:
    """Return a hash that identifies this version of the page."""
    parts = (version("gesscale").encode(), _text("page.html").encode(), page_style(), page_script())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def _join(name: str, joined: dict[str, str]) -> None:
    """Append a module after those that it imports."""
    if name in joined:
        return
    text = _text(name)
    for imported in _IMPORT.findall(text):
        _join(imported, joined)
    joined[name] = _EXPORT.sub("", _IMPORT.sub("", text)).strip() + "\n"


def _text(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")
