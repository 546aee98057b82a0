"""Decisions and scores do not change with optimisations of the loop, the simulator or the scores.

The digests cover every reason, placement and score of small runs: two operators, nodes that fail, links that slow down,
gaps and late steps, on either engine. Scores count to nine digits, as processors may round the last ones differently.
A change that is meant to change decisions changes them too; the failing test shows the new one.
"""

import hashlib
import json

import pytest

from testbed.arena.case import Case
from testbed.arena.experiments.experiment import Experiment, read_experiment
from testbed.arena.runner import run_case

TWO = {
    "first": {"max_replicas": 6, "service_ms_per_row": 3},
    "second": {"upstream": ["first"], "selectivity": 0.6, "max_replicas": 6},
}
FAILURES = [{"node": "node-02", "from": "20m", "until": "40m"}, {"node": "node-01", "from": "65m", "until": "75m"}]
SLOWDOWNS = [{"one": "node-01", "other": "node-03", "from": "10m", "until": "70m", "added_ms": 600}]
WORLDS = {
    "faults": ("steps", {"faults.failures": FAILURES, "faults.slowdowns": SLOWDOWNS, "metrics.gap_share": 0.2}),
    "two": ("nyc:any", {"operators": TWO, "metrics.jitter": "20s", "min_period": "5s"}),
    "flink": ("spikes", {"engine": "flink", "faults.failures": FAILURES, "metrics.delay": "30s"}),
}
DIGESTS = {
    "faults/gesscale": "83afc08530111a67",
    "faults/rules": "2e0462cbfd024108",
    "two/gesscale-2021": "3333c636b9878a6e",
    "two/ds2": "be3c7740bb5d7ef6",
    "flink/gesscale": "087bb8bae5d87652",
    "flink/rules": "0da5a15c9e59b987",
}


def world(name: str) -> Experiment:
    _, changes = WORLDS[name]
    league = read_experiment("league").changed({"variants": {}, "length": "90m"})
    return league.changed(changes)


def digest(name: str, policy: str) -> str:
    decided: list[object] = []
    result = run_case(
        world(name),
        Case(workload=WORLDS[name][0], seed=100, policy=policy),
        on_decisions=lambda decisions: decided.extend(
            (each.at_s, each.operator, each.plan.reason.value, each.plan.placement, each.outcome.status)
            for each in decisions
        ),
    )
    assert not result.lost
    scores = {metric: f"{value:.9g}" if isinstance(value, float) else value for metric, value in result.metrics.items()}
    return hashlib.sha256(json.dumps([decided, scores]).encode()).hexdigest()[:16]


@pytest.mark.parametrize("case", DIGESTS)
def test_decisions_and_scores_are_unchanged(case):
    assert digest(*case.split("/")) == DIGESTS[case]
