"""Properties of every choice of nodes, with and without kept ones."""

import math
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latency_map import LatencyMap, Method, NoChoiceError, min_nd_max_subset

greedy_nd_max_subset = partial(min_nd_max_subset, method=Method.GREEDY, max_steps=0)

NAMES = tuple(f"n{index}" for index in range(7))
round_trips = st.one_of(st.integers(0, 4).map(float), st.floats(0, 1e6), st.just(math.nan))


@dataclass(frozen=True)
class Question:
    latencies: LatencyMap
    size: int
    keep: tuple[str, ...]

    def answer(self, choose=min_nd_max_subset, **options):
        """The choice; None where there is none."""
        try:
            return choose(self.latencies, self.size, **{"keep": self.keep, **options})
        except NoChoiceError:
            return None

    def allows(self, nodes):
        """Whether a set answers the question."""
        complete = not self.latencies.missing(nodes)
        return {*self.keep} <= {*nodes} and len(nodes) == self.size and complete

    def least(self):
        """NDmax of the best of all sets; None where there is none."""
        sets = combinations(self.latencies.names, self.size)
        return min((self.latencies.nd_max_ms(nodes) for nodes in sets if self.allows(nodes)), default=None)


@st.composite
def questions(draw):
    names = NAMES[: draw(st.integers(3, len(NAMES)))]
    count = len(names)
    pairs = count * (count - 1) // 2
    matrix = np.zeros((count, count))
    matrix[np.triu_indices(count, 1)] = draw(st.lists(round_trips, min_size=pairs, max_size=pairs))
    some = st.lists(st.sampled_from(names), unique=True, max_size=2)
    keep = tuple(draw(some))
    return Question(
        latencies=LatencyMap(names=names, rtt_ms=matrix + matrix.T),
        size=draw(st.integers(max(1, len(keep)), count)),
        keep=keep,
    )


@given(questions())
def test_the_exact_choice_is_the_best_of_all_sets(question):
    choice, least = question.answer(method=Method.EXACT), question.least()
    assert (choice and choice.nd_max_ms) == least
    if choice:
        assert choice.optimal
        assert question.allows(choice.nodes)
        assert question.latencies.nd_max_ms(choice.nodes) == choice.nd_max_ms


@given(questions(), st.integers(0, 60))
def test_the_certified_gap_is_true_wherever_the_search_stops(question, max_steps):
    least = question.least()
    stopped = question.answer(max_steps=max_steps)
    greedy = question.answer(greedy_nd_max_subset)
    for choice in filter(None, (stopped, greedy)):
        assert question.allows(choice.nodes)
        # the gap is a difference of two delays, each exact: only the subtraction rounds
        assert choice.nd_max_ms - choice.gap_ms <= least * (1 + 1e-12)
        assert choice.nd_max_ms >= least
    if greedy:
        assert stopped.nd_max_ms <= greedy.nd_max_ms


@given(questions(), st.data())
def test_the_order_of_the_nodes_in_the_map_changes_nothing(question, data):
    names = data.draw(st.permutations(question.latencies.names))
    shuffled = Question(latencies=question.latencies.subset(names), size=question.size, keep=question.keep)
    for choose in (min_nd_max_subset, greedy_nd_max_subset):
        assert shuffled.answer(choose) == question.answer(choose)


@given(questions())
def test_a_node_more_to_choose_from_never_makes_the_choice_worse(question):
    offered = [name for name in question.latencies.names if name not in question.keep]
    best = math.inf
    for count in range(len(offered) + 1):
        choice = question.answer(candidates=offered[:count])
        assert (choice.nd_max_ms if choice else math.inf) <= best
        best = choice.nd_max_ms if choice else best


@given(questions())
def test_nodes_that_are_kept_never_make_the_choice_better(question):
    bare = Question(latencies=question.latencies, size=question.size, keep=())
    ruled, free = question.answer(), bare.answer()
    assert ruled is None or free.nd_max_ms <= ruled.nd_max_ms
