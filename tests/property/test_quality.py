"""Properties of checks and repairs for any survey and any order of its nodes."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from latency_map import LatencyMapError, Survey
from latency_map.kinds import Fill, Symmetrise
from latency_map.quality.check import check
from latency_map.quality.findings import Severity
from latency_map.quality.repair import Repair, repair

delays = st.one_of(st.just(np.nan), st.just(0.0), st.integers(1, 40).map(float), st.floats(0, 1e9))


@st.composite
def surveys(draw, largest=7):
    n = draw(st.integers(1, largest))
    rtt_ms = draw(arrays(np.float64, (n, n), elements=delays))
    if draw(st.booleans()):
        np.fill_diagonal(rtt_ms, 0.0)
    if draw(st.booleans()):
        rtt_ms = np.maximum(rtt_ms, rtt_ms.T)
    return Survey(names=tuple("abcdefghij"[:n]), rtt_ms=rtt_ms)


@st.composite
def metric_surveys(draw):
    """Distances of points with whole coordinates along streets, which break no triangle."""
    n = draw(st.integers(1, 8))
    points = draw(arrays(np.int64, (n, 2), elements=st.integers(0, 50), unique=False))
    rtt_ms = np.abs(points[:, None] - points).sum(axis=2).astype(float)
    rtt_ms[(rtt_ms == 0) & ~np.eye(n, dtype=bool)] = 1.0  # two nodes at one place
    rtt_ms = rtt_ms + 1.0
    np.fill_diagonal(rtt_ms, 0.0)
    return Survey(names=tuple("abcdefgh"[:n]), rtt_ms=rtt_ms)


exact_repairs = st.builds(
    Repair,
    zero_diagonal=st.booleans(),
    drop_zeros=st.booleans(),
    symmetrise=st.sampled_from([None, *Symmetrise]),
    fill=st.sampled_from([Fill.NONE, Fill.PATH]),
    drop_incomplete=st.booleans(),
)


def permuted(survey: Survey, order) -> Survey:
    return replace(
        survey,
        names=tuple(survey.names[row] for row in order),
        rtt_ms=survey.rtt_ms[np.ix_(order, order)],
        estimated=survey.estimated[np.ix_(order, order)],
    )


def assert_same(a: Survey, b: Survey):
    assert a.names == b.names
    np.testing.assert_array_equal(a.rtt_ms, b.rtt_ms)
    np.testing.assert_array_equal(a.estimated, b.estimated)
    assert a.changes == b.changes


@settings(deadline=None)
@given(metric_surveys())
def test_a_perfect_metric_map_has_no_finding_above_info(survey):
    found = [each for each in check(survey).findings if each.code != "map-delays-equal"]  # as in a triangle
    assert {each.severity for each in found} <= {Severity.INFO}


@settings(deadline=None)
@given(surveys())
def test_a_survey_is_usable_exactly_where_it_is_a_complete_map(survey):
    try:
        complete = survey.to_map().missing() == ()
    except LatencyMapError:
        complete = False
    assert check(survey).usable == complete


@settings(deadline=None, max_examples=20)
@given(surveys())
def test_the_repairs_that_a_check_names_make_a_survey_usable(survey):
    named = check(survey).repairs
    wanted = Repair(
        zero_diagonal="--zero-diagonal" in named,
        symmetrise=Symmetrise.MAX if "--symmetrise max" in named else None,
        fill=Fill.COORDINATES if "--fill coordinates" in named else Fill.NONE,
        drop_incomplete="--drop-incomplete" in named,
    )
    assert check(repair(survey, wanted).survey).usable


@settings(deadline=None)
@given(surveys(), exact_repairs, st.randoms(use_true_random=False))
def test_the_order_of_nodes_permutes_a_repair_and_nothing_else(survey, wanted, random):
    order = random.sample(range(len(survey)), len(survey))
    plain, other = repair(survey, wanted).survey, repair(permuted(survey, order), wanted).survey
    back = [other.names.index(name) for name in plain.names]
    assert_same(permuted(other, back), plain)


@settings(deadline=None, max_examples=20)
@given(surveys(), exact_repairs, st.sampled_from(Fill))
def test_the_same_repair_of_its_own_result_changes_nothing(survey, wanted, fill):
    wanted = replace(wanted, fill=fill)
    once = repair(survey, wanted).survey
    twice = repair(once, wanted)
    assert twice.changes == ()
    assert_same(twice.survey, once)


@settings(deadline=None, max_examples=20)
@given(surveys(), st.sampled_from([Fill.PATH, Fill.COORDINATES]))
def test_a_fill_changes_no_known_cell_and_marks_what_it_adds(survey, fill):
    filled = repair(survey, Repair(fill=fill)).survey
    known = ~np.isnan(survey.rtt_ms)
    np.testing.assert_array_equal(filled.rtt_ms[known], survey.rtt_ms[known])
    np.testing.assert_array_equal(filled.estimated, ~np.isnan(filled.rtt_ms) & ~known)
    added = filled.rtt_ms[filled.estimated]
    np.testing.assert_array_equal(added, filled.rtt_ms.T[filled.estimated])
