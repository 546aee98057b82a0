"""``gesscale rules``: check a file of scaling rules, and say what there is to write in one."""

import json
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import stderr_console

app = typer.Typer(help="Scaling rules for the policy `rules`: check a file of them.", no_args_is_help=True)


@app.command(epilog="Example: gesscale rules check rules.yaml --operator nearest")
def check(
    file: Annotated[Path, typer.Argument(help="The file of rules (YAML).", show_default=False)],
    operator: Annotated[
        list[str] | None,
        typer.Option(
            "--operator", help="An operator of the workflow; repeat for all. Rules may name no other."
        ),
    ] = None,
) -> None:
    """Check a file of rules. Exit 2 with the first fault."""
    from testbed.baselines.rules.model import distinct
    from testbed.baselines.rules.settings import check_operators, read_rules

    rules = read_rules(file).rules
    if operator:
        check_operators(rules, operator)
    names = ", ".join(rule.name for rule in distinct(rules))
    stderr_console.print(f"{file}: valid; rules: {names or 'none'}")


@app.command(epilog="Example: gesscale rules schema > rules.schema.json")
def schema() -> None:
    """Print the JSON Schema of a file of rules."""
    from testbed.baselines.rules.model import RuleSet

    typer.echo(json.dumps(RuleSet.model_json_schema(by_alias=True), indent=2))
