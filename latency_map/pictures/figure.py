"""Common parts of both pictures: an empty figure, colours, labels and the output file."""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gesscale.common.errors import cause_of
from latency_map.errors import LatencyMapError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Distinguishable with colour blindness (Okabe and Ito, 2008).
CLUSTER_COLOURS = ("#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#8C8C00")

#: Colour of placements and their NDmax, which no cluster has.
MEMBER_COLOUR = "#D55E00"

_SUFFIXES = (".png", ".svg")
_MAX_NAME_CHARACTERS = 32
_MAX_PIXELS = 2600
_DPI = 150


def blank_figure(width_in: float, height_in: float) -> "Figure":
    """Return an empty figure of a size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in, height_in))


def picture_path(path: Path | str) -> Path:
    """Return the path of a picture.

    Raises
    ------
    LatencyMapError
        The suffix is neither .png nor .svg.
    """
    file = Path(path)
    if file.suffix.lower() not in _SUFFIXES:
        raise LatencyMapError("picture-suffix-unknown", source=str(path), suffixes=" or ".join(_SUFFIXES))
    return file


def save(figure: "Figure", path: Path | str) -> None:
    """Save a figure to a file; equal figures produce equal bytes.

    Raises
    ------
    LatencyMapError
        The file has another suffix or cannot be written.
    """
    import matplotlib as mpl

    file = picture_path(path)
    svg = file.suffix.lower() == ".svg"
    dpi = min(_DPI, _MAX_PIXELS / max(figure.get_size_inches()))
    try:
        with mpl.rc_context({"svg.hashsalt": "latency-map"}):
            figure.savefig(file, dpi=dpi, metadata={"Date": None} if svg else None)
    except OSError as error:
        raise LatencyMapError("file-unwritable", source=str(path), cause=cause_of(error)) from None


def format_ms(delay_ms: float) -> str:
    """Format a delay with three digits and without an exponent."""
    if delay_ms == 0 or math.isnan(delay_ms):
        return f"{delay_ms:g}"
    decimals = max(0, 2 - math.floor(math.log10(abs(delay_ms))))
    text = f"{delay_ms:.{min(decimals, 3)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def node_labels(names: Sequence[str]) -> dict[str, str]:
    """Return a label for each name: without the common domain, long ones cut in the middle.

    If two labels would be equal, all labels are the full names.
    """
    hosts, domains = zip(*(name.partition(".")[::2] for name in names), strict=True)
    bare = hosts if len(names) > 1 and len(set(domains)) == 1 else names
    labels = [_cut(name) for name in bare]
    return dict(zip(names, labels if len(set(labels)) == len(labels) else names, strict=True))


def wrap_line(text: str, characters: int) -> str:
    """Wrap text to lines of a maximum length."""
    return "\n".join(textwrap.wrap(text, max(characters, _MAX_NAME_CHARACTERS), break_on_hyphens=False))


def count_noun(number: int, noun: str) -> str:
    """Format a number with its noun: ``1 node``, ``2 nodes``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _cut(name: str) -> str:
    half = _MAX_NAME_CHARACTERS // 2
    return name if len(name) <= _MAX_NAME_CHARACTERS else f"{name[: half - 1]}…{name[-half:]}"
