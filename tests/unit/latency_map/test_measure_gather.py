import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from latency_map import Asymmetry, LatencyMapError
from latency_map.measure.gather import GaugeSample, gather_agents, gather_samples

NOW_S = 1_700_000_000.0


def cell(source, target, rtt_ms, *, at_s=NOW_S, **labels):
    """The figures of one pair as an agent exports them."""
    figures = {
        "rtt_seconds": rtt_ms / 1000,
        "rtt_p95_seconds": 2 * rtt_ms / 1000,
        "jitter_seconds": rtt_ms / 10_000,
        "loss_ratio": 0.25,
        "probes": 15.0,
        "measured_timestamp_seconds": at_s,
    }
    ends = {"source": source, "target": target, **labels}
    return [
        GaugeSample(name=f"gesscale_latency_{name}", labels={"__name__": name, **ends}, value=value)
        for name, value in figures.items()
    ]


def survey_of(*cells, fill=False, now_s=None):
    samples = [sample for some in cells for sample in some]
    return gather_samples(samples, fill_missing=fill, now_s=now_s).survey


def test_both_directions_are_kept_and_decided_on_later():
    survey = survey_of(cell("b", "a", 12.0), cell("a", "b", 10.0))
    assert survey.names == ("a", "b")
    assert survey.rtt_ms.tolist() == [[0, pytest.approx(10)], [pytest.approx(12), 0]]
    assert survey.to_map(Asymmetry.MAX).delay_ms("a", "b") == pytest.approx(12)


def test_a_survey_is_as_old_as_its_oldest_round_trip():
    old = cell("a", "b", 1.0, at_s=NOW_S - 90)
    new = cell("b", "a", 1.0, at_s=NOW_S - 5)
    lost = [one for one in cell("c", "a", 1.0, at_s=NOW_S - 999) if one.name.endswith("loss_ratio")]
    assert survey_of(old, new, lost).measured_at_s == NOW_S - 90
    ahead = cell("a", "b", 1.0, at_s=NOW_S + 60)
    assert survey_of(ahead).measured_at_s == NOW_S + 60
    assert survey_of(ahead, now_s=NOW_S).measured_at_s == NOW_S
    assert survey_of([one for one in old if "timestamp" not in one.name]).measured_at_s is None


def test_of_two_agents_that_claim_a_node_the_newer_figure_counts():
    first = cell("a", "b", 7.0, at_s=NOW_S, instance="x")
    other = cell("a", "b", 99.0, at_s=NOW_S - 60, instance="y")
    for cells in ((first, other), (other, first)):
        survey = survey_of(*cells)
        assert survey.rtt_ms[0, 1] == pytest.approx(7)
        assert survey.measured_at_s == NOW_S


@pytest.mark.parametrize("at_s", [NOW_S, -1.0, math.nan], ids=["dated", "before the epoch", "undated"])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_figures_of_one_time_that_contradict_each_other_are_not_used(order, at_s):
    same = [cell("a", "b", rtt_ms, at_s=at_s, replica=name) for name, rtt_ms in (("x", 10), ("y", 10.5), ("z", 30))]
    other = cell("b", "c", 4.0)
    gathered = gather_samples([each for place in order for each in same[place]] + other, fill_missing=False)
    assert math.isnan(gathered.survey.rtt_ms[0, 1])
    contradiction, unreached, _mostly_missing = gathered.warnings
    assert contradiction.code == "agents-contradict"
    assert contradiction.fields == {"count": 1, "pairs": ["a to b"]}
    assert unreached.fields == {"count": 1, "nodes": ["a"]}
    newer = cell("a", "b", 12.0, at_s=NOW_S + 5, replica="w")
    assert survey_of(*same, newer).rtt_ms[0, 1] == pytest.approx(12)
    with refused("agents-contradict", LatencyMapError, count=1):
        survey_of(*same)


def test_zeros_of_agents_are_warned_of():
    gathered = gather_samples([*cell("a", "b", 0.0), *cell("b", "c", 4.0)], fill_missing=False)
    (zeros,) = (each for each in gathered.warnings if each.code == "map-zero-delays")
    assert zeros.fields == {"count": 1, "pairs": ["a - b"]}


RENAMED = st.integers(0, 3)


@given(RENAMED, RENAMED, st.permutations("abc"))
def test_labels_that_servers_renamed_are_those_of_the_agent(source_times, target_times, nodes):
    def renamed(sample):
        ends = {}
        for label, times in (("source", source_times), ("target", target_times)):
            # each server puts the label of its targets in the place of the agent's, which gets one more prefix
            ends |= {"exported_" * earlier + label: f"site-{earlier}" for earlier in range(times)}
            ends["exported_" * times + label] = sample.labels[label]
        return GaugeSample(name=sample.name, labels=ends, value=sample.value)

    cells = [cell(a, b, 10.0 * (1 + place)) for place, (a, b) in enumerate(permutations(nodes, 2))]
    as_agents, by_servers = cells, [[renamed(sample) for sample in one] for one in cells]
    expected, found = survey_of(*as_agents), survey_of(*by_servers)
    assert found.names == expected.names == ("a", "b", "c")
    assert np.array_equal(found.rtt_ms, expected.rtt_ms)


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, 1e9])
def test_an_invalid_figure_is_dropped(value):
    wrong = [GaugeSample(name="gesscale_latency_rtt_seconds", labels={"source": "a", "target": "c"}, value=value)]
    survey = survey_of(cell("a", "b", 10.0), wrong)
    assert survey.names == ("a", "b", "c")
    assert math.isnan(survey.rtt_ms[0, 2])


def test_other_samples_are_skipped():
    strange = [
        GaugeSample(name="up", labels={"source": "x", "target": "y"}, value=1),
        GaugeSample(name="gesscale_latency_rtt_seconds", labels={"source": "", "target": "y"}, value=1),
        GaugeSample(name="gesscale_latency_rtt_seconds", labels={"source": "a", "target": "a"}, value=1),
        GaugeSample(name="gesscale_latency_sent_total", labels={"source": "idle"}, value=1),
    ]
    survey = survey_of(cell("a", "b", 10.0), strange)
    assert survey.names == ("a", "b", "idle")
    assert survey.rtt_ms[0, 0] == 0


@pytest.mark.parametrize("samples", [[], cell("a", "b", math.nan)])
def test_no_round_trip_at_all_is_an_error(samples):
    with refused("agents-not-ready", LatencyMapError):
        gather_samples(samples, fill_missing=True)


def ring(n, spacing_ms=10.0):
    """Nodes on a line that each measured the next two: round trips that coordinates can tell."""
    return [
        cell(f"n{i:02}", f"n{j:02}", spacing_ms * (j - i)) for i in range(n) for j in (i + 1, i + 2, i + 3) if j < n
    ]


def test_missing_pairs_are_estimated_and_marked():
    plain, filled = survey_of(*ring(12)), survey_of(*ring(12), fill=True)
    measured = ~np.isnan(plain.rtt_ms)
    assert (filled.rtt_ms[measured] == plain.rtt_ms[measured]).all()
    # a direction whose other one was measured is not made up
    assert (filled.estimated == ~(measured | measured.T)).all()
    assert filled.to_map().missing() == ()
    # 11 steps of 10 ms; other tests check how good coordinates are; here only that they are in the map
    assert filled.rtt_ms[0, 11] == pytest.approx(110, rel=0.3)
    # 12 * 11 / 2 pairs less 11 + 10 + 9 are 36, two cells each
    (change,) = filled.changes
    assert change.startswith("repair fill: 72 cells ")


def test_a_node_that_nothing_joins_stays_unknown():
    idle = [GaugeSample(name="gesscale_latency_sent_total", labels={"source": "idle"}, value=1)]
    survey = survey_of(*ring(6), idle, fill=True)
    assert np.isnan(survey.rtt_ms[0, 1:]).all()
    assert len(survey.to_map().missing()) == 6  # idle to each of six


PAGE = """# TYPE gesscale_latency_rtt_seconds gauge
gesscale_latency_rtt_seconds{source="a",target="b"} 0.004
gesscale_latency_measured_timestamp_seconds{source="a",target="b"} 1.7e9
python_info{version="3"} 1
"""


def gather(*urls):
    return gather_agents(urls, now_s=NOW_S, timeout_s=60)


def test_agents_that_do_not_answer_are_listed_with_the_reason(httpserver):
    httpserver.expect_request("/metrics").respond_with_data(PAGE)
    httpserver.expect_request("/busy/metrics").respond_with_data("", status=503)
    httpserver.expect_request("/empty/metrics").respond_with_data("up 1\n")
    httpserver.expect_request("/page/metrics").respond_with_data("<html>{</html>")
    httpserver.expect_request("/broken/metrics").respond_with_data(PAGE + "gesscale_latency_rtt_seconds{")
    httpserver.expect_request("/bytes/metrics").respond_with_data(b"gesscale_latency_\xff\xff 1\n")
    good = httpserver.url_for("").rstrip("/")
    bad = {
        f"{good}/busy": "fetch-status-unexpected",
        f"{good}/empty": "agent-samples-missing",
        f"{good}/page": "agent-samples-missing",
        f"{good}/broken": "agent-page-invalid",
        f"{good}/bytes": "agent-page-invalid",
        "ftp://a": "fetch-url-invalid",
        "http://127.0.0.1:1": "fetch-connection-failed",
        "http://127.0.0.1:99999": "fetch-connection-failed",
    }
    gathered = gather(good, good, *bad)
    assert gathered.survey.rtt_ms[0, 1] == pytest.approx(4)
    assert gathered.survey.measured_at_s == NOW_S
    assert {url: problem.code for url, problem in gathered.unreachable.items()} == bad


@pytest.mark.parametrize(
    ("urls", "code"),
    [
        ([], "agents-missing"),
        (["http://127.0.0.1:1"], "agents-all-unreachable"),
        (["http://127.0.0.1:1", "nonsense"], "agents-all-unreachable"),
    ],
)
def test_no_agent_at_all_is_an_error(urls, code):
    with refused(code, LatencyMapError):
        gather(*urls)
