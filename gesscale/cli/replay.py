"""``gesscale replay`` and ``gesscale page``: a recorded run, decided again and looked at."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.options import PolicyOption, SetOption
from gesscale.cli.output import Output, OutputOption, emit, stderr_console

_FAULTS_SHOWN = 3

app = typer.Typer()

Record = Annotated[Path, typer.Argument(help="The folder that a run left, such as a report of the demo.")]


@app.command(epilog="Example: gesscale replay reports/demo --policy ds2")
def replay(
    record: Record,
    *,
    policy: PolicyOption = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Settings to use, not the record's own.")
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
    from gesscale.cli import replaying
    from gesscale.replay import agreement

    settings = replaying.settings_of(record, config, set_ or [], policy)
    name = settings.analyze.policy
    recording, answers = replaying.played_again(record, settings)
    found = agreement(answers)
    if output is not Output.TABLE:
        emit(replaying.document(record, name, recording, answers, found), output)
        return
    shown = [answer for answer in answers if everything or replaying.is_notable(answer)]
    emit(None, output, replaying.tables(name, shown, len(answers), found))
    replaying.print_notes(recording, found, everything=everything)


@app.command(epilog="Example: gesscale page reports/demo --to demo.html")
def page(
    record: Record,
    *,
    target: Annotated[
        Path | None, typer.Option("--to", metavar="FILE.html", help="Default: page.html in the folder.")
    ] = None,
) -> None:
    """Write a recorded run as one HTML file that a browser opens, with a slider over its time."""
    from gesscale.service.recorded import write_page

    file = target or record / "page.html"
    faults = write_page(record, file)
    for complaint in faults[:_FAULTS_SHOWN]:
        stderr_console.print(f"left out: {complaint}")
    if faults:
        stderr_console.print(f"lines left out: {len(faults)}")
    stderr_console.print(f"open {file} in a browser")
