"""Figures as SVG inside the page: coloured by its style sheet, small, the same bytes for the same results."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from gesscale.errors import InputError
from gesscale.extras import how_to_install

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType

ROLES = (
    "ink",
    "muted",
    "grid",
    "paper",
    "input",
    "processed",
    "demand",
    "supply",
    "serving",
    "over",
    "under",
    "backlog",
)
POLICY_COLOURS = 8
"""The style sheet has so many colours of policies; more policies begin again, with another marker."""

POLICY_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
POLICY_SIGNS = "●■▲◆▼✚✖◀▶⬟⬢"
"""What stands for the markers in a legend."""

_LONGEST_NAME = 20
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_COLOUR = re.compile(r"#0000([0-9a-f]{2})")
_DECIMALS = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_REFERENCE = re.compile(r"#([\w-]+)")


def colour(role: str) -> str:
    """Return what stands for a colour of the page in a figure, until `as_element` puts the style sheet's there."""
    return f"#0000{ROLES.index(role) + 1:02x}"


def policy_colour(index: int) -> str:
    """Return what stands for the colour of a policy, by its position in the experiment."""
    return f"#0000{100 + index % POLICY_COLOURS:02x}"


def policy_marker(index: int) -> str:
    """Return the matplotlib marker of a policy, by its position in the experiment."""
    return POLICY_MARKERS[index % len(POLICY_MARKERS)]


def mark_policy(ax: "Axes", x: float, y: float, index: int, *, size: float) -> None:
    """Draw a policy's marker, by its position in the experiment; it may reach over the edge of the axes."""
    ax.plot(
        x,
        y,
        policy_marker(index),
        color=policy_colour(index),
        markersize=size,
        markeredgecolor=colour("paper"),
        markeredgewidth=1.2,
        clip_on=False,
        zorder=5,
    )


def dot_runs(ax: "Axes", x: Sequence[float], y: Sequence[float], index: int) -> None:
    """Draw the single runs of a policy, small and pale."""
    marker, shown = policy_marker(index), policy_colour(index)
    ax.plot(x, y, marker, color=shown, markersize=4, alpha=0.4, markeredgewidth=0)


def name_axes(ax: "Axes", text: str, *, x: float) -> None:
    """Write over axes what goes up, from a place on; 0 is their left edge, 1 their right one."""
    ax.set_title(text, loc="left", x=x, fontsize=11, color=colour("ink"), pad=6)


def in_figure(name: str) -> str:
    """Return a name as a figure has room for it: cut in the middle, what cannot be printed replaced."""
    shown = "".join(sign if sign.isprintable() else "�" for sign in name)
    half = _LONGEST_NAME // 2
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[: half - 1]}…{shown[-half:]}"


@contextmanager
def blank_figure(width: float, height: float) -> "Iterator[Figure]":
    """Give an empty figure of so many CSS pixels, to be drawn and turned into an element within the block.

    Raises
    ------
    InputError
        Matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        message = f"report: expected matplotlib, it is not installed; {how_to_install('report')}"
        raise InputError(message) from None
    settings: dict[RcKeyType, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "gesscale-arena",
        "font.family": "sans-serif",
        "font.size": 11,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "path.simplify_threshold": 0.2,
    }
    with mpl.rc_context(settings):
        yield Figure(figsize=(width / 72, height / 72), dpi=72, facecolor="none")


def quiet_axes(ax: "Axes") -> None:
    """Give axes the page's look: horizontal grid lines, no box, no ticks."""
    ax.set_facecolor("none")
    ax.grid(visible=True, axis="y", color=colour("grid"), linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(bottom=False, left=False, labelcolor=colour("muted"), labelsize=10.5)
    ax.spines["left"].set_visible(False)
    ax.spines["bottom"].set_color(colour("grid"))


def as_element(figure: "Figure", key: str, label: str) -> str:
    """Return a figure as an ``svg`` element.

    Parameters
    ----------
    figure
        Drawn in the colours of `colour` and `policy_colour`.
    key
        Put before its ids; unique in the page.
    label
        What it shows, for those who cannot see it.

    Returns
    -------
    str
        Markup that is safe to put into HTML; every text in it is escaped.
    """
    stream = io.StringIO()
    figure.savefig(
        stream, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None}
    )
    root = ET.fromstring(stream.getvalue())  # noqa: S314 - matplotlib wrote it a line ago
    width, height = (float(root.attrib.pop(side).removesuffix("pt")) for side in ("width", "height"))
    root.attrib.update(
        {"viewBox": f"0 0 {width:g} {height:g}", "role": "img", "aria-label": label, "class": "chart"}
    )
    root.attrib.pop("version", None)
    root.set("style", f"--w:{width:g}")
    _drop_what_the_page_says(root)
    _rename_ids(root, key)
    for element in root.iter():
        _tidy(element)
    ET.register_namespace("", _SVG[1:-1])
    text = ET.tostring(root, encoding="unicode")
    return re.sub(r">\s+<", "><", text)


def _drop_what_the_page_says(root: ET.Element) -> None:
    for child in root.findall(f"{_SVG}metadata"):
        root.remove(child)
    for parent in list(root.iter()):
        for style in parent.findall(f"{_SVG}style"):
            parent.remove(
                style
            )  # it would hold for the whole page, whose own style sheet says the same of charts


def _rename_ids(root: ET.Element, key: str) -> None:
    used = {
        found
        for element in root.iter()
        for name, value in element.attrib.items()
        if name == _LINK or value.startswith("url(")
        for found in _REFERENCE.findall(value)
    }
    for element in root.iter():
        identifier = element.attrib.pop("id", None)
        if identifier in used:
            element.set("id", f"{key}-{identifier}")
        for name, value in list(element.attrib.items()):
            if name == _LINK:
                element.set("href", _REFERENCE.sub(rf"#{key}-\1", element.attrib.pop(name)))
            elif value.startswith("url("):
                element.set(name, _REFERENCE.sub(rf"#{key}-\1", value))


def _tidy(element: ET.Element) -> None:
    for name in ("d", "x", "y", "width", "height", "transform", "points"):
        if name in element.attrib:
            element.set(name, " ".join(_DECIMALS.sub(_shorter, element.attrib[name]).split()))
    if "style" in element.attrib:
        declared = dict(part.split(":", 1) for part in element.attrib["style"].split("; ") if ":" in part)
        element.set("style", _styled(declared))
    if element.tag != f"{_SVG}text" and element.text and not element.text.strip():
        element.text = None
    if element.tail and not element.tail.strip():
        element.tail = None


def _styled(declared: Mapping[str, str]) -> str:
    kept = {
        name: value.strip()
        for name, value in declared.items()
        if name not in ("stroke-linejoin", "font-family")
    }
    if "font" in kept:  # '11px "DejaVu Sans", sans-serif': the page's own fonts are used
        kept["font-size"] = kept.pop("font").split(" ")[0]
    return ";".join(f"{name}:{_COLOUR.sub(_variable, value)}" for name, value in kept.items())


def _variable(match: re.Match[str]) -> str:
    number = int(match[1], 16)
    if number >= 100:
        return f"var(--p{number - 100})"
    return f"var(--{ROLES[number - 1]})" if 0 < number <= len(ROLES) else match[0]


def _shorter(match: re.Match[str]) -> str:
    return f"{float(match[0]):.1f}".removesuffix(".0")
