"""``python -m fuzz``: play mutants, print what became of them; exit 1 where a parser has a fault."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fuzz.campaign import FOUND, LEAST_ACCEPTED, Tally, keep, play, within
from fuzz.judge import Judge
from fuzz.targets import TARGETS
from gesscale.cli.output import table

console = Console(width=120, soft_wrap=True, highlight=False, emoji=False)


def fuzz(
    seconds: Annotated[float | None, typer.Option(help="Play for so long.", min=0)] = None,
    inputs: Annotated[
        int | None, typer.Option(help="Play so many inputs, all targets together.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all randomness; the same inputs for the same seed.")] = 0,
    target: Annotated[
        list[str] | None, typer.Option(help="Only this target, or those whose names begin so; repeatable.")
    ] = None,
    kept: Annotated[
        Path, typer.Option("--keep", metavar="FOLDER", help="Where found inputs are written.")
    ] = FOUND,
) -> None:
    """Fuzz every parser. Without --seconds and --inputs, for a minute."""
    if seconds is None and inputs is None:
        seconds = 60.0
    chosen = [each for each in TARGETS if target is None or each.name.startswith(tuple(target))]
    if not chosen:
        message = f"expected targets among {', '.join(each.name for each in TARGETS)}"
        raise typer.BadParameter(message)
    with Judge() as judge:
        is_over = within(inputs=inputs, seconds=seconds, targets=len(chosen))
        tallies = play(chosen, judge, seed=seed, is_over=is_over)
        _tell(tallies, seed)
        for tally in tallies.values():
            for finding in tally.findings.values():
                file = keep(finding, judge, kept)
                console.print(f"{file}: {finding.verdict.kind.value}: {finding.verdict.cause}", markup=False)
    if not all(tally.is_good for tally in tallies.values()):
        sys.exit(1)


def _tell(tallies: Mapping[str, Tally], seed: int) -> None:
    columns = ("parser", "inputs", "accepted, %", "refused, %", "findings", "slowest, ms", "most, MiB")
    rows = [
        (
            name,
            tally.inputs,
            round(100 * tally.accepted_share),
            round(100 * tally.refused / max(1, tally.inputs)),
            sum(finding.count for finding in tally.findings.values()),
            round(1000 * tally.slowest_s),
            round(tally.most_mib),
        )
        for name, tally in tallies.items()
    ]
    total = sum(tally.inputs for tally in tallies.values())
    found = sum(len(tally.findings) for tally in tallies.values())
    console.print(table(f"{total} inputs, seed {seed}: {found} causes", columns, rows))
    for name, tally in tallies.items():
        if tally.accepted_share < LEAST_ACCEPTED:
            console.print(
                f"{name}: expected at least {LEAST_ACCEPTED:.0%} accepted; give it more or milder samples"
            )


if __name__ == "__main__":
    typer.run(fuzz)
