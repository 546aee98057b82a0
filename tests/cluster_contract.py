"""The contract of `gesscale.ports.Cluster`; the test of each adapter provides its site."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import pytest

from gesscale.errors import ClusterError
from gesscale.model.decision import OutcomeStatus
from gesscale.ports import Cluster

BEGUN = {OutcomeStatus.ORDERED, OutcomeStatus.APPLIED}


@dataclass
class Site(ABC):
    """An operator that runs on a cluster.

    ``nodes`` are three. The first one holds its only replica.
    """

    cluster: Cluster
    nodes: tuple[str, str, str]
    operator: str = "op"

    @abstractmethod
    def settle(self) -> None:
        """Let time pass until the cluster has applied the order."""

    def apply(self, *nodes: str):
        return self.cluster.apply(self.operator, tuple(sorted(nodes)))

    @property
    def placement(self) -> tuple[str, ...]:
        return self.cluster.state().placements[self.operator]


class ClusterContract:
    """The contract. A subclass has a fixture ``site``; each test starts with a replica on the first node."""

    def test_replicas_come_go_and_move_to_what_was_ordered(self, site):
        first, second, third = site.nodes
        assert set(site.nodes) <= set(site.cluster.state().nodes)
        assert site.placement == (first,)
        for before, after in (
            ((first,), (first, second, third)),
            ((first, second, third), (first, second)),
            ((first, second), (first, third)),
            ((first, third), (first,)),
        ):
            outcome = site.apply(*after)
            assert outcome.status in BEGUN, after
            assert (set(outcome.added), set(outcome.removed)) == (set(after) - set(before), set(before) - set(after))
            site.settle()
            assert site.placement == tuple(sorted(after))

    def test_the_same_placement_again_changes_nothing(self, site):
        first, second, _ = site.nodes
        site.cluster.state()
        site.apply(first, second)
        for settle in (lambda: None, site.settle):
            settle()
            site.cluster.state()
            again = site.apply(first, second)
            assert (again.status, again.added, again.removed) == (OutcomeStatus.NOTHING_TO_DO, (), ())
        assert site.placement == tuple(sorted((first, second)))
        site.apply(first)
        site.settle()
        assert site.placement == (first,)

    def test_what_cannot_be_is_refused_and_changes_nothing(self, site):
        first, second, _ = site.nodes
        site.cluster.state()
        with pytest.raises(ClusterError, match="moon"):
            site.apply(first, "moon")
        with pytest.raises(ClusterError, match="nobody"):
            site.cluster.apply("nobody", (first, second))
        assert site.placement == (first,)
