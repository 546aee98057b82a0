"""``gesscale arena compare``, ``league``, ``report`` and ``record``: evaluate results."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.cli.output import Output, OutputOption, emit, stderr_console, warn
from gesscale.common import API_VERSION
from gesscale.common.errors import Problem
from gesscale.errors import InputError
from testbed.arena.cli.options import ResultsFolderArgument, duration_s, with_absolute_files
from testbed.arena.names import CHANGE_PRICE, IDEAL, PRICES, LatenessMeasure

if TYPE_CHECKING:
    from testbed.arena.case import CaseResult
    from testbed.arena.experiments.experiment import Experiment

#: Below this number of seeds the intervals are too narrow.
_FEW_SEEDS = 8

BaselineOption = Annotated[
    str | None,
    typer.Option("--baseline", metavar="POLICY", help="Default: the experiment's first.", show_default=False),
]


def compare(
    folder: ResultsFolderArgument,
    *,
    baseline: BaselineOption = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="A metric; repeatable. Default: the usual ones.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare every policy with a baseline, seed by seed: means, ratios, share of wins."""
    from testbed.arena.cli.tables import comparison_tables
    from testbed.arena.evaluation.comparison import choose_baseline, choose_metrics, compare_results
    from testbed.arena.runs.results import read_results

    experiment, results = read_results(folder)
    base = choose_baseline(results, baseline, experiment)
    compared = compare_results(experiment, results, baseline=base, metrics=choose_metrics(results, metric or ()))
    document = {
        "apiVersion": API_VERSION,
        "experiment": experiment.name,
        "baseline": base,
        "reference": None if experiment.reference is None else experiment.reference.source,
        "comparisons": compared,
    }
    emit(document, output, comparison_tables(base, compared))
    _warn_of_gaps(folder, experiment, results)


def report(
    folder: ResultsFolderArgument,
    *,
    file: Annotated[Path, typer.Option("--to", metavar="FILE.html", help="The page to write.")] = Path("report.html"),
    baseline: BaselineOption = None,
) -> None:
    """Write results as one HTML page: a run of each policy over time, and the comparison."""
    from testbed.arena.report.page import write_report
    from testbed.arena.runs.results import read_results

    experiment, results = read_results(folder)
    write_report(experiment, results, file, baseline=baseline)
    stderr_console.print(f"wrote {file}")
    _warn_of_gaps(folder, experiment, results)


def league(
    folder: ResultsFolderArgument,
    *,
    price: Annotated[
        list[float] | None,
        typer.Option(
            metavar="REPLICA-MINUTES",
            help="Price of a late minute; repeatable.",
            show_default=" ".join(f"{each:g}" for each in PRICES),
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY",
            help="Policy that the ratios refer to.",
            show_default="ideal; without results of it, the experiment's first",
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Lag from which a row is late: the experiment's objective, half or twice that.",
            show_default="the experiment's",
        ),
    ] = None,
    lateness: Annotated[
        LatenessMeasure,
        typer.Option(help="How lateness is counted: late minutes, or the lag area, which grows with the lag."),
    ] = LatenessMeasure.MINUTES,
    output: OutputOption = Output.TABLE,
) -> None:
    """Rank the policies over all loads by cost with changes and without, and name the winner of each load."""
    from testbed.arena.cli.tables import shown
    from testbed.arena.evaluation.standings import lateness_metric, standings
    from testbed.arena.report.formatting import short_name
    from testbed.arena.report.league import LeagueTables
    from testbed.arena.runs.results import read_results

    prices = tuple(price or PRICES)
    for each in prices:
        if not 0 <= each < float("inf"):
            raise InputError("price-invalid", place="--price", got=each)
    experiment, results = read_results(folder)
    objective_s = experiment.slo_s if objective is None else duration_s("--objective", objective)
    metric = lateness_metric(experiment, objective_s, lateness)
    base = _baseline(experiment, results, baseline)
    found = standings(experiment, results, prices=prices, baseline=base, lateness=metric)
    document = {
        "apiVersion": API_VERSION,
        "experiment": experiment.name,
        "baseline": base,
        "prices_replica_min": prices,
        "change_price_replica_min": CHANGE_PRICE,
        "policies_objective_s": experiment.slo_s,
        "objective_s": objective_s,
        "lateness": lateness,
        "standings": found,
    }
    tables = LeagueTables(
        experiment=experiment,
        found=found,
        prices=prices,
        baseline=short_name(base),
        objective_s=objective_s,
        lateness=lateness,
    )
    variants = dict.fromkeys(standing.variant for standing in found)
    emit(
        document,
        output,
        shown([*(each for variant in variants for each in tables.of_variant(variant)), tables.winners()]),
    )
    _warn_of_gaps(folder, experiment, results)


def record(
    folder: ResultsFolderArgument,
    *,
    policy: Annotated[str, typer.Option("--policy", help="Policy of the run.")],
    workload: Annotated[
        str, typer.Option("--workload", metavar="NAME|FILE", help="Load of the run. Default: the first.")
    ] = "",
    seed: Annotated[int | None, typer.Option("--seed", help="Default: the first.", show_default=False)] = None,
    variant: Annotated[str | None, typer.Option("--variant", help="Default: the first.", show_default=False)] = None,
    target: Annotated[
        Path, typer.Option("--to", metavar="FOLDER", help="Folder for the record and its page.html.")
    ] = Path("record"),
) -> None:
    """Run one case again and record every decision and batch, to inspect and to replay."""
    from gesscale.service.recorded import write_page
    from testbed.arena.case import Case
    from testbed.arena.cli.tables import warn_of_lost
    from testbed.arena.report.formatting import run_title
    from testbed.arena.runs.recording import check_reproduced, record_run
    from testbed.arena.runs.results import read_results

    experiment, results = read_results(folder)
    case = Case(
        policy=with_absolute_files([policy])[0],
        workload=with_absolute_files([workload])[0] if workload else experiment.workloads[0],
        seed=experiment.seed_list[0] if seed is None else seed,
        variant=experiment.variant_names[0] if variant is None else variant,
    )
    if case not in experiment.cases():
        raise InputError("case-unknown", source=f"experiment {experiment.name}", **asdict(case))
    if target.exists() and not target.is_dir():
        raise InputError("results-not-directory", source=f"--to {target}")
    result = record_run(experiment, case, target)
    for stored in results:
        if stored.case == case:
            check_reproduced(stored, result)
    write_page(target, target / "page.html", title=run_title(experiment, case))
    warn_of_lost([result])
    stderr_console.print(f"open {target / 'page.html'} in a browser")
    stderr_console.print(f"decisions of another policy: gesscale replay {target} --policy NAME")


def _baseline(experiment: "Experiment", results: Sequence["CaseResult"], requested: str | None) -> str:
    """Return the baseline policy, and warn if it is not the usual one."""
    from testbed.arena.evaluation.comparison import choose_baseline
    from testbed.arena.report.formatting import short_name

    if requested is None and any(result.case.policy == IDEAL for result in results):
        return IDEAL
    base = choose_baseline(results, requested, experiment)
    if requested is None:
        warn([Problem("baseline-not-ideal", {"usual": IDEAL, "baseline": short_name(base)})])
    return base


def _warn_of_gaps(folder: Path, experiment: "Experiment", results: Sequence["CaseResult"]) -> None:
    """Warn of missing runs, few seeds and lost runs."""
    from testbed.arena.cli.tables import warn_of_lost

    total = len(experiment.cases())
    if len(results) < total:
        warn([Problem("results-incomplete", {"source": str(folder), "done": len(results), "total": total})])
    seeds = len({result.case.seed for result in results})
    if seeds < _FEW_SEEDS:
        warn([Problem("seeds-few", {"seeds": seeds, "enough": _FEW_SEEDS})])
    warn_of_lost(results)
