"""How often the interval contains the truth of a placement that was never held before, on simulated operators."""

import sys
from collections import defaultdict
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def coverage():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import model_coverage
    finally:
        sys.path.remove(str(BENCHMARKS))
    return model_coverage


def test_the_interval_of_new_placements_holds_what_it_promises(coverage):
    found = defaultdict(list)
    for seed in range(12):
        for name in coverage.PHYSICS:
            coverage.walk(coverage.read_physics(name), seed, 10, found)
    figures = {law: coverage.figures(each) for law, each in found.items()}
    # 90 % with a standard deviation of 2.5 points for 150 independent predictions; those of one walk are not.
    assert figures["in use"]["predictions"] > 100
    assert 85 <= figures["in use"]["within_pct"] <= 99
    assert 80 <= figures["eq1"]["within_pct"] <= 99
