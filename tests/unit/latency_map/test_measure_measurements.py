import math

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from latency_map.measure.gauges import AgentGauges
from latency_map.measure.measurements import Measurements
from latency_map.measure.probe import Reply, Timeout
from latency_map.measure.sweep import SentProbe


def sounding(sent_at_s, rtt_ms=None):
    sample = Timeout(timeout_s=1.0) if rtt_ms is None else Reply(rtt_ms=rtt_ms)
    return SentProbe(sent_at_s=sent_at_s, sample=sample)


@pytest.fixture
def board():
    filled = Measurements(kept=3)
    filled.keep(["a", "b"], window_s=10)
    filled.add({"a": [sounding(0, 5.0), sounding(4, 7.0), sounding(8)], "b": [sounding(1)]})
    return filled


def test_a_pair_is_summed_up_over_what_is_kept(board):
    measured = board.measured(now_s=9)
    assert measured["a"].summary.median_ms == 6
    assert measured["a"].replied_at_s == 4  # the last one was lost
    assert measured["b"].replied_at_s is None


def test_figures_older_than_the_window_drop_out(board):
    assert board.measured(now_s=11).keys() == {"a", "b"}  # b is exactly ten seconds old
    later = board.measured(now_s=12)
    assert later.keys() == {"a"}
    assert later["a"].summary.probes == 2
    assert board.measured(now_s=15)["a"].summary.median_ms is None  # only the lost one is left
    assert board.measured(now_s=19) == {}


def test_only_the_last_few_are_kept(board):
    board.add({"a": [sounding(9, 20.0), sounding(9, 30.0)]})
    summary = board.measured(now_s=9)["a"].summary
    assert (summary.probes, summary.median_ms) == (3, 25.0)  # the lost one, 20 and 30


def test_a_peer_that_has_gone_is_forgotten(board):
    board.keep(["b"], window_s=10)
    assert board.measured(now_s=9).keys() == {"b"}
    board.keep(["a", "b"], window_s=10)
    assert board.measured(now_s=9).keys() == {"b"}


def figures(board, *, now_s, wall_s):
    registry = CollectorRegistry()
    registry.register(
        AgentGauges(
            node="me",
            measured=lambda: board.measured(now_s),
            age_s=lambda instant_s: now_s - instant_s,
            now_s=lambda: wall_s,
            sent=lambda: 12,
            rounds=lambda: 3,
        )
    )
    lines = generate_latest(registry).decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


def test_gauges_are_in_seconds_and_ratios_and_say_when(board):
    pair = '{source="me",target="a"}'
    lost = '{source="me",target="b"}'
    assert figures(board, now_s=9, wall_s=1_000_009) == {
        f"gesscale_latency_rtt_seconds{pair}": pytest.approx(0.006),
        # 5 and 7: at 95 % of the way from one to the other
        f"gesscale_latency_rtt_p95_seconds{pair}": pytest.approx(0.0069),
        f"gesscale_latency_jitter_seconds{pair}": pytest.approx(0.002),
        f"gesscale_latency_loss_ratio{pair}": pytest.approx(1 / 3),
        f"gesscale_latency_loss_ratio{lost}": 1.0,
        f"gesscale_latency_probes{pair}": 3.0,
        f"gesscale_latency_probes{lost}": 1.0,
        f"gesscale_latency_measured_timestamp_seconds{pair}": 1_000_004.0,
        'gesscale_latency_sent_total{source="me"}': 12.0,
        'gesscale_latency_rounds_total{source="me"}': 3.0,
    }


def test_a_wall_clock_that_is_set_back_keeps_no_figure_alive(board):
    back = figures(board, now_s=9, wall_s=500)
    assert back['gesscale_latency_measured_timestamp_seconds{source="me",target="a"}'] == 495
    assert not any(math.isnan(value) for value in back.values())
    assert not any("target" in name for name in figures(board, now_s=30, wall_s=500))
