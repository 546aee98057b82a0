"""Every parser against mutants of valid samples, and against each input that ever showed a fault; see tests/fuzz."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz.campaign import LEAST_ACCEPTED, found_inputs, input_of, play, within
from fuzz.judge import Judge
from fuzz.targets import TARGETS
from fuzz.verdict import Kind
from thoroughness import examples

INPUTS_EACH = examples(60)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge() as judge:
        yield judge


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_each_sample_is_accepted(judge, target):
    verdicts = [judge.judge(target.name, sample) for sample in target.samples()]
    assert [(verdict.kind, verdict.cause) for verdict in verdicts] == [(Kind.ACCEPTED, "")] * len(verdicts)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_mutants_are_accepted_or_refused_on_purpose(judge, target):
    tally = play([target], judge, seed=0, is_over=within(inputs=INPUTS_EACH, seconds=None, targets=1))[
        target.name
    ]
    assert [finding.verdict.cause for finding in tally.findings.values()] == []
    assert tally.accepted_share >= LEAST_ACCEPTED


@pytest.mark.parametrize(
    ("target", "file"), found_inputs(), ids=lambda value: value.name if isinstance(value, Path) else value
)
def test_what_was_found_is_mended(judge, target, file):
    verdict = judge.judge(target, file.read_bytes())
    assert not verdict.is_finding, verdict.cause


def test_the_same_seed_gives_the_same_inputs():
    for target in TARGETS:
        assert input_of(target, 7, 3) == input_of(target, 7, 3)
    assert len({input_of(TARGETS[0], seed, 0) for seed in range(20)}) > 10
