"""A record cut down to what `read_run` reads: ``python tests/record_trimming.py FROM TO``."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gesscale.errors import InputError
from gesscale.model.decision import Analysis, Decision, Plan
from gesscale.model.document import json_of
from gesscale.monitor.record_files import BATCHES, DECISIONS, SETTINGS, read_recording
from gesscale.settings import load_settings
from testbed.simulator.validation.recorded_run import read_run


def trim(source: Path, target: Path) -> None:
    """Copy the batches, the settings, the latency map, and of the decisions those that were acted on."""
    read_run(source)
    settings = load_settings(source / SETTINGS, [])
    latencies = settings.latency_map.file
    if latencies is None or latencies.resolve().parent != source.resolve():
        message = f"{source}: expected the latency map in the folder of the record, got {latencies}"
        raise InputError(message)
    try:
        target.mkdir()
        for file in (BATCHES, SETTINGS, latencies.name):
            shutil.copyfile(source / file, target / file)
        decisions = read_recording(source, settings.workflow.operators).decisions
        kept = [_cut(each.decision) for each in decisions if each.decision.acted]
        (target / DECISIONS).write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
    except OSError as error:
        message = f"{target}: expected a folder that can be made, next to others; {error.strerror}"
        raise InputError(message) from error


def _cut(decision: Decision) -> str:
    """Return the line of a decision without its reading and the candidates that lost."""
    analysis, plan = decision.analysis, decision.plan
    bare = replace(
        decision,
        analysis=Analysis(operator=analysis.operator, verdict=analysis.verdict, reason=analysis.reason),
        plan=Plan(operator=plan.operator, reason=plan.reason, before=plan.before, placement=plan.placement),
        ineligible=(),
    )
    return json_of(bare)


def _main(
    source: Annotated[Path, typer.Argument(help="A record, as the demo leaves it.")],
    target: Annotated[Path, typer.Argument(help="A folder that does not exist yet.")],
) -> None:
    try:
        trim(source, target)
    except InputError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None


if __name__ == "__main__":
    typer.run(_main)
