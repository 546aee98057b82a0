import math
import re
from itertools import pairwise

import pytest
from played_results import an_experiment, play

from testbed.arena.report.about import facts
from testbed.arena.report.course import AxisRanges, draw_course, provisioning_errors
from testbed.arena.report.frontier import PolicyRuns, draw_frontier, spread
from testbed.arena.report.lag import PolicyLag, draw_latency
from testbed.arena.report.outcomes import Outcomes
from testbed.arena.report.svg import ROLES, as_element, blank_figure, colour, in_figure, policy_colour

COURSE = {
    "t_s": (0.0, 60.0, 120.0),
    "input_rows_per_s": (100.0, 300.0, 200.0),
    "processed_rows_per_s": (100.0, None, 250.0),
    "demand_replicas": (1.0, 3.0, 2.0),
    "supply_replicas": (1.0, 1.0, 4.0),
    "serving_replicas": (1.0, 1.0, None),
    "backlog_rows": (0.0, 600.0, 0.0),
}


def test_the_error_is_supply_minus_demand():
    assert provisioning_errors(COURSE) == [0.0, -2.0, 2.0]


def test_what_is_unknown_has_no_error():
    errors = provisioning_errors({**COURSE, "supply_replicas": (1.0, None, 4.0)})
    assert (errors[0], errors[2]) == (0.0, 2.0)
    assert math.isnan(errors[1])


def test_scales_have_room_for_every_policy():
    calm = {
        **COURSE,
        "t_s": (0.0, 60.0, 300.0),
        "supply_replicas": (7.0, 7.0, 7.0),
        "backlog_rows": (0.0, 0.0, 0.0),
    }
    scales = AxisRanges.covering([COURSE, calm])
    # errors of the calm one: 6, 4, 5
    assert (scales.end_s, scales.rows_per_s, scales.replicas) == (300.0, 300.0, 7.0)
    assert (scales.too_few, scales.too_many, scales.backlog_rows) == (-2.0, 6.0, 600.0)


def test_scales_of_nothing_are_still_scales():
    scales = AxisRanges.covering([{"t_s": (0.0,)}])
    assert min(scales.end_s, scales.rows_per_s, scales.replicas, scales.backlog_rows) > 0
    assert scales.too_few < 0 < scales.too_many


def test_a_course_says_what_it_shows_in_words_that_can_be_searched():
    svg = draw_course(COURSE, AxisRanges.covering([COURSE]), key="k", label="a < b & c")
    assert 'role="img"' in svg
    assert 'aria-label="a &lt; b &amp; c"' in svg
    assert ">replicas</text>" in svg
    assert ">minutes</text>" in svg


def test_long_runs_are_drawn_over_hours():
    long = {**COURSE, "t_s": (0.0, 3600.0, 48 * 3600.0)}
    assert ">hours</text>" in draw_course(long, AxisRanges.covering([long]), key="k", label="l")


def test_a_figure_takes_its_colours_from_the_page():
    with blank_figure(100, 80) as figure:
        ax = figure.add_axes((0, 0, 1, 1))
        ax.plot([0, 1], [0, 1], color=colour("supply"))
        ax.plot([0, 1], [1, 0], color=policy_colour(9))  # the colours of policies begin again after 8
        svg = as_element(figure, "k", "l")
    assert "stroke:var(--supply)" in svg
    assert "stroke:var(--p1)" in svg
    assert "<style" not in svg
    assert "<metadata" not in svg


def test_no_two_colours_are_the_same():
    colours = [colour(role) for role in ROLES] + [policy_colour(index) for index in range(8)]
    assert len(set(colours)) == len(colours)


def test_ids_of_two_figures_differ_and_their_references_follow():
    def drawn(key):
        with blank_figure(100, 80) as figure:
            figure.add_axes((0, 0, 1, 1)).plot([0, 1], [0, 1], "o")
            return as_element(figure, key, "l")

    one, other = drawn("a"), drawn("b")
    ids = set(re.findall(r' id="([^"]+)"', one))
    assert ids
    assert all(name.startswith("a-") for name in ids)
    assert ids.isdisjoint(re.findall(r' id="([^"]+)"', other))
    assert set(re.findall(r"#(a-[\w-]+)", one)) == ids
    assert drawn("a") == one


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("gesscale", "gesscale"),
        ("a\x00b", "a�b"),
        ("/srv/somebody/my/policies.py:Mine", "/srv/some…es.py:Mine"),
    ],
)
def test_names_are_cut_and_cleaned_for_figures(name, shown):
    assert in_figure(name) == shown


def test_labels_are_moved_apart_and_stay_inside():
    assert spread([0.2, 0.2, 0.2], 0.1) == pytest.approx([0.2, 0.3, 0.4])
    assert spread([0.98, 0.99, 1.0], 0.1) == pytest.approx([0.8, 0.9, 1.0])
    assert spread([], 0.1) == []


def test_a_frontier_shows_every_policy_by_name_even_in_signs_of_mathematics():
    policies = [
        PolicyRuns(policy="$x_1$", index=0, runs=((3.0, 900.0), (5.0, 1000.0)), least_cost=800.0),
        PolicyRuns(policy="still", index=1, runs=((0.0, 900.0),)),
    ]
    svg = draw_frontier([1200.0, 1000.0, 850.0], policies, key="k", label="l")
    assert ">$x_1$</text>" in svg
    assert ">still</text>" in svg
    assert ">frontier</text>" in svg
    assert ">frontier</text>" not in draw_frontier([], policies, key="k", label="l")


def test_what_was_run_is_told_with_its_nodes_and_changes():
    experiment = an_experiment(engine="flink", operators={"nearest": {"restart": "120s"}}, seeds=2)
    results = play(experiment, samples=12)
    reported = dict(facts(Outcomes(experiment=experiment, results=results, baseline="gesscale")))
    assert reported["engine"] == "simulated Flink"
    assert reported["nodes"] == "8, round trips 0 to 300 ms, uniform, drawn again for each seed"
    assert (
        reported["a change costs"] == "a restart of 120 s without output; restarting replicas count as supply"
    )
    assert reported["seeds"] == "2 (0 to 1)"
    assert reported["runs"] == "16, none lost"  # 4 policies, 2 workloads, 2 seeds


@pytest.mark.parametrize(
    "latency_s", [(2.1, 2.9, 3.8), (0.4, 18.0, 45.0), (1.0, 900.0, 80_000.0), (0.02, 0.3, 70.0)]
)
def test_labels_of_the_logarithmic_axis_of_latency_do_not_overlap(latency_s):
    lag = PolicyLag(policy="hpa", index=0, lag_s=(1.0,), mean=1.0, low=None, high=None, latency_s=latency_s)
    svg = draw_latency([lag], key="k", label="l")
    places = sorted(map(float, re.findall(r'<text[^>]* x="([\d.]+)"[^>]*>[\d.]+k?<', svg)))
    assert len(places) >= 2
    # A label of at most five signs is less than 35 of the 450 wide.
    assert min(after - before for before, after in pairwise(places)) > 35
