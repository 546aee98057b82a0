"""``gesscale arena league``: all policies over all loads in one table, and who wins where."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from gesscale.api_version import API_VERSION
from gesscale.cli.output import Output, emit, stderr_console
from gesscale.errors import InputError
from testbed.arena.case import CaseResult
from testbed.arena.cli.arguments import duration_s
from testbed.arena.cli.comparing import say_what_lacks
from testbed.arena.cli.tables import TextColumn, first_of_each, fitted, on_one_line, short_name
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.judging.comparing import choose_baseline
from testbed.arena.judging.prices import PRICES, Account
from testbed.arena.judging.standings import Standing, lateness_metric, standings
from testbed.arena.policies.oracle_names import IDEAL
from testbed.arena.runs.results import read_results


def rank_policies(
    *,
    folder: Path,
    price: list[float] | None,
    baseline: str | None,
    objective: str | None,
    account: Account,
    output: Output,
) -> None:
    """Rank the policies over all loads by what they cost, and name the winner of each load."""
    prices = tuple(price or PRICES)
    for each in prices:
        if not 0 <= each < float("inf"):
            message = f"--price: expected replica-minutes, 0 or more, got {each:g}"
            raise InputError(message)
    experiment, results = read_results(folder)
    objective_s = experiment.slo_s if objective is None else duration_s("--objective", objective)
    lateness = lateness_metric(experiment, objective_s, account)
    base = _baseline(experiment, results, baseline)
    found = standings(experiment, results, prices=prices, baseline=base, lateness=lateness)
    document = {
        "apiVersion": API_VERSION,
        "experiment": experiment.name,
        "baseline": base,
        "prices_replica_min": prices,
        "objective_s": objective_s,
        "account": account,
        "standings": found,
    }
    late = f", late from {objective_s:g} s" if objective is not None else ""
    heading = _Heading(
        ratios=f"ratios to {short_name(base)}{late}",
        lateness="late\nminutes" if account is Account.MINUTES else "lag area,\nminutes",
    )
    emit(
        document,
        output,
        [*_standings(found, prices, heading), *_winners(found, prices, experiment.workloads)],
    )
    say_what_lacks(folder, experiment, results)


def _baseline(experiment: Experiment, results: Sequence[CaseResult], wanted: str | None) -> str:
    """Return the baseline policy, and say so where it is not the usual one."""
    if wanted is None and any(result.case.policy == IDEAL for result in results):
        return IDEAL
    base = choose_baseline(results, wanted, experiment)
    if wanted is None:
        stderr_console.print(
            f"note: {IDEAL} was not played, so ratios are to {short_name(base)}; --baseline names another, and "
            f"gesscale arena run --policies {IDEAL} plays it"
        )
    return base


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heading:
    """What is said above the figures: what they are ratios to, and what counts as late."""

    ratios: str
    lateness: str


def _standings(found: Sequence[Standing], prices: Sequence[float], heading: _Heading) -> list[Table]:
    """Return a table for each variant."""
    tables: list[Table] = []
    middle = prices[len(prices) // 2]
    for variant in dict.fromkeys(standing.variant for standing in found):
        own = [standing for standing in found if standing.variant == variant]
        keys = [TextColumn(heading="policy", cells=[_name(standing) for standing in own])]
        figures = [
            TextColumn(heading="replicas", cells=[on_one_line(standing.replicas) for standing in own]),
            TextColumn(heading=heading.lateness, cells=[on_one_line(standing.late_min) for standing in own]),
            TextColumn(heading="actions", cells=[on_one_line(standing.actions) for standing in own]),
        ]
        for index, price in enumerate(prices):
            bills = [on_one_line(standing.bills[index]) for standing in own]
            won = [str(len(standing.won[index])) if standing.competes else "" for standing in own]
            figures += [
                TextColumn(heading=f"bill at {price:g}\na late minute", cells=bills),
                TextColumn(heading=f"won\nat {price:g}", cells=won),
            ]
        if any(standing.above_foresight_pct is not None for standing in own):
            above = [on_one_line(standing.above_foresight_pct) for standing in own]
            figures.append(TextColumn(heading=f"above foresight\nat {middle:g}, %", cells=above))
        named = f", variant {variant}" if variant else ""
        title = f"Over all loads{named}: {heading.ratios}, [95 % interval]"
        tables += fitted(title, keys, figures)
    return tables


def _winners(found: Sequence[Standing], prices: Sequence[float], workloads: Sequence[str]) -> list[Table]:
    """Return who has the least bill on each load, for each variant and price."""
    variants = list(dict.fromkeys(standing.variant for standing in found))
    rows = [(load, price) for load in workloads for price in range(len(prices))]
    keys = [
        TextColumn(heading="load", cells=first_of_each(short_name(load) for load, _ in rows)),
        TextColumn(heading="late minute", cells=[f"{prices[price]:g}" for _, price in rows]),
    ]
    columns = []
    for variant in variants:
        winner = {
            (load, price): short_name(standing.policy)
            for standing in found
            if standing.variant == variant
            for price, loads in enumerate(standing.won)
            for load in loads
        }
        columns.append(TextColumn(heading=variant or "winner", cells=[winner.get(row, "–") for row in rows]))
    return fitted("The least bill on each load", keys, columns)


def _name(standing: Standing) -> str:
    name = short_name(standing.policy)
    if standing.lost:
        name += f" ({standing.lost} of {standing.runs} lost)"
    return name if standing.competes else f"{name} (knows the load)"
