"""``gesscale config``: check settings, and say what there is to set."""

import json
from pathlib import Path
from typing import Annotated

import typer

from gesscale.api_version import API_VERSION
from gesscale.cli.output import Output, OutputOption, emit, stderr_console, warn
from gesscale.cli.run import SetOption

app = typer.Typer(help="Check settings, and say what there is to set.", no_args_is_help=True)


@app.command(epilog="Example: gesscale config validate gesscale.yaml")
def validate(
    file: Annotated[Path, typer.Argument(help="The settings file (YAML).", show_default=False)],
    set_: SetOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check a settings file as `run` would take it: environment, latency map and names too. Exit 2 with every fault."""
    from gesscale.assembly import check_environment
    from gesscale.settings import load_settings
    from gesscale.settings.doubts import doubts

    settings = load_settings(file, set_ or [])
    found = tuple(doubts(settings, check_environment(settings).names))
    warn(found)
    operators = list(settings.workflow.operators)
    if output is Output.TABLE:
        stderr_console.print(f"{file}: valid; operators: {', '.join(operators)}")
    else:
        emit({"apiVersion": API_VERSION, "valid": True, "operators": operators, "warnings": found}, output)


@app.command(epilog="Example: gesscale config schema > gesscale.schema.json")
def schema() -> None:
    """Print the JSON Schema of a settings file."""
    from gesscale.settings import Settings

    typer.echo(json.dumps(Settings.model_json_schema(), indent=2))


@app.command(epilog="Example: gesscale config docs > docs/reference/settings.md")
def docs() -> None:
    """Print the page of all settings (Markdown)."""
    from gesscale.settings import settings_page

    typer.echo(settings_page(), nl=False)
