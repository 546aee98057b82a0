"""Writes the report of the arena: one self-contained HTML file."""

import base64
import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from gesscale.common.errors import cause_of
from gesscale.errors import InputError
from testbed.arena.case import LATENCIES, CaseResult
from testbed.arena.evaluation.comparison import choose_baseline
from testbed.arena.evaluation.standings import standings
from testbed.arena.evaluation.statistics import RESAMPLES
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.names import PRICES
from testbed.arena.policies.catalogue import policy_names
from testbed.arena.report.figures import Drawing, PolicyFigures, draw_latencies, draw_tradeoffs, draw_trajectories
from testbed.arena.report.formatting import counted, figure, short_names, with_short_names
from testbed.arena.report.league import LeagueTables
from testbed.arena.report.outcomes import DELAY, DISTANCE, HEADCOUNT, PROVISIONING, Outcomes, metric_of
from testbed.arena.report.tables import Table, at_a_glance, comparison, lost_runs
from testbed.scoring.sample import LAG_ABOVE
from testbed.workloads.registry import workload_names

if TYPE_CHECKING:
    from jinja2 import Environment

_TABLES = (
    ("provisioning", "Provisioning, as in the paper", PROVISIONING),
    ("delay", "Lag, latency and convergence", DELAY),
    ("replica_count", "All operators together", HEADCOUNT),
    ("distance", "Distance to the frontier", DISTANCE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """An image with its title."""

    drawing: Drawing
    title: str
    #: Description for readers who cannot see it.
    alt: str
    caption: str = ""
    #: Policy that it shows, for the selection of policies; empty if it shows all.
    policy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPart:
    """Section of the page on a workload; ``key`` is its anchor, ``about`` is empty for a file."""

    key: str
    name: str
    about: str
    tables: tuple[Table, ...]
    latencies: Picture | None
    trajectories: tuple[Picture, ...]
    without_trajectory: tuple[str, ...]


def write_report(
    experiment: Experiment, results: Sequence[CaseResult], file: Path, *, baseline: str | None = None
) -> None:
    """Write the report of an experiment.

    Raises
    ------
    InputError
        If there are no results, the baseline has none, the file cannot be written, or Jinja2 or matplotlib is not
        installed.
    """
    chosen = choose_baseline(results, baseline, experiment)
    called, renamed = with_short_names(experiment, results)
    outcomes = Outcomes(
        experiment=called, results=renamed, baseline=short_names(experiment.policies).get(chosen, chosen)
    )
    settings = yaml.safe_dump(experiment.document(), sort_keys=False, allow_unicode=True, width=100)
    text = _rendered(outcomes, settings)
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise InputError("file-unwritable", source=str(file), cause=cause_of(error)) from None


def facts(outcomes: Outcomes) -> tuple[tuple[str, str], ...]:
    """Return facts on the experiment as pairs of name and value."""
    experiment = outcomes.experiment
    seeds = experiment.seed_list
    runs, expected = len(outcomes.results), len(experiment.cases())
    missing = f"; {counted(expected - runs, 'run')} missing" if runs < expected else ""
    return (
        ("experiment", f"{experiment.name}{': ' if experiment.title else ''}{experiment.title}"),
        ("engine", f"simulated {experiment.engine.value.capitalize()}"),
        ("policies", ", ".join(experiment.policies)),
        ("baseline", outcomes.baseline),
        ("workloads", ", ".join(experiment.workloads)),
        ("seeds", f"{len(seeds)}, from {min(seeds)} to {max(seeds)}"),
        ("runs", f"{runs:,}, {len(outcomes.lost) or 'none'} lost{missing}"),
        ("period of the loop", f"{figure(experiment.period_s)} s"),
        ("latency objective", f"{figure(experiment.slo_s)} s"),
        ("versions", f"gesscale {version('gesscale')}, Python {platform.python_version()}"),
    )


def _title(experiment: Experiment) -> str:
    """Return the title of the experiment, or one made from its policies and loads."""
    loads, policies = experiment.workloads, experiment.policies
    load = loads[0] if len(loads) == 1 else counted(len(loads), "workload")
    policy = policies[0] if len(policies) == 1 else f"{len(policies)} policies"
    return experiment.title or f"{policy} on {load}"


def _rendered(outcomes: Outcomes, settings: str) -> str:
    experiment = outcomes.experiment
    environment = _environment()
    present = {result.case.workload for result in outcomes.results}
    workloads = {name: f"w{at}" for at, name in enumerate(experiment.workloads) if name in present}
    shown = {name: _policy_figures(outcomes, name) for name in workloads}
    known = policy_names()
    script = environment.get_template("page.js.j2").render()
    return environment.get_template("page.html.j2").render(
        title=_title(experiment),
        experiment=experiment,
        baseline=outcomes.baseline,
        facts=facts(outcomes),
        settings=settings,
        league=_league(outcomes),
        glance=at_a_glance(outcomes),
        tradeoff=_tradeoff({name: figures for name, figures in shown.items() if figures}),
        lost=lost_runs(outcomes),
        parts=[_part(outcomes, name, key) for name, key in workloads.items()],
        policies=[(name, known.get(name, "a policy from a file")) for name in experiment.policies],
        definitions=(("Provisioning", PROVISIONING), ("Delay", DELAY), ("Distance", DISTANCE)),
        resamples=RESAMPLES,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _league(outcomes: Outcomes) -> tuple[Table, ...]:
    """Return the tables of the league for the first variant; none if it lacks results of the baseline."""
    experiment = outcomes.experiment
    first = [result for result in outcomes.results if result.case.variant == experiment.variant_names[0]]
    if not any(LAG_ABOVE[1] in result.metrics and result.case.policy == outcomes.baseline for result in first):
        return ()
    tables = LeagueTables(
        experiment=experiment,
        found=standings(experiment, first, baseline=outcomes.baseline),
        prices=PRICES,
        baseline=outcomes.baseline,
        objective_s=experiment.slo_s,
    )
    return tables.of_variant(experiment.variant_names[0])


def _policy_figures(outcomes: Outcomes, workload: str) -> list[PolicyFigures]:
    """Return the data of each policy that has both cost and lag."""
    found = []
    for index, policy in enumerate(outcomes.policies):
        cost = outcomes.mean(workload, policy, "cost")
        lag = outcomes.mean(workload, policy, "lag_above_slo_s")
        if cost is not None and lag is not None:
            found.append(PolicyFigures(policy=policy, index=index, cost=cost.mean, lag_s=lag.mean))
    return found


def _tradeoff(workloads: Mapping[str, Sequence[PolicyFigures]]) -> Picture | None:
    if not workloads:
        return None
    return Picture(
        drawing=draw_tradeoffs(workloads),
        title="Cost against lag",
        alt="Cost against lag of each policy on each workload, as in the tables below.",
        caption="Further left rows wait less; further down fewer replicas are used. Each mark is the mean of a policy. "
        "Lag is logarithmic from 100 s, with the same scale in all panels; cost begins at 0.",
    )


def _part(outcomes: Outcomes, workload: str, key: str) -> WorkloadPart:
    trajectories = outcomes.trajectories(workload)
    return WorkloadPart(
        key=key,
        name=workload,
        about=workload_names().get(workload.partition(":")[0], ""),
        tables=tuple(
            comparison(outcomes, workload, measures, key=f"{key}-{name}", caption=title)
            for name, title, measures in _TABLES
        ),
        latencies=_latencies(workload, outcomes.policies, trajectories),
        trajectories=_trajectories(workload, trajectories),
        without_trajectory=tuple(policy for policy in outcomes.policies if policy not in trajectories),
    )


def _latencies(workload: str, policies: Sequence[str], runs: Mapping[str, CaseResult]) -> Picture | None:
    quantiles_s = {policy: run.series.get(LATENCIES, ()) for policy, run in runs.items()}
    known = {policy: found for policy, found in quantiles_s.items() if found and None not in found}
    if not known:
        return None
    return Picture(
        drawing=draw_latencies(known, {policy: at for at, policy in enumerate(policies)}),
        title="Latency of the rows",
        alt=f"Empirical distribution function of the latency of each policy on {workload}.",
        caption="Share of the rows that reached the sink within a time, first seed.",
    )


def _trajectories(workload: str, trajectories: Mapping[str, CaseResult]) -> tuple[Picture, ...]:
    drawn = draw_trajectories({policy: result.series for policy, result in trajectories.items()})
    units = {"reconfigurations": "reconfigurations", "cost": "replica-min", "lag_above_slo_s": "s of lag"}
    pictures = []
    for policy, result in trajectories.items():
        known = {unit: metric_of(result, name) for name, unit in units.items()}
        summary = ", ".join(f"{figure(value)} {unit}" for unit, value in known.items() if value is not None)
        pictures.append(
            Picture(
                drawing=drawn[policy],
                title=policy,
                alt=f"{policy} on {workload} over time: input and processed rate, replicas supplied and demanded, "
                "provisioning error, backlog.",
                caption=f"Seed {result.case.seed}{': ' if summary else ''}{summary}.",
                policy=policy,
            )
        )
    return tuple(pictures)


def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("testbed.arena.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
