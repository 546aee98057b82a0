"""What readers take and give: the text of a map, compressed or not; what belongs to it; delays as the file has them."""

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from gesscale.common.errors import cause_of
from latency_map.delays import Delays
from latency_map.errors import LatencyMapError, error_at
from latency_map.formats.json_text import Json, parse_json
from latency_map.kinds import DelayKind, DelayUnit
from latency_map.limits import DEFAULT_LIMITS, MapLimits
from latency_map.names import find_name_fault

#: From row and column of the matrix, counted from 0, to words such as ``line 3, column 4``; "" if unknown.
Place = Callable[[int, int], str]

_PIECE_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


class MapSource:
    """The text of a map."""

    def __init__(self, text: str, name: str, limits: MapLimits) -> None:
        self.text, self.name, self.limits = text, name, limits

    def lines(self) -> Iterator[str]:
        """Return its lines, ends included; each system's end of a line counts."""
        return (line.group() for line in _LINE.finditer(self.text))

    @cached_property
    def json(self) -> Json:
        """It, read as JSON; raises LatencyMapError where it is none."""
        return parse_json(self.text, self.name)

    def graph(self) -> str:
        """Return it as the text of a graph, which networkx takes many bytes for; raises where it is too long."""
        most = self.limits.graph_bytes
        _refuse_more(len(self.text), most, "characters of text in this form", self.name, self.limits)
        return self.text


def read_source(file: Path | str | BinaryIO, limits: MapLimits, name: str = "standard input") -> MapSource:
    """Read a text file in UTF-8, compressed by gzip or not, or the bytes of one, which have a name.

    Raises
    ------
    LatencyMapError
        It cannot be read, is not UTF-8, or is too long.
    """
    name = str(file) if isinstance(file, Path | str) else name
    most = limits.text_bytes
    try:
        if isinstance(file, Path | str):
            with Path(file).open("rb") as stream:
                content = _read_up_to(stream, most + 1)
        else:
            content = _read_up_to(file, most + 1)
        if content.startswith(_GZIP):
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as unpacked:
                content = _read_up_to(unpacked, most + 1)
        text = content.decode("utf-8-sig") if len(content) <= most else ""
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise LatencyMapError(
            f"{name}: expected a readable UTF-8 text file, got: {cause_of(error)}; correct the path or save it so"
        ) from None
    _refuse_more(len(content), most, "bytes of text", name, limits)
    return MapSource(text, name, limits)


def _refuse_more(count: int, most: int, counted: str, name: str, limits: MapLimits) -> None:
    if count > most:
        raise LatencyMapError(f"{name}: {limits.too_long(counted, most)}")


def _read_up_to(stream: BinaryIO | gzip.GzipFile, count: int) -> bytes:
    """Read as much as there is, where a pipe gives it in pieces."""
    content = bytearray()
    while len(content) < count and (piece := stream.read(min(_PIECE_BYTES, count - len(content)))):
        content += piece
    return bytes(content)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawDelays:
    """Delays as a file has them."""

    #: The n nodes.
    names: tuple[str, ...]
    #: Shape ``(n, n)``, row to column, in the file's unit; NaN where missing. The import makes its round
    #: trips of it in place.
    values: Delays
    #: Where a delay stands in the file.
    place: Place
    #: What the file itself says of the delays; None where it does not (unit, kind).
    unit: DelayUnit | None = None
    kind: DelayKind | None = None
    #: Where it says so, for messages.
    stated_at: str = ""
    #: When they were measured, in seconds since the epoch; None where the file does not say.
    measured_at_s: float | None = None
    #: What the reader took for what, for people.
    notes: tuple[str, ...] = ()
    #: What to be careful with, for people.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFiles:
    """What belongs to a file and is not in it."""

    #: The nodes of a matrix that has none, in its order; None to make them up.
    names: tuple[str, ...] | None = None
    #: The node that sent the pings of a file that does not name it; None where it does.
    probed_from: str | None = None


NO_SIDE_FILES = SideFiles()


def read_names(file: Path | str, limits: MapLimits = DEFAULT_LIMITS) -> tuple[str, ...]:
    """Read names of nodes for `SideFiles`, one on every line; raises LatencyMapError where it cannot be read."""
    return tuple(name for line in read_source(file, limits).lines() if (name := line.strip()))


def check_file_names(source: str, names: Sequence[str], limits: MapLimits | None = None) -> None:
    """Refuse names that no latency map can have, naming the file; without limits where they were counted already.

    Raises
    ------
    LatencyMapError
        There is none or there are too many, one is empty or not printable, or one occurs twice.
    """
    if limits and len(names) > limits.nodes:
        raise error_at(source, "", limits.too_many_nodes(str(len(names))))
    fault = find_name_fault(names)
    if fault:
        raise error_at(source, "", fault[1])
