"""The text of a map: a file, a stream or a string, compressed or not, and not longer than its nodes can need."""

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from gesscale.common.errors import cause_of
from latency_map.errors import LatencyMapError
from latency_map.formats.json_text import Json, parse_json
from latency_map.limits import MapLimits

_PIECE_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


class MapSource:
    """The text of a map.

    Parameters
    ----------
    text
        All of it.
    name
        Names it in messages.
    limits
        How large the map in it may be.
    """

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
        message = (
            f"{name}: expected a readable UTF-8 text file, got: {cause_of(error)};"
            " correct the path or save it so"
        )
        raise LatencyMapError(message) from None
    _refuse_more(len(content), most, "bytes of text", name, limits)
    return MapSource(text, name, limits)


def _refuse_more(count: int, most: int, counted: str, name: str, limits: MapLimits) -> None:
    if count > most:
        message = f"{name}: {limits.too_long(counted, most)}"
        raise LatencyMapError(message)


def _read_up_to(stream: BinaryIO | gzip.GzipFile, count: int) -> bytes:
    """Read as much as there is, where a pipe gives it in pieces."""
    content = bytearray()
    while len(content) < count and (piece := stream.read(min(_PIECE_BYTES, count - len(content)))):
        content += piece
    return bytes(content)
