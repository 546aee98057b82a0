import pytest
from edge import operator
from refusals import refused

from gesscale.errors import InputError
from gesscale.model.workflow import BatchCap, Operator, Workflow


def test_each_operator_comes_after_those_that_feed_it_however_they_are_listed():
    diamond = Workflow(
        [
            operator("sink", upstream=("left", "right")),
            operator("left", upstream=("source",)),
            operator("right", upstream=("other", "source")),
            operator("source"),
            operator("other"),
        ]
    )
    order = diamond.topological_order
    assert sorted(order) == sorted(diamond.operators)
    assert all(order.index(feeding) < order.index(name) for name in order for feeding in diamond.upstream(name))


def test_a_cycle_is_refused_and_named():
    with refused("workflow-cyclic", InputError):
        Workflow([operator("a", upstream=("b",)), operator("b", upstream=("a",))])


def test_an_unknown_upstream_is_refused():
    with refused("upstream-unknown", InputError, operator="a", upstream="nowhere", known=["a"]):
        Workflow([operator("a", upstream=("nowhere",))])


@pytest.mark.parametrize("operators", [[], ["a", "a"]])
def test_names_are_distinct_and_there_is_one(operators):
    with refused("operators-not-distinct", InputError, operators=operators):
        Workflow([operator(name) for name in operators])


def test_a_cap_is_fixed_or_per_replica():
    assert BatchCap(rows=500).at(3) == 500
    assert BatchCap(rows_per_replica=500).at(3) == 1500
    for wrong in ({}, {"rows": 1, "rows_per_replica": 1}, {"rows": -1}):
        with refused("batch-cap-invalid", InputError):
            BatchCap(**wrong)


def test_the_longest_path_through_an_operator_counts():
    # a -> b -> d -> e and c -> d: four operators on the path through a, three through c.
    flow = Workflow(
        [
            Operator(name="a", driver_node="n"),
            Operator(name="b", driver_node="n", upstream=("a",)),
            Operator(name="c", driver_node="n"),
            Operator(name="d", driver_node="n", upstream=("b", "c")),
            Operator(name="e", driver_node="n", upstream=("d",)),
        ]
    )
    assert [flow.path_operators(name) for name in "abcde"] == [4, 4, 3, 4, 4]
