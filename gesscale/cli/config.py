"""``gesscale config`` and ``gesscale crd``: check settings, and print the reference of files and resources."""

import json
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.options import SETTINGS_FILE, SetOption, settings_file
from gesscale.cli.output import Output, OutputOption, emit, stderr_console, warn
from gesscale.common import API_VERSION

app = typer.Typer(name="config", help="Check settings, and print their schema and reference.", no_args_is_help=True)
crd = typer.Typer(
    name="crd", help="The StreamAutoscaler resource of Kubernetes: its definition and its page.", no_args_is_help=True
)


@app.command(epilog="Example: gesscale config validate gesscale.yaml")
def validate(
    file: Annotated[
        Path | None,
        typer.Argument(
            help=f"The settings file (YAML). Default: {SETTINGS_FILE} here or in a folder above.", show_default=False
        ),
    ] = None,
    set_: SetOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check a settings file as `run` reads it, with environment, latency map and names. Exit 2 with every problem."""
    from gesscale.assembly import check_environment
    from gesscale.settings import load_settings
    from gesscale.settings.lint import lint_settings

    file = settings_file(file)
    settings = load_settings(file, set_ or [])
    found = tuple(lint_settings(settings, check_environment(settings).names))
    warn(found)
    operators = list(settings.workflow.operators)
    if output is Output.TABLE:
        stderr_console.print(f"{file}: valid; operators: {', '.join(operators)}")
    else:
        emit(
            {
                "apiVersion": API_VERSION,
                "valid": True,
                "operators": operators,
                "warnings": [each.as_json() for each in found],
            },
            output,
        )


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


@crd.command("show", epilog="Example: gesscale crd show | kubectl apply -f -")
def show_definition() -> None:
    """Print the CustomResourceDefinition (YAML), for `kubectl apply -f -`."""
    from gesscale.kubernetes.resource.crd import definition_yaml

    typer.echo(definition_yaml(), nl=False)


@crd.command("docs", epilog="Example: gesscale crd docs > docs/reference/streamautoscaler.md")
def resource_page() -> None:
    """Print the page of all members of a StreamAutoscaler (Markdown)."""
    from gesscale.kubernetes.resource.crd import reference_page

    typer.echo(reference_page(), nl=False)
