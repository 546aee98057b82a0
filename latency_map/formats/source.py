"""Where the text of a map comes from: a file or a stream, compressed or not, read once and within bounds."""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count as count_up
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

from gesscale.common.errors import cause_of
from latency_map.errors import LatencyMapError
from latency_map.limits import MapLimits

_HEAD_BYTES = 1 << 20
_PIECE_CHARACTERS = 1 << 16
_GZIP = b"\x1f\x8b"
_BLANK_LINES = 10_000
"""In a row; megabytes of them become kilobytes of a compressed file, and take a second for each."""


class MapSource:
    """Text that is read once, after a look at how it begins.

    Parameters
    ----------
    stream
        Its bytes: UTF-8, with or without byte order mark, compressed by gzip or not.
    name
        Names it in messages.
    limits
        How large the map in it may be.

    Attributes
    ----------
    name, limits
        As given.
    head
        The text it begins with, at most about a million characters.
    whole
        Whether that is all of it.

    Raises
    ------
    LatencyMapError
        It cannot be read, is not UTF-8 text or is too long; here or where it is read on.
    """

    def __init__(self, stream: BinaryIO, name: str, limits: MapLimits) -> None:
        self.name, self.limits = name, limits
        head_bytes = min(_HEAD_BYTES, limits.text_bytes)
        with self._refusing():
            start = _read_up_to(stream, len(_GZIP))
            plain: BinaryIO = cast(BinaryIO, io.BufferedReader(_Joined(start, stream)))
            if start == _GZIP:
                plain = cast(BinaryIO, gzip.GzipFile(fileobj=plain))
            head = _read_up_to(plain, head_bytes)
            self.whole = len(head) < head_bytes
            self.head = codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=self.whole)
        too_long = f"{name}: {limits.too_long('bytes of text', limits.text_bytes)}"
        joined = io.BufferedReader(_Joined(head, plain, max_bytes=limits.text_bytes, too_long=too_long))
        self._text = io.TextIOWrapper(joined, encoding="utf-8-sig", newline="")

    @classmethod
    def of_text(cls, text: str, name: str, limits: MapLimits) -> Self:
        """Return text as a source."""
        return cls(io.BytesIO(text.encode("utf-8", "surrogatepass")), name, limits)

    def lines(self) -> Iterator[str]:
        """Return its lines, ends included, in order; once.

        Yields
        ------
        str
            A line.
        """
        most, blank = self.limits.line_characters, 0
        with self._refusing():
            for number in count_up(1):
                line = self._text.readline(most + 1)
                if not line:
                    return
                if len(line) > most:
                    message = (
                        f"{self.name}, line {number}: {self.limits.too_long('characters in a line', most)}"
                    )
                    raise LatencyMapError(message)
                blank = 0 if line.strip() else blank + 1
                if blank > _BLANK_LINES:
                    message = (
                        f"{self.name}, line {number}: expected at most {_BLANK_LINES} blank lines in a row, got more;"
                        " remove them"
                    )
                    raise LatencyMapError(message)
                yield line

    def pieces(self) -> Iterator[str]:
        """Return its text piece by piece, wherever its lines end; once.

        Yields
        ------
        str
            What follows, not empty.
        """
        with self._refusing():
            while piece := self._text.read(_PIECE_CHARACTERS):
                yield piece

    def text(self, most: int) -> str:
        """Return all of it, for readers that cannot do with less; once.

        Parameters
        ----------
        most
            Most characters that it may have.
        """
        with self._refusing():
            text = self._text.read(most + 1)
        if len(text) > most:
            message = f"{self.name}: {self.limits.too_long('characters of text in this form', most)}"
            raise LatencyMapError(message)
        return text

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except LatencyMapError:
            raise
        except (OSError, EOFError, UnicodeError, zlib.error) as error:
            raise LatencyMapError(_unreadable(self.name, error)) from None


@contextmanager
def open_source(path: Path | str, limits: MapLimits) -> Iterator[MapSource]:
    """Open a file and close it afterwards.

    Parameters
    ----------
    path
        A text file, compressed by gzip or not.
    limits
        How large the map in it may be.

    Yields
    ------
    MapSource
        Its text.

    Raises
    ------
    LatencyMapError
        It cannot be read; see `MapSource`.
    """
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 - closed below; an error while reading it is another
    except (OSError, ValueError) as error:
        raise LatencyMapError(_unreadable(path, error)) from None
    with stream:
        yield MapSource(stream, str(path), limits)


def _unreadable(name: object, error: Exception) -> str:
    return (
        f"{name}: expected a readable UTF-8 text file, got: {cause_of(error)}; correct the path or save it so"
    )


class _Joined(io.RawIOBase):
    """Bytes that were read ahead and the rest of their stream, up to a limit."""

    def __init__(
        self, ahead: bytes, rest: BinaryIO, *, max_bytes: int | None = None, too_long: str = ""
    ) -> None:
        self._ahead = memoryview(ahead)
        self._rest = rest
        self._left = max_bytes
        self._too_long = too_long

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:  # any writable buffer
        target = memoryview(buffer)
        if self._ahead:
            block = bytes(self._ahead[: len(target)])
            self._ahead = self._ahead[len(target) :]
        else:
            block = self._rest.read(len(target))
        size = len(block)
        target[:size] = block
        if self._left is not None:
            self._left -= size
            if self._left < 0:
                raise LatencyMapError(self._too_long)
        return size


def _read_up_to(stream: BinaryIO, count: int) -> bytes:
    """Read as much as there is, where a pipe gives it in pieces."""
    pieces = []
    while count > 0 and (piece := stream.read(count)):
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
