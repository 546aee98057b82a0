import pytest
from refusals import refused

from latency_map import Asymmetry, DelayKind, DelayUnit, LatencyMap, LatencyMapError, parse_survey, read_map, write_csv

MATRIX = "rtt_ms,a,b,c\na,0,2,9\nb,2,0,5\nc,9,5,0\n"
EDGES = "from,to,rtt_ms\na,b,2\na,c,9\nb,c,5\n"
TRIANGLE = LatencyMap.from_delays("abc", [[0, 2, 9], [2, 0, 5], [9, 5, 0]], unit=DelayUnit.MS, kind=DelayKind.RTT)


def parse(text, *, unit=DelayUnit.MS, kind=DelayKind.RTT, asymmetry=Asymmetry.REFUSE):
    return parse_survey(text, unit=unit, kind=kind, source="map.csv").survey.to_map(asymmetry)


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
    assert parse(text) == TRIANGLE


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        (MATRIX.replace("9", "-9"), "map-delay-invalid", "line 2, column 4, a to c"),
        (EDGES.replace("9", "-9"), "map-delay-invalid", "line 3, column 3, a to c"),
        (MATRIX.replace("9,5", "8,5"), "map-directions-differ", "a to c"),  # 9 in the other direction
        (MATRIX.replace("a,0", "a,1"), "map-diagonal-nonzero", "a to a"),
    ],
)
def test_an_invalid_map_is_refused_with_its_place(tmp_path, text, code, place):
    (tmp_path / "map.csv").write_text(text)
    with refused(code, LatencyMapError, source=f"{tmp_path}/map.csv", place=place):
        read_map(tmp_path / "map.csv")


def test_unreadable_files_are_named(tmp_path):
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe,\x00a")
    for path in (tmp_path / "none.csv", tmp_path, binary):
        with refused("map-unreadable", LatencyMapError, source=str(path)):
            read_map(path, DelayUnit.MS, DelayKind.RTT)


def test_a_written_map_states_unit_and_kind(tmp_path):
    gappy = parse(MATRIX.replace("9", ""))
    write_csv(gappy, tmp_path / "map.csv")
    assert (tmp_path / "map.csv").read_text() == "rtt_ms,a,b,c\na,0,2,\nb,2,0,5\nc,,5,0\n"


def test_a_map_that_cannot_be_written_is_refused(tmp_path):
    with refused("file-unwritable", LatencyMapError, source=str(tmp_path)):
        write_csv(TRIANGLE, tmp_path)
