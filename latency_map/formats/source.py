"""Where the text of a map comes from: a file or a stream, compressed or not, read once and within bounds."""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

from latency_map.errors import LatencyMapError

MAX_BYTES = 1_000_000_000
"""Most bytes of text that are read, after decompression."""

_HEAD_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"


class Source:
    """Text that is read once, after a look at how it begins.

    Parameters
    ----------
    stream
        Its bytes: UTF-8, with or without byte order mark, compressed by gzip or not.
    name
        Names it in messages.
    max_bytes
        Most bytes of text that are read; more are refused.

    Attributes
    ----------
    name
        Names it in messages.
    head
        The text it begins with, about a million characters.
    whole
        Whether that is all of it.

    Raises
    ------
    LatencyMapError
        It cannot be read, is not UTF-8 text or is too long; here or where it is read on.
    """

    def __init__(self, stream: BinaryIO, name: str, *, max_bytes: int = MAX_BYTES) -> None:
        self.name = name
        with self._refusing():
            start = _read_up_to(stream, len(_GZIP))
            plain: BinaryIO = cast(BinaryIO, io.BufferedReader(_Joined(start, stream)))
            if start == _GZIP:
                plain = cast(BinaryIO, gzip.GzipFile(fileobj=plain))
            head = _read_up_to(plain, _HEAD_BYTES)
            self.whole = len(head) < _HEAD_BYTES
            self.head = codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=self.whole)
        too_long = f"{name}: expected at most {max_bytes} bytes of text, got more; import a part of it, or thin it out"
        joined = io.BufferedReader(_Joined(head, plain, max_bytes=max_bytes, too_long=too_long))
        self._text = io.TextIOWrapper(joined, encoding="utf-8-sig", newline="")

    @classmethod
    def of_text(cls, text: str, name: str) -> Self:
        """Return text as a source."""
        return cls(io.BytesIO(text.encode("utf-8", "surrogatepass")), name)

    def lines(self) -> Iterator[str]:
        """Return its lines, ends included, in order; once.

        Yields
        ------
        str
            A line.
        """
        with self._refusing():
            yield from self._text

    def text(self) -> str:
        """Return all of it; once."""
        with self._refusing():
            return self._text.read()

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except LatencyMapError:
            raise
        except (OSError, EOFError, UnicodeError, zlib.error) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            message = f"{self.name}: expected a readable UTF-8 text file, got: {reason}; correct the path or save it so"
            raise LatencyMapError(message) from None


@contextmanager
def open_source(path: Path | str) -> Iterator[Source]:
    """Open a file and close it afterwards.

    Parameters
    ----------
    path
        A text file, compressed by gzip or not.

    Yields
    ------
    Source
        Its text.

    Raises
    ------
    LatencyMapError
        It cannot be read; see `Source`.
    """
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 - closed below; an error while reading it is another
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        message = (
            f"{path}: expected a readable UTF-8 text file, got: {reason}; correct the path or save it so"
        )
        raise LatencyMapError(message) from None
    with stream:
        yield Source(stream, str(path))


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
