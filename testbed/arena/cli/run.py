"""``gesscale arena run`` and ``list``: run every case and store the results."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.cli.output import Output, OutputOption, emit, stderr_console, table, warn
from gesscale.cli.process_exit import INTERRUPTED, end_as_ctrl_c_does
from gesscale.common import API_VERSION
from gesscale.common.errors import Problem
from gesscale.errors import InputError
from gesscale.validation import nearest
from testbed.arena.cli.options import complete_experiment, complete_policies, complete_workload, with_absolute_files
from testbed.arena.names import Engine

if TYPE_CHECKING:
    from testbed.arena.case import Case, CaseResult
    from testbed.arena.experiments.experiment import Experiment
    from testbed.arena.runs.results import ResultsFolder

ALL = "all"

Runner = Callable[["Experiment", Sequence["Case"], Callable[["CaseResult"], None]], None]


def run(
    *,
    experiment: Annotated[
        str,
        typer.Option(
            "--experiment",
            metavar="NAME|FILE",
            help="Experiment that the other options modify: a name or a YAML file.",
            autocompletion=complete_experiment,
        ),
    ] = "standard",
    policies: Annotated[
        str | None,
        typer.Option(
            "--policies",
            help="Comma-separated names, or all. Default: the experiment's.",
            autocompletion=complete_policies,
        ),
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            "--workload",
            metavar="NAME|FILE",
            help="A load; repeatable. Default: the experiment's.",
            autocompletion=complete_workload,
        ),
    ] = None,
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="How many. Default: the experiment's.")] = None,
    variants: Annotated[
        list[str] | None,
        typer.Option("--variants", metavar="NAME|all", help="Variant of the experiment; repeatable. Default: all."),
    ] = None,
    engine: Annotated[Engine | None, typer.Option("--engine", help="Engine to simulate.")] = None,
    map_: Annotated[
        Path | None, typer.Option("--map", metavar="MAP", help="A latency map, instead of the experiment's nodes.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Number of processes. Default: one per core.")
    ] = None,
    spark: Annotated[
        str | None,
        typer.Option("--spark", metavar="MASTER", help="Run on this Spark cluster, such as spark://host:7077."),
    ] = None,
    results: Annotated[
        Path | None, typer.Option("--results", metavar="FOLDER", help="Folder for the results. Default: not stored.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Continue existing results, or discard them.")
    ] = True,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run policies on workloads with many seeds; a seed gives every policy the same world.

    Exit 1: a policy lost all its runs, or the arena failed in one.
    """
    from testbed.arena.cli.tables import comparison_tables, warn_of_lost
    from testbed.arena.evaluation.comparison import choose_baseline, choose_metrics, compare_results, results_document
    from testbed.arena.runner import check_experiment
    from testbed.arena.runs.case_runner import ARENA_FAILED
    from testbed.arena.runs.results import open_results

    changes = _changes(policies, workload or [], seeds, engine, map_)
    chosen = _experiment(experiment, changes)
    selected = _variants(chosen, variants or [ALL])
    runner = _runner(jobs, spark)
    warn(check_experiment(chosen))
    end_as_ctrl_c_does()  # batch systems end jobs with SIGTERM
    with _folder(results) as folder, open_results(folder, chosen, fresh=not resume) as store:
        missing = [case for case in store.missing if case.variant in selected]
        _run_cases(runner, chosen, missing, store, is_stored=results is not None)
        if not store.missing:
            store.finish()
        found = [result for result in store.results if result.case.variant in selected]
    document = results_document(chosen, found)
    tables = []
    if output is Output.TABLE:
        base = choose_baseline(found, None, chosen)
        compared = compare_results(chosen, found, baseline=base, metrics=choose_metrics(found, ()))
        tables = comparison_tables(base, compared)
    emit(document, output, tables)
    warn_of_lost(found)
    if results is not None:
        stderr_console.print(
            f"results in {results}; next: gesscale arena compare {results}, gesscale arena report {results}"
        )
    completed = {result.case.policy for result in found if not result.lost}
    never_completed = any(result.case.policy not in completed for result in found)
    if never_completed or any(result.lost_code == ARENA_FAILED for result in found):
        raise typer.Exit(1)


def list_(*, output: OutputOption = Output.TABLE) -> None:
    """List policies, workloads and experiments, each with a summary."""
    from testbed.arena.experiments.experiment import experiment_names
    from testbed.arena.policies.catalogue import policy_names
    from testbed.workloads.registry import workload_names

    parts = {"policies": policy_names(), "workloads": workload_names(), "experiments": experiment_names()}
    document = {
        part: [{"name": name, "summary": summary} for name, summary in names.items()] for part, names in parts.items()
    }
    tables = [table(part.capitalize(), ("name", "summary"), names.items()) for part, names in parts.items()]
    emit({"apiVersion": API_VERSION, **document}, output, tables)


def _changes(
    policies: str | None, workloads: Sequence[str], seeds: int | None, engine: Engine | None, latency_map: Path | None
) -> dict[str, object]:
    """Return the experiment settings that the options change."""
    from testbed.arena.policies.catalogue import policy_names

    changes: dict[str, object] = {}
    if policies is not None:
        changes["policies"] = list(policy_names()) if policies == ALL else with_absolute_files(policies.split(","))
    if workloads:
        changes["workloads"] = with_absolute_files(workloads)
    if seeds is not None:
        changes["seeds"] = seeds
    if engine is not None:
        changes["engine"] = engine.value
    if latency_map is not None:
        changes["nodes"] = {"map": str(latency_map.resolve())}
    return changes


def _experiment(source: str, changes: dict[str, object]) -> "Experiment":
    """Return the experiment with its changes."""
    from testbed.arena.experiments.experiment import read_experiment

    path = Path(source)
    base = read_experiment(str(path.resolve()) if path.is_file() else source)
    if changes.keys() - {"seeds"}:
        changes = {"title": "", **changes}  # the title describes the unchanged experiment
    return base.changed(changes, "the options") if changes else base


def _variants(experiment: "Experiment", requested: Sequence[str]) -> set[str]:
    known = experiment.variant_names
    if ALL in requested:
        return set(known)
    for name in requested:
        if name not in known:
            source = f"experiment {experiment.name}"
            if not any(known):
                raise InputError("experiment-without-variants", source=source, place="--variants", variant=name)
            raise InputError(
                "experiment-variant-unknown",
                source=source,
                place="--variants",
                variant=name,
                nearest=nearest(name, known),
            )
    return set(requested)


def _runner(jobs: int | None, spark: str | None) -> Runner:
    from testbed.arena.runner import run_case
    from testbed.arena.runs.case_runner import run_locally

    if spark == "":
        raise InputError("spark-master-empty", place="--spark")
    if spark and jobs is not None:
        raise InputError("jobs-with-spark", jobs=jobs, master=spark)
    if spark:
        from testbed.arena.runs.on_spark import run_on_spark

        return lambda experiment, cases, done: run_on_spark(
            experiment, cases, master=spark, done=done, run_case=run_case
        )
    processes = len(os.sched_getaffinity(0)) if jobs is None else jobs
    return lambda experiment, cases, done: run_locally(experiment, cases, jobs=processes, done=done, run_case=run_case)


@contextmanager
def _folder(results: Path | None) -> Iterator[Path]:
    """Yield the folder for the results; a temporary one by default."""
    if results is not None:
        yield results
        return
    with tempfile.TemporaryDirectory(prefix="gesscale-arena-") as temporary:
        yield Path(temporary)


def _run_cases(
    runner: Runner, experiment: "Experiment", cases: Sequence["Case"], store: "ResultsFolder", *, is_stored: bool
) -> None:
    """Run cases with a progress bar; an interrupt ends the command."""
    from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

    from testbed.arena.runs.results import read_results

    if store.results and cases:
        stderr_console.print(f"resuming: {len(store.results)} runs done, {len(cases)} to do")
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=stderr_console, transient=True, disable=not stderr_console.is_terminal) as bar:
        task = bar.add_task("runs", total=len(cases))
        lost = 0

        def done(result: "CaseResult") -> None:
            nonlocal lost
            store.add(result)
            lost += bool(result.lost)
            bar.update(task, advance=1, description=f"runs, {lost} lost" if lost else "runs")

        try:
            runner(experiment, cases, done)
            return
        except KeyboardInterrupt:
            pass
    # An interrupt may come between writing a line and counting it, so count the file.
    _, stored = read_results(store.folder)
    fields = {"done": len(stored), "total": len(store.results) + len(store.missing)}
    if is_stored:
        warn([Problem("runs-interrupted", {"source": str(store.folder), **fields})])
    else:
        warn([Problem("runs-interrupted-unstored", fields)])
    raise typer.Exit(INTERRUPTED)
