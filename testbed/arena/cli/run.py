"""``gesscale arena run``: its options. What it does is in `testbed.arena.cli.playing`, which help does not wait for."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output, OutputOption
from testbed.arena.cli.completion import experiments, workloads
from testbed.arena.cli.completion import policies as names_of_policies
from testbed.arena.engine import Engine


def run(
    *,
    experiment: Annotated[
        str,
        typer.Option(
            "--experiment",
            metavar="NAME|FILE",
            help="What is varied below; a YAML file or a name.",
            autocompletion=experiments,
        ),
    ] = "standard",
    policies: Annotated[
        str | None,
        typer.Option(
            "--policies",
            help="By commas, or all. Default: the experiment's.",
            autocompletion=names_of_policies,
        ),
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            "--workload",
            metavar="NAME|FILE",
            help="A load; repeatable. Default: the experiment's.",
            autocompletion=workloads,
        ),
    ] = None,
    seeds: Annotated[int | None, typer.Option("--seeds", help="How many. Default: the experiment's.")] = None,
    variants: Annotated[
        list[str] | None,
        typer.Option("--variants", metavar="NAME|all", help="Of the experiment; repeatable. Default: all."),
    ] = None,
    engine: Annotated[Engine | None, typer.Option("--engine", help="What is simulated.")] = None,
    map_: Annotated[
        Path | None,
        typer.Option("--map", metavar="MAP", help="A latency map, instead of the experiment's nodes."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Processes. Default: one for each core.")
    ] = None,
    spark: Annotated[
        str | None,
        typer.Option(
            "--spark", metavar="MASTER", help="Play on this Spark cluster, such as spark://host:7077."
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option("--results", metavar="FOLDER", help="Keep the results here. Default: nowhere."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Go on with results that are there, or throw them away.")
    ] = True,
    output: OutputOption = Output.TABLE,
) -> None:
    """Play policies on workloads with many seeds; the same seed is the same world to each policy.

    Exit 1: a policy lost all its runs, or the arena lost one.
    """
    from testbed.arena.cli.playing import play_asked

    play_asked(
        experiment,
        policies=policies,
        workloads=workload or [],
        seeds=seeds,
        variants=variants,
        engine=engine,
        latency_map=map_,
        jobs=jobs,
        spark=spark,
        results=results,
        resume=resume,
        output=output,
    )
