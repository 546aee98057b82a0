"""``gesscale replay``: its options."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.completion import policies
from gesscale.cli.output import Output, OutputOption
from gesscale.cli.run import SetOption


def replay(
    record: Annotated[Path, typer.Argument(help="The folder that a run left, such as a report of the demo.")],
    *,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            "-p",
            help="Who is asked, or FILE.py:NAME. Default: who ran live.",
            show_default=False,
            autocompletion=policies,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="Settings to use, not the record's own.", show_default=False),
    ] = None,
    set_: SetOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show every decision, also where neither wants a change.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say what a policy would have decided at each instant of a recorded run, and why. Changes nothing.

    The record follows the policy that ran live. So each decision is this policy's answer to the situation as it was
    then; what would have become of it is not known.
    """
    from gesscale.cli.replaying import replay_record

    replay_record(
        record=record, policy=policy, config=config, set_=set_, everything=everything, output=output
    )
