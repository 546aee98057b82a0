"""What the API server answers: a body that is bounded in size and time, or lines without an end."""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Protocol

from urllib3 import HTTPResponse
from urllib3.exceptions import ReadTimeoutError

from gesscale.kubernetes.api.faults import Call, broken_answer, faults_raised

ANSWER_MAX_BYTES = 64 << 20
FAULT_MAX_BYTES = 64 << 10
_CHUNK_BYTES = 64 << 10


class Lines(Protocol):
    """An open stream of lines, such as those of a watch."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield whole lines; ends where the server ends it, raises `ApiError` where it breaks."""
        ...

    def interrupt(self) -> None:
        """Wake the thread that waits for the next line; for any thread. To that one it is the end, or a fault."""
        ...

    def close(self) -> None:
        """Let go of the connection; for the thread that reads, or while no thread reads."""
        ...


class ResponseLines:
    """The lines of an answer that does not end by itself."""

    def __init__(self, call: Call, response: HTTPResponse) -> None:
        self._call, self._response = call, response

    def __iter__(self) -> Iterator[bytes]:
        rest = bytearray()
        try:
            with faults_raised(self._call):
                while chunk := self._response.read1(_CHUNK_BYTES):
                    *lines, tail = (bytes(rest) + chunk).split(b"\n")
                    rest = bytearray(tail)
                    if len(rest) > ANSWER_MAX_BYTES:
                        raise broken_answer(self._call, "a line without end")
                    yield from filter(None, lines)
        finally:
            self.close()
        if rest:
            raise broken_answer(self._call, f"a line that breaks off: {bytes(rest[-60:])!r}")

    def interrupt(self) -> None:
        """Wake the thread that reads, from any thread."""
        with suppress(ValueError, RuntimeError, OSError):  # nothing is open any more
            self._response.shutdown()

    def close(self) -> None:
        """Let go of the connection."""
        self._response.close()


def read_whole(response: HTTPResponse, max_bytes: int, until_s: float) -> bytes:
    """Read a body that is neither too long nor too slow.

    Parameters
    ----------
    until_s
        By the clock of `time.monotonic`.

    Raises
    ------
    ValueError
        It is too long.
    ReadTimeoutError
        It is too slow.
    """
    parts, size = [], 0
    while chunk := response.read1(_CHUNK_BYTES):
        parts.append(chunk)
        size += len(chunk)
        if size > max_bytes:
            response.close()
            message = f"more than {max_bytes} bytes"
            raise ValueError(message)
        if time.monotonic() > until_s:
            response.close()
            raise ReadTimeoutError(None, None, "the answer takes too long")  # type: ignore[arg-type]  # only its text is used
    return b"".join(parts)
