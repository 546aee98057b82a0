"""Files and streams, compressed or not, within limits."""

import gzip
import io
import os
import threading
import tracemalloc

import pytest
from refusals import refused

from latency_map import (
    LARGEST,
    DelayKind,
    DelayUnit,
    LatencyMapError,
    MapFormat,
    MapLimits,
    parse_survey,
    read_map,
    read_survey,
)
from latency_map.formats.source import MapSource, read_source

MATRIX = "rtt_ms,å,b\nå,0,2\nb,2,0\n"


@pytest.mark.parametrize("name", ["map.csv", "map.csv.gz", "map"])
def test_compressed_files_are_read_under_any_name(tmp_path, name):
    plain, packed = tmp_path / "plain.csv", tmp_path / name
    plain.write_text(MATRIX, encoding="utf-8")
    packed.write_bytes(gzip.compress(MATRIX.encode()))
    assert read_map(packed) == read_map(plain)


def test_a_stream_is_read_that_gives_its_bytes_one_by_one():
    taken, given = os.pipe()

    def write():
        with open(given, "wb", buffering=0) as pipe:  # noqa: PTH123 - a descriptor
            for byte in MATRIX.encode():
                pipe.write(bytes([byte]))

    writer = threading.Thread(target=write)
    writer.start()
    with open(taken, "rb", buffering=0) as stream:  # noqa: PTH123
        imported = read_survey(stream)
    writer.join()
    assert (imported.map_format, imported.survey.origin) == (MapFormat.MATRIX, "standard input")
    assert imported.survey.names == ("å", "b")


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe,\x00a",
        gzip.compress(MATRIX.encode(), mtime=0)[:-12],  # truncated
        gzip.compress(MATRIX.encode(), mtime=0)[:12] + b"\0" * 30,  # with a wrong checksum
        b"\x1f\x8b",
        b"".join(b"n%d,n%d,1\n" % (node // 900, node % 900) for node in range(200_000)) + b"\xff",  # far into the file
    ],
)
def test_an_unreadable_file_is_refused(tmp_path, content):
    file = tmp_path / "map.csv"
    file.write_bytes(content)
    with refused("map-unreadable", LatencyMapError, source=str(file)):
        read_survey(file, unit=DelayUnit.MS, kind=DelayKind.RTT)


def test_a_stream_of_text_is_refused():
    with refused("map-unreadable", LatencyMapError):
        read_survey(io.StringIO(MATRIX))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_no_more_is_read_than_the_bound(pack):
    limits = MapLimits(nodes=100)
    text = b"0 0\n" * (limits.text_bytes // 4)
    assert read_source(io.BytesIO(pack(text)), limits).text == text.decode()
    for more in (b"0", b"0" * 4_000_000):
        with refused("map-too-large", LatencyMapError, limit=limits.text_bytes, nodes=100):
            read_source(io.BytesIO(pack(text + more)), limits)


def test_a_gzip_bomb_does_not_fill_the_memory():
    bomb, limits = gzip.compress(b"0" * 50_000_000), MapLimits(nodes=1)
    tracemalloc.start()
    try:
        with refused("map-too-large", LatencyMapError, limit=limits.text_bytes):
            read_source(io.BytesIO(bomb), limits)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
    assert LARGEST.text_bytes == 256 << 20  # whatever the nodes


def test_lines_end_as_any_system_ends_them():
    source = MapSource("a\r\nb\rc\n\nd", "x", MapLimits())
    assert [line.strip() for line in source.lines()] == ["a", "b", "c", "", "d"]
    old = parse_survey("from,to,rtt_ms\ra,b,5\ra,c,6\r").survey
    assert old.rtt_ms[0, 2] == 6
