"""Input and output of format readers: the text of a map, files that belong to it, and raw delays."""

import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from gesscale.common.errors import cause_of
from latency_map.errors import LatencyMapError, error_of
from latency_map.formats.json_text import Json, parse_json
from latency_map.limits import DEFAULT_LIMITS, MapLimits
from latency_map.names import find_name_fault

_CHUNK_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BINARY = {b"PK\x03\x04": "a ZIP archive, such as XLSX", b"PAR1": "Parquet", b"SQLite": "SQLite", b"\x93NUMPY": "NumPy"}
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


class MapSource:
    """The text of a map."""

    def __init__(self, text: str, name: str, limits: MapLimits) -> None:
        self.text, self.name, self.limits = text, name, limits

    def lines(self) -> Iterator[str]:
        """Return the lines with their ends, which may be those of any system."""
        return (line.group() for line in _LINE.finditer(self.text))

    @cached_property
    def json(self) -> Json:
        """The text as JSON; raises LatencyMapError if it is not valid."""
        return parse_json(self.text, self.name)


def read_source(file: Path | str | BinaryIO, limits: MapLimits, name: str = "standard input") -> MapSource:
    """Read a text file in UTF-8, or in UTF-16 with its mark, or a stream of its bytes; both may be compressed by gzip.

    Raises
    ------
    LatencyMapError
        The file cannot be read, is in another encoding, or is too large.
    """
    name = str(file) if isinstance(file, Path | str) else name
    limit = limits.text_bytes
    try:
        if isinstance(file, Path | str):
            with Path(file).open("rb") as stream:
                content = _read_up_to(stream, limit + 1)
        else:
            content = _read_up_to(file, limit + 1)
        if content.startswith(_GZIP):
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as unpacked:
                content = _read_up_to(unpacked, limit + 1)
        binary = next((kind for magic, kind in _BINARY.items() if content.startswith(magic)), "")
        encoding = "utf-16" if content.startswith(_UTF16) else "utf-8-sig"
        text = content.decode(encoding) if len(content) <= limit and not binary else ""
    except (OSError, EOFError, ValueError, TypeError, zlib.error) as error:
        raise LatencyMapError("map-unreadable", source=name, cause=cause_of(error)) from None
    if binary:
        raise LatencyMapError("map-format-unknown", source=name, looks_like=binary)
    if len(content) > limit:
        raise error_of(limits.too_large(limit, "bytes"), source=name)
    return MapSource(text, name, limits)


def _read_up_to(stream: BinaryIO | gzip.GzipFile, count: int) -> bytes:
    """Read up to ``count`` bytes; a pipe returns them in chunks."""
    content = bytearray()
    while len(content) < count and (chunk := stream.read(min(_CHUNK_BYTES, count - len(content)))):
        content += chunk
    return bytes(content)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What a caller states about a file that is not in it, or chooses in it."""

    #: The names of the nodes of a matrix without names, in its order; None to generate them.
    names: tuple[str, ...] | None = None
    #: The node that sent the pings in a file that does not name it; None for other files.
    probed_from: str | None = None
    #: Columns of a table, or keys of JSON, with the ends of a pair, its delay and the unit; None to find them.
    from_column: str | None = None
    to_column: str | None = None
    delay_column: str | None = None
    unit_column: str | None = None
    #: Whether the delays are those of links, whose shortest paths are computed; None if the file decides.
    links: bool | None = None


DEFAULT_OPTIONS = ImportOptions()


def read_names(file: Path | str, limits: MapLimits = DEFAULT_LIMITS) -> tuple[str, ...]:
    """Read names of nodes for `ImportOptions`, one per line; raise LatencyMapError if the file cannot be read."""
    return tuple(name for line in read_source(file, limits).lines() if (name := line.strip()))


def check_file_names(source: str, names: Sequence[str], limits: MapLimits | None = None, *, place: str = "") -> None:
    """Reject invalid names of nodes in a file; pass no limits if the nodes were counted before.

    Raises
    ------
    LatencyMapError
        There is none or there are too many, one is empty or not printable, or one occurs twice.
    """
    if limits and len(names) > limits.nodes:
        raise error_of(limits.too_many_nodes(len(names)), source=source, place=place)
    if fault := find_name_fault(names):
        raise error_of(fault[1], source=source, place=place)
