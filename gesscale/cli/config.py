"""``gesscale config``: check settings, and say what there is to set."""

import json
from pathlib import Path
from typing import Annotated

import typer

from gesscale.assembly import check_environment
from gesscale.cli.output import stderr_console, warn
from gesscale.cli.run import SetOption
from gesscale.settings import Settings, load_settings, settings_page
from gesscale.settings.doubts import doubts

app = typer.Typer(help="Check settings, and say what there is to set.", no_args_is_help=True)


@app.command()
def validate(
    file: Annotated[Path, typer.Argument(help="The settings file (YAML).", show_default=False)],
    set_: SetOption = None,
) -> None:
    """Check a settings file as `run` would take it: environment, latency map and names too. Exit 2 with every fault."""
    settings = load_settings(file, set_ or [])
    warn(doubts(settings, check_environment(settings).names))
    stderr_console.print(f"{file}: valid; operators: {', '.join(settings.workflow.operators)}", markup=False)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a settings file."""
    typer.echo(json.dumps(Settings.model_json_schema(), indent=2))


@app.command()
def docs() -> None:
    """Print the page of all settings (Markdown)."""
    typer.echo(settings_page(), nl=False)
