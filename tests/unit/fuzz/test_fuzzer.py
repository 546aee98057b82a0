"""The fuzzer itself: it finds faults that were planted, each by its kind, and keeps the smallest input it can."""

from collections.abc import Iterator

import pytest
from fuzz import planted
from fuzz.campaign import LEAST_ACCEPTED, keep, play, within
from fuzz.judge import Judge
from fuzz.verdict import Kind, Limits

FAULTY, *_, STRICT = planted.TARGETS
LIMITS = Limits(cpu_s=0.5, wall_s=120.0, mib=64)
"""On a busy machine half a second of CPU time lasts long."""


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge("fuzz.planted", LIMITS) as judge:
        yield judge


@pytest.mark.parametrize(
    ("target", "kind", "cause"),
    [
        ("hungry", Kind.MEMORY, "more than 64 MiB asked for at tests/fuzz/planted.py:"),
        ("endless", Kind.HANG, "not done after 0.5 s of CPU time at tests/fuzz/planted.py:"),
        ("dying", Kind.CRASH, "worker ended with -6"),
    ],
)
def test_what_takes_too_much_or_dies_is_found_and_the_next_input_is_judged(judge, target, kind, cause):
    verdict = judge.judge(target, b"an input")
    assert (verdict.kind, verdict.is_finding) == (kind, True)
    assert verdict.cause.startswith(cause)
    assert judge.judge("strict", b"sound").kind is Kind.ACCEPTED


def test_what_waits_for_ever_is_found_and_the_next_input_is_judged():
    with Judge("fuzz.planted", Limits(wall_s=3.0)) as judge:
        verdict = judge.judge("asleep", b"an input")
        assert (verdict.kind, verdict.is_finding) == (Kind.HANG, True)
        assert verdict.cause.startswith("no answer in 3 s")
        assert judge.judge("strict", b"sound").kind is Kind.ACCEPTED


def test_an_error_that_is_not_the_parsers_own_is_found_and_its_input_made_small(judge, tmp_path):
    tally = play([FAULTY], judge, seed=0, is_over=within(inputs=200, seconds=None, targets=1))["faulty"]
    (finding,) = tally.findings.values()
    assert finding.verdict.kind is Kind.TRACEBACK
    assert finding.verdict.cause.startswith("ZeroDivisionError at tests/fuzz/planted.py:")
    assert finding.verdict.cause.endswith(": seven")
    assert tally.inputs == 200
    assert tally.accepted + tally.refused + finding.count == 200
    assert 0 < tally.accepted_share < 1
    assert not tally.is_good
    file = keep(finding, judge, tmp_path)
    assert (file.parent.name, file.read_bytes()) == ("faulty", b"7")


def test_a_target_of_which_little_is_accepted_is_not_good(judge):
    tally = play([STRICT], judge, seed=0, is_over=within(inputs=50, seconds=None, targets=1))["strict"]
    assert tally.findings == {}
    assert tally.accepted_share < LEAST_ACCEPTED
    assert not tally.is_good
