import struct

import numpy as np
import pytest
from refusals import refused

from latency_map import LatencyMapError, Survey
from latency_map.generate import Clusters, Span, generate_clustered, node_names
from latency_map.pictures import draw_heat_map, draw_node_link, save
from latency_map.pictures.figure import MEMBER_COLOUR, node_labels

NAN = float("nan")
SITES = Clusters(count=3, within=Span(low_ms=2, high_ms=6), between=Span(low_ms=40, high_ms=120))
# a and b on one site, c and d on another, 2 and 3 ms wide; nearest across: b - c 40 ms; a - d is missing
SMALL = Survey(
    names=("d", "a", "c", "b"), rtt_ms=np.array([[0, NAN, 3, 60], [NAN, 0, 50, 2], [3, 50, 0, 40], [60, 2, 41, 0]])
)


def generated(nodes):
    rng = np.random.default_rng(1)
    rtt_ms = generate_clustered(rng, nodes, SITES)
    upper = np.triu(rtt_ms * np.exp(0.1 * rng.standard_normal((nodes, nodes))), 1)
    rtt_ms = upper + upper.T  # no two pairs are as far apart
    return Survey(names=node_names(nodes), rtt_ms=rtt_ms)


def texts(figure):
    return [text.get_text() for ax in figure.axes for text in ax.texts] + [text.get_text() for text in figure.texts]


def png_size(file):
    head = file.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:24])


def test_a_heat_map_shows_every_round_trip_with_clusters_as_blocks():
    figure = draw_heat_map(SMALL, title="small.csv")
    ax, bar = figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c", "d"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c", "d"]
    (image,) = ax.images
    cells = image.get_array()
    assert (cells[0, 1], cells[1, 2], cells[2, 1], cells[2, 3]) == (2, 41, 40, 3)
    assert {(int(row), int(column)) for row, column in np.argwhere(np.ma.getmaskarray(cells))} == {(0, 3), (3, 0)}
    assert len(ax.patches) == 2  # a frame for each cluster
    assert bar.get_ylabel() == "round trip, ms (logarithmic)"  # 2 to 60: more than ten times
    assert ax.get_title().startswith("small.csv\n4 nodes, 2 clusters, 2 of 12 ")
    assert {"3", "40", "41", "2"} <= set(texts(figure))


def test_members_stand_out_among_the_names():
    ax = draw_heat_map(SMALL, title="small", members=["c"]).axes[0]
    marked = [label.get_text() for label in ax.get_yticklabels() if label.get_color() == MEMBER_COLOUR]
    assert marked == ["c"]


def test_names_of_a_large_map_are_thinned_but_for_members():
    survey = generated(300)
    ax = draw_heat_map(survey, title="large", members=["node-123"]).axes[0]
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert "node-123" in labels
    assert 60 <= len(labels) <= 110  # 11 inches of names 7.5 pt high: 105 at most
    gaps = np.diff(ax.get_yticks())
    assert gaps.min() >= 300 / 110
    assert ax.get_xlabel() != "to"


@pytest.mark.parametrize("nodes", [1, 2, 3, 8, 40, 80])
def test_a_picture_has_a_place_for_every_node(nodes):
    figure = draw_node_link(generated(max(nodes, 3)) if nodes > 2 else one_or_two(nodes), title="map")
    (ax,) = figure.axes
    names = [text for text in texts(figure) if text.startswith("node-")]
    assert len(names) == (nodes if nodes <= 64 else 0)
    assert figure.texts[0].get_text().startswith("map\n")
    low, high = zip(ax.get_xlim(), ax.get_ylim(), strict=True)
    for text in ax.texts:
        assert (np.array(low) <= text.get_position()).all()
        assert (np.array(high) >= text.get_position()).all()


def one_or_two(nodes):
    return Survey(names=node_names(nodes), rtt_ms=5.0 * ~np.eye(nodes, dtype=bool))


def test_a_picture_labels_links_and_the_nd_max_of_a_placement():
    figure = draw_node_link(SMALL, title="small", members=["b", "d"])
    written = texts(figure)
    assert {"2", "3", "41", "NDmax 60"} <= set(written)
    assert "60" not in written  # only the shortest link between the sites
    assert figure.texts[0].get_text() == "small\n4 nodes, 2 clusters, 2 members: NDmax 60 ms"


def test_a_placement_without_a_delay_is_drawn_without_nd_max():
    figure = draw_node_link(SMALL, title="small", members=["a", "d"])
    assert figure.texts[0].get_text().endswith("NDmax unknown, 1 delay missing")


@pytest.mark.parametrize("draw", [draw_heat_map, draw_node_link])
def test_a_survey_without_a_single_delay_can_be_drawn(draw, tmp_path):
    save(draw(Survey(names=tuple("abc"), rtt_ms=np.full((3, 3), NAN)), title="blank"), tmp_path / "blank.png")
    assert min(png_size(tmp_path / "blank.png")) > 300


@pytest.mark.parametrize("draw", [draw_heat_map, draw_node_link])
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_same_map_gives_the_same_file(draw, suffix, tmp_path):
    survey = generated(12)
    faulty = survey.rtt_ms.copy()
    faulty[1, 2] = faulty[2, 1] = np.nan
    faulty[3, 4] *= 1.1
    survey = Survey(names=survey.names, rtt_ms=faulty)
    order = np.random.default_rng(2).permutation(12)
    shuffled = Survey(names=tuple(survey.names[row] for row in order), rtt_ms=survey.rtt_ms[np.ix_(order, order)])
    files = [tmp_path / f"{number}.{suffix}" for number in range(2)]
    for file, one in zip(files, (survey, shuffled), strict=True):
        save(draw(one, title="map", members=["node-01", "node-09"]), file)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("name", "code"),
    [("map.pdf", "picture-suffix-unknown"), ("map", "picture-suffix-unknown"), ("nowhere/map.png", "file-unwritable")],
)
def test_a_picture_that_cannot_be_written_is_refused(name, code, tmp_path):
    with refused(code, LatencyMapError, source=str(tmp_path / name)):
        save(draw_heat_map(SMALL, title="small"), tmp_path / name)


def test_the_domain_that_all_nodes_share_is_not_written():
    domain = "eu-central-1.compute.internal"
    assert node_labels([f"ip-10-0-12-34.{domain}", f"ip-10-0-12-35.{domain}"]) == {
        f"ip-10-0-12-34.{domain}": "ip-10-0-12-34",
        f"ip-10-0-12-35.{domain}": "ip-10-0-12-35",
    }
    assert node_labels(["a.x", "a.y"]) == {"a.x": "a.x", "a.y": "a.y"}
    assert node_labels(["10.7.0.1"]) == {"10.7.0.1": "10.7.0.1"}
