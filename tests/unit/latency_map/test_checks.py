import math

import numpy as np
import pytest

from latency_map import Asymmetry, Survey
from latency_map.quality import triangles
from latency_map.quality.check import check
from latency_map.quality.findings import Concern, Severity

NAN = math.nan

PERFECT = [[0, 3, 4], [3, 0, 5], [4, 5, 0]]
GAP = [[0, 3, NAN], [3, 0, 5], [NAN, 5, 0]]
LONE_NODE = [[0, 3, NAN], [3, 0, NAN], [NAN, NAN, 0]]
SELF = [[0, 3, 4], [3, 7, 5], [4, 5, 0]]
LOPSIDED = [[0, 3, 4], [6, 0, 5], [4, 5, 0]]
ONE_WAY = [[0, 3, 4], [NAN, 0, 5], [4, 5, 0]]
ZERO = [[0, 0, 5], [0, 0, 5], [5, 5, 0]]
BROKEN = [[0, 3, 9], [3, 0, 5], [9, 5, 0]]  # a - c 9, by way of b 8


def survey(values, **more) -> Survey:
    return Survey(names=tuple("abcdefgh"[: len(values)]), rtt_ms=np.array(values, dtype=float), **more)


def finding(report, concern):
    (found,) = [each for each in report.findings if each.concern is concern]
    return found


@pytest.mark.parametrize(
    ("values", "concern", "severity", "count", "out_of", "nodes", "rtt_ms"),
    [
        (GAP, Concern.MISSING_PAIRS, Severity.ERROR, 1, 3, ("a",), None),  # a and c lack one each
        (LONE_NODE, Concern.MISSING_PAIRS, Severity.ERROR, 2, 3, ("c",), None),
        (LONE_NODE, Concern.ISLANDS, Severity.ERROR, 1, 3, ("c",), None),
        (SELF, Concern.SELF_DELAYS, Severity.ERROR, 1, 3, ("b",), 7),
        (LOPSIDED, Concern.ASYMMETRY, Severity.ERROR, 1, 3, ("a", "b"), 6),
        (ONE_WAY, Concern.ONE_WAY_PAIRS, Severity.WARNING, 1, 3, ("b",), None),
        (ZERO, Concern.ZERO_DELAYS, Severity.WARNING, 2, 6, ("a", "b"), 0),
        # three pairs with one detour each, 1 of 3; directions that differ would be 1 of 6
        (BROKEN, Concern.BROKEN_TRIANGLES, Severity.WARNING, 1, 3, ("a", "c", "b"), 9),
    ],
)
def test_each_fault_is_found_with_its_worst_case(values, concern, severity, count, out_of, nodes, rtt_ms):
    found = finding(check(survey(values)), concern)
    assert (found.severity, found.count, found.out_of) == (severity, count, out_of)
    assert found.share_ratio == count / out_of
    assert (found.worst.nodes, found.worst.rtt_ms) == (nodes, rtt_ms)
    assert found.advice


@pytest.mark.parametrize(
    ("values", "repairs"),
    [
        (PERFECT, ()),
        (ZERO, ()),
        (BROKEN, ()),
        (ONE_WAY, ()),
        (GAP, ("--fill coordinates",)),
        (LONE_NODE, ("--fill coordinates", "--drop-incomplete")),
        (SELF, ("--zero-diagonal",)),
        (LOPSIDED, ("--symmetrise max",)),
    ],
)
def test_the_verdict_names_the_repairs_that_make_a_survey_usable(values, repairs):
    report = check(survey(values))
    assert report.repairs == repairs
    assert report.usable == (not repairs)
    assert report.verdict.startswith("usable" if report.usable else "not usable")
    assert all(option in report.verdict for option in repairs)


@pytest.mark.parametrize(
    ("back_ms", "severity"),
    [
        (2.9, Severity.INFO),  # 0.1 / 3 = 3 %
        (2.0, Severity.WARNING),  # 1 / 3 = 33 %
    ],
)
def test_asymmetry_is_judged_by_its_size_where_it_is_not_refused(back_ms, severity):
    values = np.array(PERFECT, dtype=float)
    values[1, 0] = back_ms
    report = check(survey(values), asymmetry=Asymmetry.MAX)
    found = finding(report, Concern.ASYMMETRY)
    assert found.severity is severity
    assert report.usable
    assert "by the max of two directions" in report.verdict


def test_each_direction_has_its_own_detours_where_they_differ():
    values = np.array(BROKEN, dtype=float)
    values[2, 0] = 8.5  # back is broken too, by less: 5 + 3 = 8
    found = finding(check(survey(values)), Concern.BROKEN_TRIANGLES)
    assert (found.count, found.out_of) == (2, 6)
    assert "1 ms less" in found.worst.text  # 9 - 8


def test_delays_that_are_equal_but_for_rounding_break_no_triangle():
    # 0.1 + 0.2 is 0.30000000000000004 and 0.3 is less, so take the long side above it by one part in 1e12
    side = 0.30000000000000004 * (1 + 1e-12)
    assert check(survey([[0, 0.1, side], [0.1, 0, 0.2], [side, 0.2, 0]])).findings == ()


def noisy_places(nodes: int, seed: int = 2) -> np.ndarray:
    """Places in a plane, and on every delay 10 % of noise."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 100, (nodes, 2))
    noise = np.triu(rng.lognormal(0, 0.1, (nodes, nodes)), 1)
    return (np.linalg.norm(points[:, None] - points, axis=2) + 5) * (noise + noise.T)


def named(rtt_ms) -> Survey:
    return Survey(names=tuple(f"n{row:03}" for row in range(len(rtt_ms))), rtt_ms=rtt_ms)


@pytest.mark.parametrize("nodes", [5, 8, 40, 150])
def test_noise_of_a_tenth_makes_no_pair_an_outlier(nodes):
    concerns = {each.concern for each in check(named(noisy_places(nodes))).findings}
    assert not concerns & {Concern.SLOW_PAIRS, Concern.FAST_PAIRS}


@pytest.mark.parametrize("nodes", [8, 40, 150])
def test_a_pair_that_is_much_too_slow_is_the_only_outlier(nodes):
    rtt_ms = noisy_places(nodes)
    rtt_ms[1, 4] = rtt_ms[4, 1] = 2000.0  # no detour is longer than 2 (142 + 5) 1.5 = 441 ms
    found = finding(check(named(rtt_ms)), Concern.SLOW_PAIRS)
    assert found.count == 1
    assert (found.worst.nodes, found.worst.rtt_ms) == (("n001", "n004"), 2000.0)


def test_a_pair_that_is_much_too_fast_is_an_outlier():
    # on a line of 12, 10 ms apart, the ends are 110 ms apart and say that they are 1 ms apart
    line = np.abs(np.subtract.outer(np.arange(12), np.arange(12))) * 10.0
    line[0, 11] = line[11, 0] = 1.0
    found = finding(check(named(line)), Concern.FAST_PAIRS)
    assert (found.count, found.worst.nodes) == (1, ("n000", "n011"))
    # the ten between them say |10 k - (110 - 10 k)|: 90, 70, 50, 30, 10, 10, 30, 50, 70, 90
    assert "at least 50 ms" in found.worst.text


@pytest.mark.parametrize(
    ("age_s", "severity"), [(60.0, Severity.INFO), (86_401.0, Severity.WARNING), (-5.0, Severity.WARNING)]
)
def test_age_is_told_where_it_is_known(age_s, severity):
    report = check(survey(PERFECT, measured_at_s=1e9), now_s=1e9 + age_s)
    found = finding(report, Concern.AGE)
    assert found.severity == severity
    assert check(survey(PERFECT), now_s=1e9).findings == ()


@pytest.mark.parametrize(("pairs", "severity"), [(1, Severity.INFO), (2, Severity.WARNING)])
def test_estimates_are_counted(pairs, severity):
    estimated = np.zeros((3, 3), dtype=bool)
    for a, b in [(0, 1), (0, 2)][:pairs]:
        estimated[a, b] = estimated[b, a] = True
    found = finding(check(survey(PERFECT, estimated=estimated)), Concern.ESTIMATED)
    assert (found.severity, found.count, found.out_of) == (severity, 2 * pairs, 6)


def test_of_equally_bad_pairs_the_first_by_name_is_the_worst():
    values = np.full((4, 4), NAN)
    np.fill_diagonal(values, 0.0)
    zeros = Survey(names=("d", "b", "c", "a"), rtt_ms=np.zeros((4, 4)))
    assert finding(check(zeros), Concern.ZERO_DELAYS).worst.nodes == ("a", "b")
    unknown = Survey(names=("d", "b", "c", "a"), rtt_ms=values)
    assert finding(check(unknown), Concern.MISSING_PAIRS).worst.nodes == ("a",)


def test_too_many_detours_are_sampled_and_that_is_said(monkeypatch):
    rtt_ms = noisy_places(60)
    whole = finding(check(named(rtt_ms)), Concern.BROKEN_TRIANGLES)
    monkeypatch.setattr(triangles, "MAX_DETOURS", 60 * 60 * 10)  # 20 of 60 nodes in between, half the pairs
    part = finding(check(named(rtt_ms)), Concern.BROKEN_TRIANGLES)
    assert whole.counted == "detours"
    assert part.counted == "detours (a sample: by way of 20 nodes)"
    # every one of the 20 lies between the pairs of the 59 others: 20 * 59 * 58 / 2
    assert part.out_of == 34_220
    assert part.share_ratio == pytest.approx(whole.share_ratio, rel=0.25)
