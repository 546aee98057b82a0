"""Properties of clusters, summaries and layouts for any map."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from latency_map import Survey
from latency_map.pictures.node_link import compute_layout
from latency_map.summary import clusters, reading_order, summarise, symmetric_map

delays = st.one_of(st.integers(0, 4).map(float), st.floats(0, 1e9), st.just(math.nan))


@st.composite
def surveys(draw, max_size=7):
    count = draw(st.integers(1, max_size))
    cells = draw(st.lists(delays, min_size=count**2, max_size=count**2))
    names = tuple(f"n{number}" for number in draw(st.permutations(range(count))))
    return Survey(names=names, rtt_ms=np.array(cells).reshape(count, count))


def reordered(survey, order):
    names = tuple(survey.names[row] for row in order)
    return Survey(names=names, rtt_ms=survey.rtt_ms[np.ix_(order, order)])


@settings(deadline=None)
@given(surveys(), st.data())
def test_the_order_of_the_nodes_changes_nothing(survey, data):
    shuffled = reordered(survey, data.draw(st.permutations(range(len(survey)))))
    assert clusters(shuffled) == clusters(survey)
    assert reading_order(shuffled) == reading_order(survey)


@settings(deadline=None)
@given(surveys())
def test_every_node_is_in_one_cluster_and_once_in_reading_order(survey):
    assert sorted(name for cluster in clusters(survey) for name in cluster) == sorted(survey.names)
    assert sorted(reading_order(survey)) == sorted(survey.names)


@settings(deadline=None)
@given(surveys())
def test_a_summary_counts_every_pair(survey):
    summary = summarise(survey)
    assert summary.pairs == len(survey) * (len(survey) - 1) // 2
    assert 0 <= summary.missing_pairs + summary.one_way_pairs <= summary.pairs
    assert (summary.median_ms is None) == (summary.missing_pairs == summary.pairs)


@settings(deadline=None, max_examples=25)
@given(surveys(max_size=6))
def test_every_survey_can_be_laid_out(survey):
    places, boxes = compute_layout(symmetric_map(survey))
    assert np.isfinite(places).all()
    apart = np.abs(places[:, None] - places) - (boxes[:, None] + boxes) / 2
    others = ~np.eye(len(survey), dtype=bool)
    assert (apart.max(axis=2)[others] > -0.1).all()
