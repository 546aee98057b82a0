"""One survey from what many agents measured: from their own pages, or from a Prometheus server's samples."""

import io
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field
from functools import partial
from typing import TextIO, cast

from gesscale.common.http_client import ANYWHERE, FetchError
from gesscale.common.text import enumerate_some
from gesscale.common.threads import in_thread
from latency_map.errors import LatencyMapError
from latency_map.limits import DEFAULT_LIMITS, MapLimits
from latency_map.measure.gathering import Gathering, GaugeSample
from latency_map.measure.gauges import PREFIX
from latency_map.survey import Survey

_MOST_AT_ONCE = 64
_BYTES_AT_ONCE = 48_000_000
_LONGEST_LINE = 4096
_PREFIX = PREFIX.encode()
_GRACE_S = 0.5
_MOST_S = 120.0
"""For all agents together; a step of the controller that lasts for 300 s counts as stuck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredMap:
    """What agents said.

    Attributes
    ----------
    survey
        Their round trips.
    unreachable
        Agents that gave none, by address, and why.
    left_out
        What was left out of what they said, for people; empty where nothing was.
    """

    survey: Survey
    unreachable: Mapping[str, str] = field(default_factory=dict)
    left_out: str = ""


def gather_agents(
    urls: Sequence[str],
    *,
    now_s: float,
    timeout_s: float,
    fill_missing: bool = True,
    limits: MapLimits = DEFAULT_LIMITS,
    nodes: Collection[str] | None = None,
) -> GatheredMap:
    """Ask agents for what they measured, at most 64 at a time, fewer where their pages may be long.

    Parameters
    ----------
    urls
        Addresses of agents, such as ``http://10.0.0.1:9109``.
    now_s
        Seconds since the epoch.
    timeout_s
        Bound on the answer of each agent; half a second more and it is given up, whatever it sends.
    fill_missing, limits, nodes
        As in `gather_samples`. There may be no more agents than nodes.

    Returns
    -------
    GatheredMap
        The survey of the agents that answered, and those that did not.

    Raises
    ------
    LatencyMapError
        No agent is named or too many are, none answers, or none has measured a round trip yet.
    """
    asked = tuple(dict.fromkeys(urls))
    if not asked:
        message = "agents: expected the address of at least one, got none; name them"
        raise LatencyMapError(message)
    if len(asked) > limits.nodes:
        message = f"agents: {limits.too_many_nodes(f'the addresses of {len(asked)} agents')}"
        raise LatencyMapError(message)
    gathering = Gathering(limits, nodes)
    unreachable: dict[str, str] = {}
    at_once = max(1, min(_MOST_AT_ONCE, _BYTES_AT_ONCE // limits.page_bytes))
    end_s = time.monotonic() + _MOST_S
    for first in range(0, len(asked), at_once):
        if time.monotonic() > end_s:
            late = f"it was not asked, since others took {_MOST_S:g} s"
            unreachable |= dict.fromkeys(asked[first:], late)
            break
        for url, answer in _pages(asked[first : first + at_once], timeout_s, limits.page_bytes):
            problem = answer if isinstance(answer, str) else _take_page(answer, gathering)
            if problem:
                unreachable[url] = problem
    if len(unreachable) == len(asked):
        reasons = enumerate_some(f"{url}: {reason}" for url, reason in unreachable.items())
        message = f"agents: expected an answer of at least one of {len(asked)}, got none; {reasons}"
        raise LatencyMapError(message)
    return _finish(gathering, unreachable, fill_missing=fill_missing, now_s=now_s)


def gather_samples(
    samples: Iterable[GaugeSample],
    *,
    fill_missing: bool,
    now_s: float | None = None,
    limits: MapLimits = DEFAULT_LIMITS,
    nodes: Collection[str] | None = None,
) -> GatheredMap:
    """Make a survey of the gauges of agents, as a Prometheus server has them.

    Parameters
    ----------
    samples
        Figures; see `Gathering.take`.
    fill_missing
        Whether pairs that were measured in neither direction are estimated by network coordinates, and marked so. The
        changes of the survey then say what error to expect.
    now_s
        As in `Gathering.survey`.
    limits
        How many nodes there may be.
    nodes
        The only nodes that there may be, all others are left out; None for any.

    Returns
    -------
    GatheredMap
        The survey.

    Raises
    ------
    LatencyMapError
        There is no round trip among the samples, or there are too many nodes.
    """
    gathering = Gathering(limits, nodes)
    gathering.take(samples)
    return _finish(gathering, {}, fill_missing=fill_missing, now_s=now_s)


def _finish(
    gathering: Gathering, unreachable: Mapping[str, str], *, fill_missing: bool, now_s: float | None
) -> GatheredMap:
    survey = gathering.survey(now_s)
    if fill_missing:
        survey = _fill(survey)
    return GatheredMap(survey=survey, unreachable=unreachable, left_out=gathering.left_out)


def _fill(survey: Survey) -> Survey:
    from latency_map.kinds import Fill
    from latency_map.quality.repair import Repair, repair

    return repair(survey, Repair(fill=Fill.COORDINATES)).survey


def _pages(urls: Sequence[str], timeout_s: float, page_bytes: int) -> Iterator[tuple[str, bytes | str]]:
    """Yield each agent's page, or why there is none."""
    asked = {url: in_thread(partial(_page, url, timeout_s, page_bytes)) for url in urls}
    wait(asked.values(), timeout=timeout_s + _GRACE_S)
    late = f"no complete answer came within {timeout_s:g} s"
    for url in urls:
        future = asked.pop(url)
        yield url, future.result() if future.done() else late


def _page(url: str, timeout_s: float, page_bytes: int) -> bytes | str:
    try:
        return ANYWHERE.fetch(f"{url.rstrip('/')}/metrics", timeout_s=timeout_s, max_bytes=page_bytes)
    except FetchError as error:
        return str(error)


def _take_page(page: bytes, gathering: Gathering) -> str:
    """Take an agent's figures from its page; return what is wrong with it, empty where nothing is."""
    try:
        figures = gathering.take(_figures(page))
    except LatencyMapError:
        raise
    except (ValueError, KeyError, IndexError):  # what the parser raises on nonsense; it quotes the page
        return "its page is no Prometheus text"
    return "" if figures else f"its page has no figure {PREFIX}*; is an agent there?"


def _figures(page: bytes) -> Iterator[GaugeSample]:
    """Read the figures of ours line by line; without the lines of types each is handed on at once."""
    from prometheus_client.parser import text_fd_to_metric_families

    ours = (line for line in io.BytesIO(page) if line.startswith(_PREFIX))
    for family in text_fd_to_metric_families(cast(TextIO, map(_decoded, ours))):
        for sample in family.samples:
            yield GaugeSample(name=sample.name, labels=sample.labels, value=sample.value)


def _decoded(line: bytes) -> str:
    if len(line) > _LONGEST_LINE:
        message = f"expected lines of at most {_LONGEST_LINE} bytes"
        raise ValueError(message)
    return line.decode()
