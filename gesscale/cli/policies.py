"""``gesscale policies``: list the policies, and show the settings of each."""

from typing import Annotated

import typer

from gesscale.cli.options import policies as policy_names
from gesscale.cli.output import Output, OutputOption, emit, stderr_console, table, warn
from gesscale.common import API_VERSION
from gesscale.extras import how_to_install

app = typer.Typer(name="policies", help="List the policies, and show the settings of each.", no_args_is_help=True)


@app.command("list", epilog="Example: gesscale policies list -o json")
def list_policies(output: OutputOption = Output.TABLE) -> None:
    """List the policies by name."""
    from gesscale.policies.registry import broken_policies, registered_policies

    found = registered_policies().items()
    rows = [
        (
            name,
            info.summary,
            "yes" if info.knows_price else "no",
            info.source,
            "yes" if info.is_installed else f"needs {info.needs and info.needs[1]}",
        )
        for name, info in found
    ]
    policies = [
        {
            "name": name,
            "summary": info.summary,
            "knows_price": info.knows_price,
            "source": info.source,
            "installed": info.is_installed,
        }
        for name, info in found
    ]
    columns = ("policy", "what it does", "knows the price", "source", "installed")
    emit({"apiVersion": API_VERSION, "policies": policies}, output, [table("Policies", columns, rows)])
    warn(broken_policies().values())


@app.command(epilog="Example: gesscale policies show gesscale")
def show(
    name: Annotated[
        str,
        typer.Argument(
            help="One of `gesscale policies list`, or FILE.py:NAME.", show_default=False, autocompletion=policy_names
        ),
    ],
    output: OutputOption = Output.TABLE,
) -> None:
    """Show a policy: what it does, and its settings with their defaults and reasons."""
    from gesscale.policies.registry import find_policy_info
    from gesscale.settings.analyze import AnalyzeSettings, analyze_settings_with
    from gesscale.settings.reference import plain_schema, schema_rows

    info = find_policy_info(name)
    accepting = analyze_settings_with({name: info}) if ":" in name else AnalyzeSettings
    schema = plain_schema(accepting)
    names = {accepting.model_fields[accepted].alias for accepted in info.accepted}
    schema["properties"] = {name: part for name, part in schema["properties"].items() if name in names}
    rows = [
        (row.key, *(text.replace("`", "") for text in (row.kind, row.default, row.meaning)))
        for row in schema_rows(schema, "analyze.")
    ]
    title = f"{name}: {info.summary} ({info.source})"
    document = {
        "apiVersion": API_VERSION,
        "name": name,
        "summary": info.summary,
        "knows_price": info.knows_price,
        "source": info.source,
        "installed": info.is_installed,
        "guide": info.guide and f"docs/{info.guide}",
        "settings": [
            {"key": key, "type": kind, "default": default, "meaning": meaning} for key, kind, default, meaning in rows
        ],
    }
    columns = ("setting", "type", "default", "meaning, and why this default")
    emit(document, output, [table(title, columns, rows or [("none", None, None, "it has no settings")])])
    if output is not Output.TABLE:
        return
    stderr_console.print(f"knows the price: {'yes' if info.knows_price else 'no'}")
    stderr_console.print(f"to use it: --policy {name}, or analyze.policy: {name} in the settings file")
    if info.guide:
        stderr_console.print(f"documentation: docs/{info.guide}")
    if info.needs is not None and not info.is_installed:
        stderr_console.print(f"not installed: {how_to_install(info.needs[0])}")
