"""Opens Spark's event logs: files, rolling logs and folders of them, compressed or not, and reads them line by line."""

import gzip
import io
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from gesscale.common.errors import cause_of
from gesscale.errors import InputError

#: Longest line that is parsed; the plans of queries, which are not needed, may be longer.
MAX_LINE_BYTES = 16 << 20
_BUFFER_BYTES = 1 << 20
#: Folder of a rolling log, and a file in it with its number.
_ROLLING, _PART = "eventlog_v2_", re.compile(r"events_(\d+)_")
_ZSTD, _GZIP, _LZ4_BLOCK = b"\x28\xb5\x2f\xfd", b"\x1f\x8b", b"LZ4Block"
#: Head of a block of lz4-java: magic, token, stored and original size, checksum; and the token of a block as it is.
_BLOCK_HEAD, _STORED, _MAX_BLOCK_BYTES = struct.Struct("<8sBiii"), 0x10, 32 << 20
_UNREAD = {b"\x82SNAPPY\x00": "snappy", b"ZV\x01": "lzf", b"ZV\x00": "lzf"}


def event_logs(path: Path) -> list[tuple[Path, ...]]:
    """Return the files of each application at a path: a file, a rolling log, or a folder of these.

    Raises
    ------
    InputError
        If it does not exist, or has no files.
    """
    try:
        if not path.is_dir():
            if not path.is_file():
                raise InputError("event-log-missing", source=str(path))
            return [(path,)]
        if parts := _rolling_parts(path):
            return [parts]
        listed = sorted(each for each in path.iterdir() if not each.name.startswith("."))
        found = [_rolling_parts(each) if each.is_dir() else (each,) for each in listed]
    except OSError as error:
        raise InputError("event-log-unreadable", source=str(path), cause=cause_of(error)) from error
    if not any(found):
        raise InputError("event-log-missing", source=str(path))
    return [files for files in found if files]


def _rolling_parts(folder: Path) -> tuple[Path, ...]:
    """Return the files of a rolling log in their order; a compacted one replaces those before it."""
    numbered = {each: int(found[1]) for each in folder.iterdir() if (found := _PART.match(each.name))}
    compacted = max((number for each, number in numbered.items() if ".compact" in each.name), default=0)
    kept = [each for each, number in numbered.items() if number >= compacted]
    kept = [each for each in kept if ".compact" in each.name or numbered[each] != compacted]
    return tuple(sorted(kept, key=lambda each: numbered[each]))


def read_lines(file: Path) -> Iterator[bytes]:
    """Yield the lines of a log without decompressing it as a whole; lines beyond `MAX_LINE_BYTES` are skipped.

    Raises
    ------
    EOFError
        If the log ends within compressed data.
    InputError
        If it cannot be read, or its compression is not supported.
    """
    try:
        with file.open("rb") as raw:
            yield from _lines(_decompressed(raw, file))
    except (zlib.error, gzip.BadGzipFile, OSError) as error:
        raise InputError("event-log-unreadable", source=str(file), cause=cause_of(error)) from error


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    while line := stream.readline(MAX_LINE_BYTES):
        if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while (rest := stream.readline(_BUFFER_BYTES)) and not rest.endswith(b"\n"):
            pass


def _decompressed(raw: io.BufferedReader, file: Path) -> IO[bytes]:
    head = raw.peek(len(_LZ4_BLOCK))
    if codec := next((name for magic, name in _UNREAD.items() if head.startswith(magic)), None):
        raise InputError("event-log-codec", source=str(file), codec=codec)
    if head.startswith(_GZIP):
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    if head.startswith(_ZSTD):
        return io.BufferedReader(_Chunks(_zstd_chunks(raw)), _BUFFER_BYTES)
    if head.startswith(_LZ4_BLOCK):
        return io.BufferedReader(_Chunks(_lz4_blocks(raw)), _BUFFER_BYTES)
    return raw


class _Chunks(io.RawIOBase):
    """A stream of chunks of bytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._rest or next(self._chunks, b"")
        size = min(len(chunk), len(buffer))
        buffer[:size], self._rest = chunk[:size], chunk[size:]
        return size


def _zstd_chunks(raw: IO[bytes]) -> Iterator[bytes]:
    import zstandard

    reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
    try:
        while chunk := reader.read(_BUFFER_BYTES):
            yield chunk
    except zstandard.ZstdError as error:
        raise OSError(str(error)) from error


def _lz4_blocks(raw: IO[bytes]) -> Iterator[bytes]:
    """Yield the blocks of lz4-java's LZ4BlockOutputStream, which Spark writes; it is not the frame format of LZ4."""
    import lz4.block

    while head := raw.read(_BLOCK_HEAD.size):
        if len(head) < _BLOCK_HEAD.size:
            raise EOFError
        magic, token, stored, size, _ = _BLOCK_HEAD.unpack(head)
        if magic != _LZ4_BLOCK or not 0 <= size <= _MAX_BLOCK_BYTES or not 0 <= stored <= _MAX_BLOCK_BYTES:
            raise OSError("not a block of LZ4")
        if size == 0:  # the end of a stream; another one may follow
            continue
        block = raw.read(stored)
        if len(block) < stored:
            raise EOFError
        try:
            yield block if token & 0xF0 == _STORED else lz4.block.decompress(block, uncompressed_size=size)
        except lz4.block.LZ4BlockError as error:
            raise OSError(str(error)) from error
