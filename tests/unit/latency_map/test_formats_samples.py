"""A faithful sample of every format; see tests/data/latency_maps/README.md."""

import math
from pathlib import Path

import numpy as np
import pytest

from gesscale.common.errors import Problem
from latency_map import DelayKind, DelayUnit, ImportOptions, MapFormat, read_names, read_survey

SAMPLES = Path(__file__).parents[2] / "data" / "latency_maps"
RTT, ONE_WAY = DelayKind.RTT, DelayKind.ONE_WAY
US, MS, S = DelayUnit.US, DelayUnit.MS, DelayUnit.S
NAN = math.nan


def read(name, unit=None, kind=None, **options):
    return read_survey(SAMPLES / name, unit=unit, kind=kind, **options)


def rtt_ms(imported, a, b):
    names = imported.survey.names
    return float(imported.survey.rtt_ms[names.index(a), names.index(b)])


def test_every_sample_is_read_by_a_test_here():
    text = Path(__file__).read_text("utf-8")
    assert [file.name for file in SAMPLES.iterdir() if f'"{file.name}"' not in text] == ["README" + ".md"]


@pytest.mark.parametrize(
    ("name", "unit", "first_ms", "asymmetric"),
    [
        ("planetlab_12x12.tsv", MS, 0.175, False),
        ("seattle_12x12.tsv", S, 170.0, True),  # 0.17 s
    ],
)
def test_a_bare_matrix_gets_names(name, unit, first_ms, asymmetric):
    imported = read(name, unit, RTT)
    assert imported.map_format is MapFormat.MATRIX
    assert imported.survey.names == tuple(f"n{number:03}" for number in range(1, 13))
    assert rtt_ms(imported, "n001", "n002") == first_ms
    assert bool((imported.survey.rtt_ms != imported.survey.rtt_ms.T).any()) == asymmetric


def test_names_of_a_bare_matrix_come_from_a_file(tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("\n".join(f"host{index}" for index in range(12)) + "\n\n")
    imported = read("planetlab_12x12.tsv", MS, RTT, options=ImportOptions(names=read_names(names)))
    assert rtt_ms(imported, "host0", "host1") == 0.175


def test_a_table_of_regions_has_its_rows_matched_by_name():
    imported = read("cloud_regions.csv", MS, RTT)
    assert imported.map_format is MapFormat.MATRIX
    assert imported.survey.names == ("West Europe", "East US", "Japan East", "Brazil South")
    # rows: to West Europe, East US, Japan East, Brazil South; blank, "-", "N/A" and "*" are missing
    expected = [[0, 84, 230, NAN], [83, 0, 156, 116], [231, 155, 0, NAN], [187, 116, NAN, 0]]
    np.testing.assert_array_equal(imported.survey.rtt_ms, expected)
    assert Problem("import-cells-missing", {"mark": "N/A", "count": 1}) in imported.notes


def test_a_list_of_edges_states_its_meaning_in_the_heading():
    imported = read("edges.csv")
    assert (imported.map_format, imported.unit, imported.kind) == (MapFormat.PAIRS, MS, RTT)
    assert imported.survey.names == ("pi-1", "pi-2", "hub")
    expected = [[0, 0.8, 12.25], [0.9, 0, NAN], [NAN, NAN, 0]]
    np.testing.assert_array_equal(imported.survey.rtt_ms, expected)


def test_king_numbers_its_nodes():
    imported = read("king_edges.txt", US, RTT)
    assert imported.map_format is MapFormat.PAIRS
    assert set(imported.survey.names) == {"1", "2", "3", "4"}
    assert rtt_ms(imported, "2", "1") == 81.123
    assert math.isnan(rtt_ms(imported, "1", "4"))
    assert rtt_ms(imported, "4", "1") == 120.8


def test_pings_of_wondernetwork_are_summed_up_by_their_median():
    imported = read("wondernetwork_pings.csv", MS, RTT)  # min, avg, max and mdev state no unit
    assert imported.map_format is MapFormat.PAIRS
    assert set(imported.survey.names) == {"4", "17", "59", "203"}
    assert rtt_ms(imported, "17", "4") == 88.4  # of 88.2, 88.4, 140.7
    assert rtt_ms(imported, "4", "17") == pytest.approx(88.7)  # of 88.6, 88.8
    assert math.isnan(rtt_ms(imported, "4", "59"))  # its only ping was lost
    assert math.isnan(rtt_ms(imported, "203", "59"))  # no ping came back
    # the oldest row with a delay: 2020-07-19 00:02:11 UTC
    assert imported.survey.measured_at_s == 1595116931.0
    assert imported.notes == (
        Problem("import-medians-taken", {"rows": 8, "rows_per_pair": 3}),
        Problem("import-rows-incomplete", {"count": 1}),
    )


def test_gml_of_shadow_has_latencies_with_units():
    imported = read("shadow.gml", kind=ONE_WAY)
    assert (imported.map_format, imported.unit) == (MapFormat.GML, MS)
    # one way: amsterdam - berlin 10, berlin - cairo 2.5, amsterdam - cairo 12.5 by berlin, not 20; dakar alone
    expected = [[0, 20, 25, NAN], [20, 0, 5, NAN], [25, 5, 0, NAN], [NAN, NAN, NAN, 0]]
    assert imported.survey.names == ("amsterdam", "berlin", "cairo", "dakar")
    np.testing.assert_array_equal(imported.survey.rtt_ms, expected)
    assert Problem("import-loops-skipped", {"count": 1}) in imported.notes


def test_graphml_may_be_directed():
    imported = read("topology.graphml", kind=ONE_WAY)
    assert (imported.map_format, imported.unit) == (MapFormat.GRAPHML, MS)
    assert imported.survey.names == ("core", "site-1", "site-2")
    # core - site-1 4 there, 6 back: 10 both; core - site-2 1.5 each: 3; between the sites 7.5 and 5.5: 13
    np.testing.assert_array_equal(imported.survey.rtt_ms, [[0, 10, 3], [10, 0, 13], [3, 13, 0]])


@pytest.mark.parametrize(
    ("name", "form", "targets"),
    [
        # medians of three replies each; -q has its average only
        (
            "ping_iputils.txt",
            MapFormat.PING,
            {"10.99.7.2": 0.048, "10.99.7.3": 0.042, "10.99.9.9": NAN, "10.99.7.4": 0.036},
        ),
        ("ping_busybox.txt", MapFormat.PING, {"10.99.7.2": 0.060}),
        ("ping_macos.txt", MapFormat.PING, {"hub.local": 4.031}),  # of 3.872, 4.031, 9.54; not the duplicate
        # the listing at the end holds the same replies again: 0.028 0.038 0.043 and 0.321 0.038 0.043
        ("fping_C.txt", MapFormat.FPING, {"10.99.7.2": 0.038, "10.99.7.3": 0.043, "10.99.9.9": NAN}),
        ("fping_count.txt", MapFormat.FPING, {"10.99.7.2": 0.039, "10.99.7.3": 0.042, "10.99.9.9": NAN}),
        ("fping_elapsed.txt", MapFormat.FPING, {"10.99.7.2": 0.037, "10.99.7.3": 0.039, "10.99.9.9": NAN}),
        ("fping_dated.txt", MapFormat.FPING, {"10.99.7.2": 0.041, "10.99.7.3": 0.071}),
    ],
)
def test_pings_of_one_node_are_one_row(name, form, targets):
    imported = read(name, options=ImportOptions(probed_from="edge-1"))
    assert (imported.map_format, imported.unit, imported.kind) == (form, MS, RTT)
    assert imported.survey.names == ("edge-1", *targets)
    np.testing.assert_allclose(imported.survey.rtt_ms[0], [0, *targets.values()], rtol=1e-12)
    others = imported.survey.rtt_ms[1:][~np.eye(len(targets) + 1, dtype=bool)[1:]]
    assert np.isnan(others).all()


def test_pings_with_a_date_say_when_they_were_measured():
    options = ImportOptions(probed_from="edge-1")
    assert read("fping_dated.txt", options=options).survey.measured_at_s == 1795273045.56546  # the oldest reply
    assert read("ping_iputils.txt", options=options).survey.measured_at_s == 1795273033.558196
    assert read("ping_busybox.txt", options=options).survey.measured_at_s is None


def test_the_first_version_of_the_native_format_is_read():
    imported = read("document_v1.json")
    survey = imported.survey
    assert (imported.map_format, imported.unit, imported.kind) == (MapFormat.DOCUMENT, MS, RTT)
    assert survey.names == ("pi-1", "hub", "düsseldorf 1")
    np.testing.assert_array_equal(survey.rtt_ms, [[0, 12.25, NAN], [12.5, 0, 3.1], [NAN, 3.1, 0]])
    assert np.argwhere(survey.estimated).tolist() == [[1, 2], [2, 1]]
    assert (survey.measured_at_s, survey.origin) == (1795168801.5, "probes of three nodes")
    assert survey.changes == ("filled hub - düsseldorf 1 by shortest path",)
