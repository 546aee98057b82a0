"""``gesscale arena league``: its options."""

from typing import Annotated

import typer

from gesscale.cli.output import Output, OutputOption
from testbed.arena.cli.arguments import ResultsFolderArgument
from testbed.arena.judging.prices import PRICES, Account


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
            help="What a bill takes for late minutes: their number, or the lag area, which grows with the lag."
        ),
    ] = Account.MINUTES,
    output: OutputOption = Output.TABLE,
) -> None:
    """Rank the policies over all loads by what they cost, and name the winner of each load."""
    from testbed.arena.cli.ranking import rank_policies

    rank_policies(
        folder=folder, price=price, baseline=baseline, objective=objective, account=account, output=output
    )
