"""Plays mutants of every target, counts what becomes of them, keeps what is found."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random

from fuzz.judge import Judge
from fuzz.minimise import minimised
from fuzz.mutation import mutant
from fuzz.target import Target
from fuzz.verdict import Kind, Verdict

LEAST_ACCEPTED = 0.2
"""Where a smaller share of the mutants is accepted, most of them reach only the first checks of the parser."""

FOUND = Path(__file__).parent / "found"
_TRIES = {Kind.TRACEBACK: 300, Kind.MEMORY: 40, Kind.CRASH: 40, Kind.HANG: 6}


@dataclass(slots=True, kw_only=True)
class Finding:
    """A fault, the first input that showed it, and how many did."""

    target: str
    verdict: Verdict
    data: bytes
    count: int = 1


@dataclass(slots=True, kw_only=True)
class Tally:
    """What became of the inputs of a target.

    Attributes
    ----------
    inputs, accepted, refused
        How many.
    slowest_s, most_mib
        The most CPU time and memory that one of them took.
    findings
        The first of each cause.
    """

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    most_mib: float = 0.0
    findings: dict[tuple[str, ...], Finding] = field(default_factory=dict)

    @property
    def accepted_share(self) -> float:
        """The share that was accepted, 0..1."""
        return self.accepted / self.inputs if self.inputs else 0.0

    @property
    def is_good(self) -> bool:
        """Whether there is no finding and enough was accepted."""
        return not self.findings and self.accepted_share >= LEAST_ACCEPTED

    def count(self, target: str, data: bytes, verdict: Verdict) -> None:
        """Count one input."""
        self.inputs += 1
        self.accepted += verdict.kind is Kind.ACCEPTED
        self.refused += verdict.kind is Kind.REFUSED
        self.slowest_s = max(self.slowest_s, verdict.cpu_s)
        self.most_mib = max(self.most_mib, verdict.mib)
        if verdict.is_finding:
            known = self.findings.get(_key(verdict))
            if known is None:
                self.findings[_key(verdict)] = Finding(target=target, verdict=verdict, data=data)
            else:
                known.count += 1


def input_of(target: Target, seed: int, number: int) -> bytes:
    """Return a mutant of a target: the same for the same seed and number."""
    return mutant(_samples(target), target.form, Random(f"{seed}/{target.name}/{number}"))


def play(
    targets: Sequence[Target], judge: Judge, *, seed: int, is_over: Callable[[int], bool]
) -> Mapping[str, Tally]:
    """Judge mutants of all targets in turn.

    Parameters
    ----------
    targets
        At least one.
    judge
        Gives the verdicts.
    seed
        Of all randomness.
    is_over
        Told how many rounds are done; a round is one input of each target.

    Returns
    -------
    mapping of str to Tally
        By target.
    """
    tallies = {target.name: Tally() for target in targets}
    rounds = 0
    while not is_over(rounds):
        for target in targets:
            data = input_of(target, seed, rounds)
            tallies[target.name].count(target.name, data, judge.judge(target.name, data))
        rounds += 1
    return tallies


def within(*, inputs: int | None, seconds: float | None, targets: int) -> Callable[[int], bool]:
    """Return an end for `play`: after so many inputs, after so many seconds, or what comes first."""
    until_s = None if seconds is None else time.monotonic() + seconds
    return lambda rounds: (
        (inputs is not None and rounds * targets >= inputs)
        or (until_s is not None and time.monotonic() >= until_s)
    )


def keep(finding: Finding, judge: Judge, folder: Path = FOUND) -> Path:
    """Make the input of a finding smaller and write it where every test run plays it again.

    Returns
    -------
    Path
        The file, named after its content.
    """
    key = _key(finding.verdict)

    def does_the_same(data: bytes) -> bool:
        return _key(judge.judge(finding.target, data)) == key

    small = minimised(finding.data, does_the_same, _TRIES[finding.verdict.kind])
    file = folder / finding.target / sha256(small).hexdigest()[:16]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(small)
    return file


def found_inputs(folder: Path = FOUND) -> Sequence[tuple[str, Path]]:
    """Return every input that was found: its target and its file."""
    return [(file.parent.name, file) for file in sorted(folder.glob("*/*"))]


def _key(verdict: Verdict) -> tuple[str, ...]:
    """Return what two findings of one cause have in common; where a hang was noticed is chance."""
    error = verdict.cause.split(" ", 1)[0] if verdict.kind is Kind.TRACEBACK else ""
    return verdict.kind.value, error, "" if verdict.kind is Kind.HANG else verdict.place


@cache
def _cached(samples: Callable[[], Sequence[bytes]]) -> Sequence[bytes]:
    return samples()


def _samples(target: Target) -> Sequence[bytes]:
    return _cached(target.samples)
