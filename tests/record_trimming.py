"""A record cut down to what `read_run` reads: ``python tests/record_trimming.py FROM TO``."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from gesscale.errors import InputError
from gesscale.monitor.record_files import BATCHES, DECISIONS, SETTINGS
from gesscale.settings import load_settings
from testbed.simulator.validation.recorded_run import read_run


def trim(source: Path, target: Path) -> None:
    """Copy the batches, the settings, the latency map, and of the decisions those that were acted on.

    Parameters
    ----------
    source
        A record, as the demo leaves it.
    target
        A folder that does not exist yet.

    Raises
    ------
    InputError
        Where the record cannot be used, the target exists, or the latency map is outside of the record.
    """
    read_run(source)
    latencies = load_settings(source / SETTINGS, []).latency_map.file
    if latencies is None or latencies.resolve().parent != source.resolve():
        message = f"{source}: expected the latency map in the folder of the record, got {latencies}"
        raise InputError(message)
    try:
        target.mkdir()
        for file in (BATCHES, SETTINGS, latencies.name):
            shutil.copyfile(source / file, target / file)
        lines = (source / DECISIONS).read_text(encoding="utf-8").splitlines()
        kept = [json.dumps(_cut(line)) for text in lines if (line := json.loads(text))["acted"]]
        (target / DECISIONS).write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
    except OSError as error:
        message = f"{target}: expected a folder that can be made, next to others; {error.strerror}"
        raise InputError(message) from error


def _cut(line: Mapping[str, Any]) -> dict[str, Any]:
    plan, outcome = line["plan"], line["outcome"]
    return {
        **{key: line[key] for key in ("at_s", "operator", "policy", "acted")},
        "analysis": {"reason": line["analysis"]["reason"], "detail": "", "reading": None},
        "plan": {
            **{key: plan[key] for key in ("reason", "placement", "change")},
            "detail": "",
            "rejections": [],
        },
        "outcome": {key: outcome[key] for key in ("status", "added", "removed", "seconds", "detail")},
    }


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
