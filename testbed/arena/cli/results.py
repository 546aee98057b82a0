"""``gesscale arena compare``, ``league``, ``report`` and ``course``: what is made of results."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.cli.output import Output, OutputOption, emit, stderr_console
from gesscale.common import API_VERSION
from gesscale.errors import InputError
from testbed.arena.cli.options import ResultsFolderArgument, duration_s, files_placed
from testbed.arena.names import IDEAL, PRICES, Account

if TYPE_CHECKING:
    from testbed.arena.case import CaseResult
    from testbed.arena.experiments.experiment import Experiment

#: Below this number of seeds an interval is narrower than it says, which is worth a word.
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
        list[str] | None, typer.Option("--metric", help="Only this one; repeatable. Default: the usual ones.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare every policy with a baseline, seed by seed: means, ratios, how often it was better."""
    from testbed.arena.cli.tables import comparison_tables
    from testbed.arena.judging.comparing import choose_baseline, choose_metrics, compare_results
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
    _say_what_lacks(folder, experiment, results)


def report(
    folder: ResultsFolderArgument,
    *,
    file: Annotated[Path, typer.Option("--to", metavar="FILE.html", help="Where the page is written.")] = Path(
        "report.html"
    ),
    baseline: BaselineOption = None,
) -> None:
    """Write results as one HTML page: the course of a run of each policy, and the comparison."""
    from testbed.arena.report.page import write_report
    from testbed.arena.runs.results import read_results

    experiment, results = read_results(folder)
    write_report(experiment, results, file, baseline=baseline)
    stderr_console.print(f"wrote {file}")
    _say_what_lacks(folder, experiment, results)


def league(
    folder: ResultsFolderArgument,
    *,
    price: Annotated[
        list[float] | None,
        typer.Option(
            metavar="REPLICA-MINUTES",
            help="What a late minute is worth; repeatable.",
            show_default=" ".join(f"{each:g}" for each in PRICES),
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY",
            help="Whom the others are measured by.",
            show_default="ideal; where it was not played, the experiment's first",
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="The lag that is late: the experiment's objective, half or twice that.",
            show_default="the experiment's",
        ),
    ] = None,
    account: Annotated[
        Account,
        typer.Option(
            help="What a cost takes for late minutes: their number, or the lag area, which grows with the lag."
        ),
    ] = Account.MINUTES,
    output: OutputOption = Output.TABLE,
) -> None:
    """Rank the policies over all loads by what they cost, and name the winner of each load."""
    from testbed.arena.cli.tables import standing_tables
    from testbed.arena.judging.standings import lateness_metric, standings
    from testbed.arena.report.formatting import short_name
    from testbed.arena.runs.results import read_results

    prices = tuple(price or PRICES)
    for each in prices:
        if not 0 <= each < float("inf"):
            raise InputError(f"--price: expected replica-minutes, 0 or more, got {each:g}")
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
    tables = standing_tables(
        found,
        prices,
        experiment.workloads,
        ratios=f"ratios to {short_name(base)}{late}",
        lateness="late minutes" if account is Account.MINUTES else "lag area, minutes",
    )
    emit(document, output, tables)
    _say_what_lacks(folder, experiment, results)


def record(
    folder: ResultsFolderArgument,
    *,
    policy: Annotated[str, typer.Option("--policy", help="Whose run.")],
    workload: Annotated[
        str, typer.Option("--workload", metavar="NAME|FILE", help="On which load. Default: the first.")
    ] = "",
    seed: Annotated[int | None, typer.Option("--seed", help="Default: the first.", show_default=False)] = None,
    variant: Annotated[str | None, typer.Option("--variant", help="Default: the first.", show_default=False)] = None,
    target: Annotated[
        Path, typer.Option("--to", metavar="FOLDER", help="Where the record and its page.html go.")
    ] = Path("record"),
) -> None:
    """Play one run again, and keep every decision and every batch of it: a record to look at and to replay."""
    from gesscale.service.recorded import write_page
    from testbed.arena.case import Case
    from testbed.arena.report.formatting import run_title
    from testbed.arena.runs.recording import check_same, record_run
    from testbed.arena.runs.results import read_results

    experiment, results = read_results(folder)
    case = Case(
        policy=files_placed([policy])[0],
        workload=files_placed([workload])[0] if workload else experiment.workloads[0],
        seed=experiment.seed_list[0] if seed is None else seed,
        variant=experiment.variant_names[0] if variant is None else variant,
    )
    if case not in experiment.cases():
        raise InputError(f"expected a run of experiment {experiment.name}, got {case}")
    if target.exists() and not target.is_dir():
        raise InputError(f"--to: expected a folder, got the file {target}; name another place")
    result = record_run(experiment, case, target)
    for kept in results:
        if kept.case == case:
            check_same(kept, result)
    write_page(target, target / "page.html", title=run_title(experiment, case))
    if result.lost:
        stderr_console.print(f"the run was lost: {result.lost}")
    stderr_console.print(f"open {target / 'page.html'} in a browser")
    stderr_console.print(f"what another policy would have decided: gesscale replay {target} --policy NAME")


def _baseline(experiment: "Experiment", results: Sequence["CaseResult"], wanted: str | None) -> str:
    """Return the baseline policy, and say so where it is not the usual one."""
    from testbed.arena.judging.comparing import choose_baseline
    from testbed.arena.report.formatting import short_name

    if wanted is None and any(result.case.policy == IDEAL for result in results):
        return IDEAL
    base = choose_baseline(results, wanted, experiment)
    if wanted is None:
        stderr_console.print(
            f"note: {IDEAL} was not played, so ratios are to {short_name(base)}; --baseline names another, and "
            f"gesscale arena run --policies {IDEAL} plays it"
        )
    return base


def _say_what_lacks(folder: Path, experiment: "Experiment", results: Sequence["CaseResult"]) -> None:
    """Say on stderr which runs are not done, that seeds are few, and which runs were lost."""
    from testbed.arena.cli.tables import note_lost

    total = len(experiment.cases())
    if len(results) < total:
        stderr_console.print(
            f"note: {len(results)} of {total} runs are done; gesscale arena run --results {folder} with the same "
            "options does the rest"
        )
    seeds = len({result.case.seed for result in results})
    if seeds < _FEW_SEEDS:
        stderr_console.print(
            f"note: {seeds} seeds are few: below {_FEW_SEEDS} the intervals are too narrow; 30 are better"
        )
    note_lost(results)
