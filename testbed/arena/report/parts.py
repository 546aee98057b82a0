"""What the page shows of each workload: tables and figures."""

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.arena.case import CaseResult
from testbed.arena.report.cells import Table
from testbed.arena.report.course import AxisRanges, draw_course
from testbed.arena.report.frontier import PolicyRuns, draw_frontier
from testbed.arena.report.lag import PolicyLag, draw_lag, draw_latency
from testbed.arena.report.measures import DELAY, DISTANCE, HEADCOUNT, PROVISIONING
from testbed.arena.report.numbers import figure
from testbed.arena.report.outcomes import Outcomes, metric_of
from testbed.arena.report.tables import comparison, next_to_reference, sensitivities
from testbed.arena.report.tradeoff import PolicyMeans, draw_tradeoff
from testbed.workloads.registry import workload_names

_PERCENTILES = ("latency_p50_s", "latency_p95_s", "latency_p99_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure with its caption.

    Attributes
    ----------
    svg
        Markup that is safe.
    title, caption
        What is written above it, and below the title.
    policy, workload
        What it is about, for the choice of either; empty where it is about all, or its section says so.
    page
        Where the page of the run is, relative to the report; empty where there is none.
    """

    svg: str
    title: str
    caption: str
    policy: str = ""
    workload: str = ""
    page: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPart:
    """What the page shows of a workload.

    Attributes
    ----------
    key
        Of its anchor.
    about
        What the workload is; empty where it is a file.
    tables
        Policies against metrics.
    reference, variants
        The reference's figures next to ours, and what changes with the variants; nothing where there are none.
    courses
        A figure for each policy whose course was kept.
    without_course
        The other policies.
    frontier
        None where no run has a cost.
    """

    key: str
    name: str
    about: str
    tables: tuple[Table, ...]
    reference: Table | None
    variants: tuple[Table, ...]
    courses: tuple[Picture, ...]
    without_course: tuple[str, ...]
    frontier: Picture | None
    lag: tuple[Picture, ...]


def workload_part(outcomes: Outcomes, workload: str, key: str) -> WorkloadPart:
    """Return the part of a workload; ``key`` is unique in the page."""
    titles = (
        ("provisioning", "Provisioning, as in the paper", PROVISIONING),
        ("delay", "Lag, latency and convergence", DELAY),
        ("replica_count", "All operators together", HEADCOUNT),
        ("distance", "Distance to the frontier", DISTANCE),
    )
    courses = outcomes.courses(workload)
    return WorkloadPart(
        key=key,
        name=workload,
        about=workload_names().get(workload.partition(":")[0], ""),
        tables=tuple(
            comparison(outcomes, workload, measures, key=f"{key}-{name}", caption=title)
            for name, title, measures in titles
        ),
        reference=next_to_reference(outcomes, workload, key=f"{key}-reference"),
        variants=sensitivities(outcomes, workload, key=f"{key}-variants"),
        courses=_courses(outcomes, workload, key),
        without_course=tuple(policy for policy in outcomes.policies if policy not in courses),
        frontier=_frontier(outcomes, workload, key),
        lag=_lag(outcomes, workload, key),
    )


def tradeoffs(outcomes: Outcomes, workloads: Sequence[tuple[str, str]]) -> tuple[Picture, ...]:
    """Return a small figure of cost against lag for each workload; ``workloads`` are pairs of key and name."""
    found = {(key, workload): _policy_means(outcomes, workload) for key, workload in workloads}
    most_lag_s = max((means.lag_s for policies in found.values() for means in policies), default=0.0)
    pictures = []
    for (key, workload), policies in found.items():
        if policies:
            means = "; ".join(
                f"{p.policy} {figure(p.cost)} replica-min, {figure(p.lag_s)} s" for p in policies
            )
            label = f"Cost against lag on {workload}. Means: {means}."
            svg = draw_tradeoff(policies, most_lag_s, key=f"{key}-t", label=label)
            pictures.append(Picture(svg=svg, title=workload, caption="", workload=workload))
    return tuple(pictures)


def _policy_means(outcomes: Outcomes, workload: str) -> list[PolicyMeans]:
    found = []
    for index, policy in enumerate(outcomes.policies):
        lag, cost = (outcomes.mean(workload, policy, metric) for metric in ("lag_above_slo_s", "cost"))
        if lag is not None and cost is not None:
            found.append(PolicyMeans(policy=policy, index=index, lag_s=lag.mean, cost=cost.mean))
    return found


def _courses(outcomes: Outcomes, workload: str, key: str) -> tuple[Picture, ...]:
    courses = outcomes.courses(workload)
    scales = AxisRanges.covering(courses.values())
    pictures = []
    for index, policy in enumerate(outcomes.policies):
        result = outcomes.course(workload, policy)
        if result is None:
            continue
        caption = _in_figures(result)
        label = (
            f"{policy} on {workload} over time: input and processed rate, replicas supplied and demanded, "
            f"provisioning error, backlog. {caption}"
        )
        svg = draw_course(result.series, scales, key=f"{key}-c{index}", label=label)
        page = outcomes.pages.get(result.case, "")
        pictures.append(Picture(svg=svg, title=policy, caption=caption, policy=policy, page=page))
    return tuple(pictures)


def _in_figures(result: CaseResult) -> str:
    wanted = (
        ("reconfigurations", "{} reconfigurations"),
        ("cost", "{} replica-min"),
        ("lag_above_slo_s", "{} s of lag"),
    )
    figures = [
        words.format(figure(metric_of(result, name)))
        for name, words in wanted
        if metric_of(result, name) is not None
    ]
    return f"Seed {result.case.seed}{': ' if figures else ''}{', '.join(figures)}."


def _frontier(outcomes: Outcomes, workload: str, key: str) -> Picture | None:
    policies = []
    for index, policy in enumerate(outcomes.policies):
        pairs = [
            (moves, cost)
            for result in outcomes.of(workload, policy).results
            if (moves := metric_of(result, "reconfigurations")) is not None
            and (cost := metric_of(result, "cost")) is not None
        ]
        least = outcomes.mean(workload, policy, "frontier_cost")
        if pairs:
            least_cost = least.mean if least else None
            policies.append(PolicyRuns(policy=policy, index=index, runs=tuple(pairs), least_cost=least_cost))
    if not policies:
        return None
    kept = (outcomes.course(workload, policy) for policy in outcomes.policies)
    frontier = max((result.frontier for result in kept if result is not None), key=len, default=())
    centres = "; ".join(
        f"{runs.policy} {figure(runs.centre[0])} reconfigurations, {figure(runs.centre[1])} replica-min"
        for runs in policies
    )
    svg = draw_frontier(
        frontier,
        policies,
        key=f"{key}-f",
        label=f"Cost against reconfigurations on {workload}. Means: {centres}.",
    )
    caption = (
        "Large: a policy’s mean. Small: its runs. Bar: the least cost that is possible at the policy’s own "
        "numbers of reconfigurations; a policy below its bar let the rows wait."
    )
    if frontier:
        caption += (
            " Solid line: the frontier of the first seed; no plan below it provides enough at all times."
        )
    return Picture(svg=svg, title="Cost against reconfigurations", caption=caption)


def _lag(outcomes: Outcomes, workload: str, key: str) -> tuple[Picture, ...]:
    policies = []
    for index, policy in enumerate(outcomes.policies):
        mean = outcomes.mean(workload, policy, "lag_above_slo_s")
        if mean is None:
            continue
        values = outcomes.of(workload, policy).by_seed("lag_above_slo_s").values()
        percentiles = [outcomes.mean(workload, policy, metric) for metric in _PERCENTILES]
        policies.append(
            PolicyLag(
                policy=policy,
                index=index,
                lag_s=tuple(value for value in values if value is not None),
                mean=mean.mean,
                low=mean.low,
                high=mean.high,
                latency_s=tuple(p.mean for p in percentiles if p is not None) if all(percentiles) else (),
            )
        )
    if not policies:
        return ()
    means = "; ".join(f"{lag.policy} {figure(lag.mean)} s" for lag in policies)
    objective = figure(outcomes.experiment.slo_s)
    lag = Picture(
        svg=draw_lag(policies, key=f"{key}-l", label=f"Seconds of lag on {workload}. Means: {means}."),
        title="Seconds of lag",
        caption=f"Time in which the oldest row was more than {objective} s old. Large: mean and interval; small: runs.",
    )
    medians = "; ".join(
        f"{p.policy} {' / '.join(map(figure, p.latency_s))} s" for p in policies if p.latency_s
    )
    latency = Picture(
        svg=draw_latency(
            policies, key=f"{key}-r", label=f"Latency of rows on {workload}: median, p95, p99. {medians}."
        ),
        title="Latency of rows",
        caption="From event time to sink. Left to right: median, 95 %, 99 %; means over the runs. Logarithmic.",
    )
    return lag, latency
