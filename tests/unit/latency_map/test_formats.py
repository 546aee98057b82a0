import pytest

from latency_map import (
    Asymmetry,
    DelayKind,
    DelayUnit,
    LatencyMap,
    LatencyMapError,
    parse_map,
    read_map,
    write_csv,
)

MATRIX = "rtt_ms,a,b,c\na,0,2,9\nb,2,0,5\nc,9,5,0\n"
EDGES = "from,to,rtt_ms\na,b,2\na,c,9\nb,c,5\n"
TRIANGLE = LatencyMap.from_delays(
    "abc", [[0, 2, 9], [2, 0, 5], [9, 5, 0]], unit=DelayUnit.MS, kind=DelayKind.RTT
)


def parse(text, *, unit=DelayUnit.MS, kind=DelayKind.RTT, asymmetry=Asymmetry.REFUSE):
    return parse_map(text, unit, kind, asymmetry, source="map.csv")


@pytest.mark.parametrize(
    "text",
    [
        MATRIX,
        EDGES,
        "a,b,2\na,c,9\nb,c,5\n",  # no heading
        "\ufeff" + MATRIX,  # byte order mark
        "\ufeffa,b,2\na,c,9\nb,c,5\n",  # and where it would join a name
        MATRIX.replace(",", ";"),
        EDGES.replace(",", "\t"),
        MATRIX.replace("\n", "\r\n"),
        MATRIX.replace(",", " , ").replace("rtt_ms", ""),  # blanks, no corner
        "\n" + MATRIX.replace("\n", "\n\n,,,\n"),  # blank lines
        MATRIX.replace("a,0,", "a,,"),  # blank diagonal
        MATRIX.replace("b,2,", "b,,"),  # one direction only
        '"","a","b","c"\na,0,2,9\nb,2,0,5\nc,9,5,0',
        MATRIX.replace("9", "9.0e0").replace("5", "+5."),
    ],
)
def test_every_spelling_of_one_map_is_read_alike(text):
    assert parse(text).latencies == TRIANGLE


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        (MATRIX.replace("9", "-9"), 2, 4),
        (MATRIX.replace("9,5", "8,5"), 2, 4),  # the other direction says 9
        (MATRIX.replace("a,0", "a,1"), 2, 2),
        (EDGES.replace("9", "-9"), 3, 3),
        (EDGES + "b,a,3", 2, 3),
        (EDGES + "a,a,3", 5, 3),
    ],
)
def test_what_is_no_map_is_refused_with_its_place(text, line, column):
    with pytest.raises(LatencyMapError, match=f"^map.csv, line {line}, column {column}: . to .: "):
        parse(text)


def test_unreadable_files_are_named(tmp_path):
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe,\x00a")
    for path in (tmp_path / "none.csv", tmp_path, binary):
        with pytest.raises(LatencyMapError, match="expected a readable UTF-8 text file") as caught:
            read_map(path, DelayUnit.MS, DelayKind.RTT)
        assert str(path) in str(caught.value)


def test_a_written_map_states_unit_and_kind(tmp_path):
    gappy = parse(MATRIX.replace("9", "")).latencies
    write_csv(gappy, tmp_path / "map.csv")
    assert (tmp_path / "map.csv").read_text() == "rtt_ms,a,b,c\na,0,2,\nb,2,0,5\nc,,5,0\n"


def test_a_map_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(LatencyMapError, match="expected a file that can be written"):
        write_csv(TRIANGLE, tmp_path)
