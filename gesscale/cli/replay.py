"""``gesscale replay`` and ``gesscale page``: decide a recorded run again, or show it as a page."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.options import PolicyOption, SetOption, overrides_of
from gesscale.cli.output import Output, OutputOption, emit, stderr_console, warn_of_omitted_lines

app = typer.Typer()

Record = Annotated[Path, typer.Argument(help="Folder of a recorded run, such as a report of the demo.")]


@app.command(epilog="Example: gesscale replay reports/demo --policy ds2")
def replay(
    record: Record,
    *,
    policy: PolicyOption = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Settings file instead of the record's own.")
    ] = None,
    set_: SetOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every decision, also without a change.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Print what a policy would have decided at each instant of a recorded run, and why. Changes nothing.

    The record follows the policy that ran live. So each decision responds to the recorded situation; its consequences
    are not simulated.
    """
    from gesscale.cli import replay_report
    from gesscale.replay import compare_decisions

    settings = replay_report.settings_of(record, config, overrides_of(set_, policy))
    name = settings.analyze.policy
    recording, replayed = replay_report.replay_record(record, settings)
    found = compare_decisions(replayed)
    if output is not Output.TABLE:
        emit(replay_report.document(record, name, recording, replayed, found), output)
        return
    shown = [each for each in replayed if everything or replay_report.is_notable(each)]
    emit(None, output, replay_report.tables(name, shown, replayed, found))
    replay_report.print_notes(recording, found, everything=everything)


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
    warn_of_omitted_lines(write_page(record, file))
    stderr_console.print(f"open {file} in a browser")
