"""A node pool without a node: the labels that nearly match are named."""

import pytest
from kube import node

from gesscale.kubernetes.placement.labels import empty_pool
from gesscale.kubernetes.resource.spec import LabelSelector

NODES = [
    node("server", labels={"kubernetes.io/os": "linux"}),
    node("pi1", labels={"kubernetes.io/os": "linux", "gesscale.dev/pool": "edge"}),
    node("pi2", labels={"kubernetes.io/os": "linux", "gesscale.dev/pool": "edge"}),
]


def pool(**labels):
    return LabelSelector.model_validate({"matchLabels": labels})


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        ({"pool": "edge"}, ["gesscale.dev/pool=edge (2 of 3)"]),
        ({"gesscale.dev/Pool": "edge"}, ["gesscale.dev/pool=edge (2 of 3)"]),
        ({"gesscale.dev/pool": "Edge"}, ["gesscale.dev/pool=edge (2 of 3)"]),
        ({"gesscale.dev/pools": "edge"}, ["gesscale.dev/pool=edge (2 of 3)"]),
        ({"disk": "ssd"}, ["gesscale.dev/pool=edge (2 of 3)"]),  # all but the labels of every node
        ({"kubernetes.io/OS": "linux"}, ["kubernetes.io/os=linux (3 of 3)"]),
    ],
)
def test_the_labels_that_nearly_match_are_named(wanted, named):
    problem = empty_pool(pool(**wanted), NODES)
    assert problem.code == "node-pool-empty"
    assert problem.fields["nodes"] == named
    assert problem.fields["labels"] == [f"{key}={value}" for key, value in wanted.items()]


def test_a_pool_with_a_node_or_a_cluster_without_nodes_is_no_problem():
    assert empty_pool(pool(**{"gesscale.dev/pool": "edge"}), NODES) is None
    assert empty_pool(LabelSelector(), NODES) is None
    assert empty_pool(pool(disk="ssd"), []) is None


def test_nodes_without_labels_are_told_as_such():
    expression = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["edge"]}]}
    problem = empty_pool(LabelSelector.model_validate(expression), [node("bare")])
    assert problem.fields["labels"] == ["pool In edge"]
    assert str(problem)
