"""One survey from what many agents measured: from their own pages, or from a Prometheus server's samples."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from functools import partial

import numpy as np

from latency_map.delays import MAX_RTT_MS, Delays
from latency_map.errors import LatencyMapError, enumerate_some
from latency_map.measure.fetch import ANYWHERE, FetchError
from latency_map.measure.gauges import (
    JITTER_SECONDS,
    LOSS_RATIO,
    MEASURED_TIMESTAMP_SECONDS,
    PREFIX,
    RTT_P95_SECONDS,
    RTT_SECONDS,
    SOURCE,
    TARGET,
)
from latency_map.measure.threads import in_thread
from latency_map.names import find_name_fault
from latency_map.survey import Spread, Survey

_AT_ONCE = 64
_GRACE_S = 0.5
_MAX_PAGE_BYTES = 8 << 20
_MS = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One figure as Prometheus has it.

    Attributes
    ----------
    name
        Of the metric, such as ``gesscale_latency_rtt_seconds``.
    labels
        ``source`` and ``target`` are names of nodes; others tell one agent from another.
    value
        In the base unit that the name says.
    """

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What agents said.

    Attributes
    ----------
    survey
        Their round trips.
    unreachable
        Agents that gave none, by address, and why.
    """

    survey: Survey
    unreachable: Mapping[str, str]


def gather_agents(
    urls: Sequence[str], *, now_s: float, timeout_s: float, fill_missing: bool = True
) -> Gathered:
    """Ask agents for what they measured, 64 at a time.

    Parameters
    ----------
    urls
        Addresses of agents, such as ``http://10.0.0.1:9109``.
    now_s
        Seconds since the epoch.
    timeout_s
        Bound on the answer of each agent; half a second more and it is given up, whatever it sends.
    fill_missing
        As in `samples_to_survey`.

    Returns
    -------
    Gathered
        The survey of the agents that answered, and those that did not.

    Raises
    ------
    LatencyMapError
        No agent is named, none answers, or none has measured a round trip yet.
    """
    asked = tuple(dict.fromkeys(urls))
    if not asked:
        message = "agents: expected the address of at least one, got none; name them"
        raise LatencyMapError(message)
    answers: dict[str, list[Sample] | str] = {}
    for first in range(0, len(asked), _AT_ONCE):
        answers |= _ask_some(asked[first : first + _AT_ONCE], timeout_s)
    unreachable = {url: answer for url, answer in answers.items() if isinstance(answer, str)}
    if len(unreachable) == len(asked):
        reasons = enumerate_some(f"{url}: {reason}" for url, reason in unreachable.items())
        message = f"agents: expected an answer of at least one of {len(asked)}, got none; {reasons}"
        raise LatencyMapError(message)
    samples = [sample for answer in answers.values() if not isinstance(answer, str) for sample in answer]
    survey = samples_to_survey(samples, fill_missing=fill_missing, now_s=now_s)
    return Gathered(survey=survey, unreachable=unreachable)


def samples_to_survey(samples: Iterable[Sample], *, fill_missing: bool, now_s: float | None = None) -> Survey:
    """Make a survey of the gauges of agents.

    Parameters
    ----------
    samples
        Figures of any agents in any order. Other metrics, and figures that cannot be, are left out. Where two
        agents claim the same source, the newer figure of each pair counts.
    fill_missing
        Whether pairs that were measured in neither direction are estimated by network coordinates, and marked
        so; the changes of the survey then say what error to expect.
    now_s
        Seconds since the epoch: what a clock that is ahead says was measured then. None to trust all clocks.

    Returns
    -------
    Survey
        Every node that is a source or a target, in the order of names, both directions as they were measured.
        It was measured when the oldest of its round trips was, so no figure in it is older than it says.
        Agents drop what they could not measure again: a lost node makes a survey old for a while, not for
        good.

    Raises
    ------
    LatencyMapError
        There is no round trip among the samples.
    """
    cells, names = _cells(samples)
    measured = {pair: cell for pair, cell in cells.items() if RTT_SECONDS in cell}
    if not names or (len(names) > 1 and not measured):
        message = (
            f"agents: expected round trips ({RTT_SECONDS}), got none from {len(names)} nodes; wait for the end"
            " of their first round, and see whether their peers answer"
        )
        raise LatencyMapError(message)
    rtt_ms = _matrix(names, measured, RTT_SECONDS) * _MS
    np.fill_diagonal(rtt_ms, 0.0)
    survey = Survey(
        names=names,
        rtt_ms=rtt_ms,
        measured_at_s=_oldest_s(measured.values(), now_s),
        origin=f"measured by agents on {len({source for source, _ in cells})} of {len(names)} nodes",
        spread=Spread(
            p95_ms=_matrix(names, cells, RTT_P95_SECONDS) * _MS,
            jitter_ms=_matrix(names, cells, JITTER_SECONDS) * _MS,
            loss_ratio=_matrix(names, cells, LOSS_RATIO),
        ),
    )
    return _fill(survey) if fill_missing else survey


def _fill(survey: Survey) -> Survey:
    from latency_map.quality.filling import Fill  # needs scipy, which is heavy where nothing is to be filled
    from latency_map.quality.repair import Repair, repair

    return repair(survey, Repair(fill=Fill.COORDINATES)).survey


def _ask_some(urls: Sequence[str], timeout_s: float) -> dict[str, list[Sample] | str]:
    asked = {url: in_thread(partial(_ask, url, timeout_s)) for url in urls}
    wait(asked.values(), timeout=timeout_s + _GRACE_S)
    late = f"no complete answer came within {timeout_s:g} s"
    return {url: future.result() if future.done() else late for url, future in asked.items()}


def _ask(url: str, timeout_s: float) -> list[Sample] | str:
    """Return an agent's figures, or why there are none."""
    from prometheus_client.parser import text_string_to_metric_families

    try:
        page = ANYWHERE.fetch(f"{url.rstrip('/')}/metrics", timeout_s=timeout_s, max_bytes=_MAX_PAGE_BYTES)
        found = [
            Sample(name=sample.name, labels={**sample.labels, "agent": url}, value=sample.value)
            for family in text_string_to_metric_families(page.decode())
            for sample in family.samples
            if sample.name.startswith(PREFIX)
        ]
    except FetchError as error:
        return str(error)
    except (ValueError, KeyError, IndexError):  # what the parser raises on nonsense, and repeats
        return "its page is no Prometheus text"
    return found or f"its page has no figure {PREFIX}*; is an agent there?"


_Cells = dict[tuple[str, str], dict[str, float]]


def _cells(samples: Iterable[Sample]) -> tuple[_Cells, tuple[str, ...]]:
    """Sort figures by pair, the newest claim of each; return these and all names."""
    claims: dict[tuple[str, str], dict[tuple[tuple[str, str], ...], dict[str, float]]] = defaultdict(dict)
    names: set[str] = set()
    for sample in samples:
        ends = [sample.labels[end] for end in (SOURCE, TARGET) if end in sample.labels]
        if not sample.name.startswith(PREFIX) or any(find_name_fault([name]) for name in ends):
            continue
        names.update(ends)
        if len(ends) == 2 and _can_be(sample):
            agent = tuple(
                sorted((label, text) for label, text in sample.labels.items() if label != "__name__")
            )
            claim = claims[ends[0], ends[1]].setdefault(agent, {})
            claim[sample.name] = sample.value
    newest = {
        pair: max(told.values(), key=lambda cell: cell.get(MEASURED_TIMESTAMP_SECONDS, 0.0))
        for pair, told in claims.items()
        if pair[0] != pair[1]
    }
    return newest, tuple(sorted(names))


def _can_be(sample: Sample) -> bool:
    limits = {LOSS_RATIO: 1.0, MEASURED_TIMESTAMP_SECONDS: math.inf}
    return 0 <= sample.value <= limits.get(sample.name, MAX_RTT_MS / _MS) and math.isfinite(sample.value)


def _matrix(names: Sequence[str], cells: _Cells, kind: str) -> Delays:
    rows = {name: row for row, name in enumerate(names)}
    matrix = np.full((len(names), len(names)), math.nan)
    for (source, target), cell in cells.items():
        matrix[rows[source], rows[target]] = cell.get(kind, math.nan)
    return matrix


def _oldest_s(cells: Iterable[Mapping[str, float]], now_s: float | None) -> float | None:
    instants = [cell[MEASURED_TIMESTAMP_SECONDS] for cell in cells if MEASURED_TIMESTAMP_SECONDS in cell]
    if not instants:
        return None
    return min(instants) if now_s is None else min(*instants, now_s)
