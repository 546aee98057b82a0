"""``gesscale arena run`` and ``list``: play every case, keep the results, say what came of it."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.cli.ending import INTERRUPTED, end_as_ctrl_c_does
from gesscale.cli.output import Output, OutputOption, emit, stderr_console, table, warn
from gesscale.common import API_VERSION
from gesscale.errors import InputError
from gesscale.formatting import suggestion
from testbed.arena.cli.options import complete_experiment, complete_policies, complete_workload, files_placed
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
            help="What is varied below; a YAML file or a name.",
            autocompletion=complete_experiment,
        ),
    ] = "standard",
    policies: Annotated[
        str | None,
        typer.Option(
            "--policies", help="By commas, or all. Default: the experiment's.", autocompletion=complete_policies
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
        typer.Option("--variants", metavar="NAME|all", help="Of the experiment; repeatable. Default: all."),
    ] = None,
    engine: Annotated[Engine | None, typer.Option("--engine", help="What is simulated.")] = None,
    map_: Annotated[
        Path | None, typer.Option("--map", metavar="MAP", help="A latency map, instead of the experiment's nodes.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Processes. Default: one for each core.")
    ] = None,
    spark: Annotated[
        str | None,
        typer.Option("--spark", metavar="MASTER", help="Play on this Spark cluster, such as spark://host:7077."),
    ] = None,
    results: Annotated[
        Path | None, typer.Option("--results", metavar="FOLDER", help="Keep the results here. Default: nowhere.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Go on with results that are there, or throw them away.")
    ] = True,
    output: OutputOption = Output.TABLE,
) -> None:
    """Play policies on workloads with many seeds; the same seed is the same world to each policy.

    Exit 1: a policy lost all its runs, or the arena lost one.
    """
    from testbed.arena.cli.tables import comparison_tables, note_lost
    from testbed.arena.judging.comparing import choose_baseline, choose_metrics, compare_results, results_document
    from testbed.arena.runner import check_experiment
    from testbed.arena.runs.results import open_results
    from testbed.arena.runs.running import ARENA_FAULT

    changes = _changes(policies, workload or [], seeds, engine, map_)
    chosen = _experiment(experiment, changes)
    wanted = _variants(chosen, variants or [ALL])
    runner = _runner(jobs, spark)
    warn(check_experiment(chosen))
    end_as_ctrl_c_does()  # a batch system ends its jobs by SIGTERM
    with _folder(results) as folder, open_results(folder, chosen, fresh=not resume) as kept:
        missing = [case for case in kept.missing if case.variant in wanted]
        _play(runner, chosen, missing, kept, is_kept=results is not None)
        if not kept.missing:
            kept.finish()
        found = [result for result in kept.results if result.case.variant in wanted]
    document = results_document(chosen, found)
    tables = []
    if output is Output.TABLE:
        base = choose_baseline(found, None, chosen)
        compared = compare_results(chosen, found, baseline=base, metrics=choose_metrics(found, ()))
        tables = comparison_tables(base, compared)
    emit(document, output, tables)
    note_lost(found)
    if results is not None:
        stderr_console.print(
            f"kept in {results}; see also: gesscale arena compare {results}, gesscale arena report {results}"
        )
    came_through = {result.case.policy for result in found if not result.lost}
    never_ran = any(result.case.policy not in came_through for result in found)
    if never_ran or any(result.lost.startswith(ARENA_FAULT) for result in found):
        raise typer.Exit(1)


def list_(*, output: OutputOption = Output.TABLE) -> None:
    """List policies, workloads and experiments, each with a line on what it is and where it is from."""
    from testbed.arena.experiments.experiment import experiment_names
    from testbed.arena.policies.catalogue import policy_names
    from testbed.workloads.registry import workload_names

    parts = {"policies": policy_names(), "workloads": workload_names(), "experiments": experiment_names()}
    document = {
        part: [{"name": name, "summary": summary} for name, summary in names.items()] for part, names in parts.items()
    }
    tables = [table(part.capitalize(), ("name", "what it is"), names.items()) for part, names in parts.items()]
    emit({"apiVersion": API_VERSION, **document}, output, tables)


def _changes(
    policies: str | None, workloads: Sequence[str], seeds: int | None, engine: Engine | None, latency_map: Path | None
) -> dict[str, object]:
    """Return the settings of an experiment that the options change."""
    from testbed.arena.policies.catalogue import policy_names

    changes: dict[str, object] = {}
    if policies is not None:
        changes["policies"] = list(policy_names()) if policies == ALL else files_placed(policies.split(","))
    if workloads:
        changes["workloads"] = files_placed(workloads)
    if seeds is not None:
        changes["seeds"] = seeds
    if engine is not None:
        changes["engine"] = engine.value
    if latency_map is not None:
        changes["nodes"] = {"map": str(latency_map.resolve())}
    return changes


def _experiment(source: str, changes: dict[str, object]) -> "Experiment":
    """Return the experiment that is asked for."""
    from testbed.arena.experiments.experiment import read_experiment

    path = Path(source)
    base = read_experiment(str(path.resolve()) if path.is_file() else source)
    if changes.keys() - {"seeds"}:
        changes = {"title": "", **changes}  # the title tells of the experiment as it was
    return base.changed(changes, "the options") if changes else base


def _variants(experiment: "Experiment", wanted: Sequence[str]) -> set[str]:
    known = experiment.variant_names
    if ALL in wanted:
        return set(known)
    for name in wanted:
        if name not in known:
            hint = suggestion(name, known) if any(known) else f"experiment {experiment.name} varies nothing"
            raise InputError(f"--variants: expected a variant of the experiment, got {name!r}; {hint}")
    return set(wanted)


def _runner(jobs: int | None, spark: str | None) -> Runner:
    from testbed.arena.runner import run_case
    from testbed.arena.runs.running import run_locally

    if spark == "":
        raise InputError("--spark: expected a master such as spark://host:7077 or local[4], got nothing")
    if spark and jobs is not None:
        raise InputError(
            f"expected --jobs or --spark, got both (--jobs {jobs}, --spark {spark}); Spark counts its own cores"
        )
    if spark:
        from testbed.arena.runs.on_spark import run_on_spark

        return lambda experiment, cases, done: run_on_spark(
            experiment, cases, master=spark, done=done, run_case=run_case
        )
    processes = len(os.sched_getaffinity(0)) if jobs is None else jobs
    return lambda experiment, cases, done: run_locally(experiment, cases, jobs=processes, done=done, run_case=run_case)


@contextmanager
def _folder(results: Path | None) -> Iterator[Path]:
    """Give a folder for the results; without a name a passing one."""
    if results is not None:
        yield results
        return
    with tempfile.TemporaryDirectory(prefix="gesscale-arena-") as passing:
        yield Path(passing)


def _play(
    runner: Runner, experiment: "Experiment", cases: Sequence["Case"], kept: "ResultsFolder", *, is_kept: bool
) -> None:
    """Play cases under a progress bar; ends the command where it is interrupted."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from testbed.arena.runs.results import read_results

    if kept.results and cases:
        stderr_console.print(f"{len(kept.results)} runs are done already; {len(cases)} are left")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=stderr_console, transient=True, disable=not stderr_console.is_terminal) as bar:
        task = bar.add_task("runs", total=len(cases))
        lost = 0

        def done(result: "CaseResult") -> None:
            nonlocal lost
            kept.add(result)
            lost += bool(result.lost)
            bar.update(task, advance=1, description=f"runs, {lost} lost" if lost else "runs")

        try:
            runner(experiment, cases, done)
            return
        except KeyboardInterrupt:
            pass
    # The file knows: an interrupt may come between a line and its count.
    _, on_file = read_results(kept.folder)
    total = len(kept.results) + len(kept.missing)
    after = f"are done and kept in {kept.folder}; the same command goes on"
    stderr_console.print(
        f"interrupted: {len(on_file)} of {total} runs {after if is_kept else 'were done; --results keeps them'}"
    )
    raise typer.Exit(INTERRUPTED)
