import math

import numpy as np
import pytest

from latency_map import Asymmetry, Survey
from latency_map.quality import triangles
from latency_map.quality.check import check
from latency_map.quality.findings import Severity

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


def finding(report, code):
    (found,) = [each for each in report.findings if each.code == code]
    return found


@pytest.mark.parametrize(
    ("values", "code", "severity", "count", "out_of", "nodes", "rtt_ms"),
    [
        (GAP, "map-pairs-missing", Severity.ERROR, 1, 3, ("a",), None),  # a and c lack one each
        (LONE_NODE, "map-pairs-missing", Severity.ERROR, 2, 3, ("c",), None),
        (LONE_NODE, "map-islands", Severity.ERROR, 1, 3, ("c",), None),
        (SELF, "map-self-delays", Severity.ERROR, 1, 3, (), None),
        (LOPSIDED, "map-asymmetric", Severity.ERROR, 1, 3, ("a", "b"), 6),
        (ONE_WAY, "map-directions-missing", Severity.WARNING, 1, 3, ("b",), None),
        (ZERO, "map-zero-delays", Severity.WARNING, 1, 3, (), None),
        # three pairs with one detour each, 1 of 3; directions that differ would be 1 of 6
        (BROKEN, "map-triangles-broken", Severity.WARNING, 1, 3, ("a", "c", "b"), 9),
    ],
)
def test_each_fault_is_found_with_its_worst_case(values, code, severity, count, out_of, nodes, rtt_ms):
    found = finding(check(survey(values)), code)
    assert (found.severity, found.count, found.out_of) == (severity, count, out_of)
    assert found.share_ratio == count / out_of
    assert (found.nodes, found.rtt_ms) == (nodes, rtt_ms)
    assert found.advice
    assert str(found.problem)


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
    found = finding(report, "map-asymmetric")
    assert found.severity is severity
    assert report.usable


def test_each_direction_has_its_own_detours_where_they_differ():
    values = np.array(BROKEN, dtype=float)
    values[2, 0] = 8.5  # back is broken too, by less: 5 + 3 = 8
    found = finding(check(survey(values)), "map-triangles-broken")
    assert (found.count, found.out_of) == (2, 6)
    assert found.problem.fields["saving_ms"] == 1  # 9 - 8


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
    codes = {each.code for each in check(named(noisy_places(nodes))).findings}
    assert not codes & {"map-pairs-slow", "map-pairs-fast"}


@pytest.mark.parametrize("nodes", [8, 40, 150])
def test_a_pair_that_is_much_too_slow_is_the_only_outlier(nodes):
    rtt_ms = noisy_places(nodes)
    rtt_ms[1, 4] = rtt_ms[4, 1] = 2000.0  # no detour is longer than 2 (142 + 5) 1.5 = 441 ms
    found = finding(check(named(rtt_ms)), "map-pairs-slow")
    assert found.count == 1
    assert (found.nodes, found.rtt_ms) == (("n001", "n004"), 2000.0)


def test_a_pair_that_is_much_too_fast_is_an_outlier():
    # on a line of 12, 10 ms apart, the ends are 110 ms apart and say that they are 1 ms apart
    line = np.abs(np.subtract.outer(np.arange(12), np.arange(12))) * 10.0
    line[0, 11] = line[11, 0] = 1.0
    found = finding(check(named(line)), "map-pairs-fast")
    assert (found.count, found.nodes) == (1, ("n000", "n011"))
    # the ten between them say |10 k - (110 - 10 k)|: 90, 70, 50, 30, 10, 10, 30, 50, 70, 90
    assert found.problem.fields["bound_ms"] == 50


@pytest.mark.parametrize(
    ("age_s", "code", "severity"),
    [
        (60.0, "map-recent", Severity.INFO),
        (86_401.0, "map-old", Severity.WARNING),
        (-5.0, "map-from-future", Severity.WARNING),
    ],
)
def test_a_known_age_is_reported(age_s, code, severity):
    report = check(survey(PERFECT, measured_at_s=1e9), now_s=1e9 + age_s)
    found = finding(report, code)
    assert found.severity == severity
    (unknown,) = check(survey(PERFECT), now_s=1e9).findings
    assert (unknown.code, unknown.severity) == ("map-age-unknown", Severity.INFO)


@pytest.mark.parametrize(("pairs", "severity"), [(1, Severity.INFO), (2, Severity.WARNING)])
def test_estimates_are_counted(pairs, severity):
    estimated = np.zeros((3, 3), dtype=bool)
    for a, b in [(0, 1), (0, 2)][:pairs]:
        estimated[a, b] = estimated[b, a] = True
    found = finding(check(survey(PERFECT, estimated=estimated)), "map-estimated")
    assert (found.severity, found.count, found.out_of) == (severity, 2 * pairs, 6)


def test_of_equally_bad_pairs_the_first_by_name_is_the_worst():
    values = np.full((4, 4), NAN)
    np.fill_diagonal(values, 0.0)
    unknown = Survey(names=("d", "b", "c", "a"), rtt_ms=values)
    assert finding(check(unknown), "map-pairs-missing").nodes == ("a",)


def test_too_many_detours_are_sampled(monkeypatch):
    rtt_ms = noisy_places(60)
    (whole,) = [each for each in check(named(rtt_ms)).findings if each.code.startswith("map-triangles-")]
    monkeypatch.setattr(triangles, "MAX_DETOURS", 60 * 60 * 10)  # 20 of 60 nodes in between, half the pairs
    (part,) = [each for each in check(named(rtt_ms)).findings if each.code.startswith("map-triangles-")]
    assert whole.counted == "detours"
    assert part.counted != "detours"
    assert " 20 " in part.counted
    # every one of the 20 lies between the pairs of the 59 others: 20 * 59 * 58 / 2
    assert part.out_of == 34_220
    assert part.share_ratio == pytest.approx(whole.share_ratio, rel=0.25)
