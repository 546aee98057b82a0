"""Event logs are read line by line, whatever their compression."""

import gzip
import struct
from pathlib import Path

import lz4.block
import pytest
import zstandard

from gesscale.errors import InputError
from testbed.backtest import log_files
from testbed.backtest.log_files import event_logs, read_lines
from tests.refusals import refused

LINES = [b'{"Event":"one"}\n', b'{"Event":"two"}\n']
TEXT = b"".join(LINES)


def lz4_blocks(*blocks: bytes) -> bytes:
    """Return blocks as lz4-java writes them, and the empty one that ends a stream."""
    written = b""
    for block in (*blocks, b""):
        stored = lz4.block.compress(block, store_size=False) if block else b""
        written += struct.pack("<8sBiii", b"LZ4Block", 0x20, len(stored), len(block), 0) + stored
    return written


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        gzip.compress(TEXT),
        zstandard.compress(LINES[0]) + zstandard.compress(LINES[1]),
        lz4_blocks(TEXT[:20], TEXT[20:]),
        lz4_blocks(LINES[0]) + lz4_blocks(LINES[1]),
    ],
    ids=["plain", "gzip", "zstd", "lz4", "lz4 twice"],
)
def test_the_content_decides_on_the_compression(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "log"
    file.write_bytes(content)
    assert list(read_lines(file)) == LINES


@pytest.mark.parametrize("content", [gzip.compress(TEXT)[:-9], lz4_blocks(TEXT)[:-30]], ids=["gzip", "lz4"])
def test_a_log_that_ends_within_compressed_data_is_truncated(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "log"
    file.write_bytes(content)
    with pytest.raises(EOFError):
        list(read_lines(file))


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(TEXT)[:10] + b"\xff" * 40,
        zstandard.compress(TEXT)[:8] + b"damaged",
        lz4_blocks(TEXT) + b"LZ4Block" * 9,
    ],
    ids=["gzip", "zstd", "lz4"],
)
def test_damaged_logs_are_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "log"
    file.write_bytes(content)
    with refused("event-log-unreadable", InputError, source=str(file)):
        list(read_lines(file))


def test_other_codecs_are_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "log.snappy"
    file.write_bytes(b"\x82SNAPPY\x00" + bytes(8))
    with refused("event-log-codec", InputError, codec="snappy"):
        list(read_lines(file))


def test_lines_that_are_too_long_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "MAX_LINE_BYTES", 20)
    file = tmp_path / "log"
    file.write_bytes(LINES[0] + b"x" * 50 + b"\n" + LINES[1])
    assert list(read_lines(file)) == LINES


def test_a_rolling_log_is_read_in_its_order(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    for name in ("appstatus_app-1", "events_1_app-1", "events_2_app-1.compact", "events_3_app-1", "events_10_app-1"):
        (folder / name).touch()
    names = [file.name for file in event_logs(folder)[0]]
    assert names == [
        "events_2_app-1.compact",
        "events_3_app-1",
        "events_10_app-1",
    ]  # the compacted one replaces 1 and 2
    (tmp_path / "app-2.zstd").touch()
    assert [len(files) for files in event_logs(tmp_path)] == [1, 3]


def test_missing_logs_are_refused(tmp_path: Path) -> None:
    with refused("event-log-missing", InputError):
        event_logs(tmp_path / "nowhere")
    with refused("event-log-missing", InputError):
        event_logs(tmp_path)
