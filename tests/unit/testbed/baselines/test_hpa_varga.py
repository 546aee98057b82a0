"""HPA-Varga: utilisation and relative lag change, over the bottlenecks of a workflow (Kanis 2023, 6.7.4)."""

import pytest
from edge import workflow
from hpa_readings import analyses, lagging, op

from testbed.baselines.hpa import Recommendations


def varga(flow, *readings, **more):
    """Return what HPA-Varga asks for by operator; what it asked for before has gone from its window."""
    old = Recommendations(policy="hpa-varga", at_s=0.0, asked=((0.0, 1),)).model_dump_json()
    found = analyses("hpa-varga", flow, *readings, memos={item.operator: old for item in readings}, **more)
    return {name: each.desired_replicas for name, each in found.items()}


@pytest.mark.parametrize(
    ("slope", "wanted"),
    [
        (20_000.0, 9),  # lag change 1.2 < 0.9 / 0.7 = 1.286, which times 7 is 9
        (50_000.0, 11),  # 1.5 x 7 = 10.5
        (1_000.0, 9),  # 1 % of 100,000 rows/s is no growth yet
        (0.0, 9),
        (-90_000.0, 9),
    ],
)
def test_the_worse_of_utilisation_and_lag_change_counts(slope, wanted):
    assert varga(workflow(op()), lagging(7, slope, busy_share=0.9)) == {"op": wanted}


def test_growth_counts_from_a_share_of_the_throughput_or_from_so_many_rows():
    idle = {"busy_share": 0.1}  # 1 of 7 by utilisation
    one = workflow(op())
    # 1.01 x 7 = 7.07 and 1.0101 x 7 = 7.07: both ask for 8, where they count.
    assert varga(one, lagging(7, 1010.0, **idle)) == {"op": 8}
    assert varga(one, lagging(7, 990.0, **idle)) == {"op": 1}
    # The thesis's own 1000 rows/s, whatever the throughput.
    thesis = {"lag_growth_share": 0.0, "lag_growth_rows_per_second": 1000.0}
    assert varga(one, lagging(7, 1010.0, throughput=1e6, **idle), **thesis) == {"op": 8}
    assert varga(one, lagging(7, 990.0, throughput=1e4, **idle), **thesis) == {"op": 1}


CHAIN = workflow(op("a"), op("b", "a"), op("c", "b"))
CALM = {"busy_share": 0.35, "throughput": 1000.0}
"""3 of 6 replicas by utilisation."""


def test_on_flink_the_bottleneck_answers_for_the_lag_before_the_source():
    # b's buffers are full, so a does not take its rows: 500 rows/s more wait each second.
    found = varga(
        CHAIN,
        lagging(6, 500.0, name="a", saturated_share=0.0, **CALM),
        lagging(6, 0.0, name="b", saturated_share=1.0, **CALM),
        lagging(6, 0.0, name="c", start=0.0, saturated_share=0.0, **CALM),
    )
    assert found == {"a": 3, "b": 9, "c": 3}


def test_on_spark_each_answers_for_the_lag_before_itself():
    # Kafka takes a's rows, whatever b does: 500 rows/s more wait before each of them.
    found = varga(
        CHAIN,
        lagging(6, 500.0, name="a", saturated_share=1.0, **CALM),
        lagging(6, 250.0, name="b", saturated_share=1.0, **CALM),
        lagging(6, 0.0, name="c", start=0.0, saturated_share=0.0, **CALM),
    )
    assert found == {"a": 9, "b": 8, "c": 3}


JOIN = workflow(op("a"), op("b"), op("c", "a", "b"))


def test_the_lags_of_several_sources_are_added_up():
    # Together 450 of 900 rows/s; each of them alone would be 100 or 350 of 450.
    slow = {**CALM, "throughput": 450.0}
    found = varga(
        JOIN,
        lagging(6, 100.0, name="a", saturated_share=0.0, **slow),
        lagging(6, 350.0, name="b", saturated_share=0.0, **slow),
        lagging(6, 0.0, name="c", saturated_share=1.0, **CALM),
    )
    assert found == {"a": 3, "b": 3, "c": 9}


PRESSED = (
    lagging(6, 0.0, name="a", saturated_share=0.0, **CALM),
    lagging(6, 0.0, name="b", saturated_share=1.0, **CALM),
    lagging(6, 0.0, name="c", start=0.0, saturated_share=0.0, **CALM),
)
"""b holds a back, but no lag grows."""
