"""``gesscale rules``: check a file of scaling rules, and say what there is to write in one."""

import json
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output, OutputOption, emit, stderr_console, table
from gesscale.errors import InputError

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
    period: Annotated[str, typer.Option(help="Time between two steps of the loop.")] = "60s",
    trigger: Annotated[str, typer.Option(help="Time between two batches.")] = "10s",
    output: OutputOption = Output.TABLE,
) -> None:
    """Check a file of rules. Exit 2 with the first fault; doubts are notes, not faults."""
    from testbed.baselines.rules.advice import advice
    from testbed.baselines.rules.model import distinct
    from testbed.baselines.rules.settings import check_operators, read_rules

    found = read_rules(file)
    if operator:
        check_operators(found.rules, operator)
    rules = distinct(found.rules)
    doubted = advice(found.rules, period_s=_seconds(period), batch_s=_seconds(trigger))
    document = {
        "name": found.name,
        "rules": [rule.name for rule in rules],
        "advice": doubted,
    }
    rows = [(rule.name, rule.operator, rule.action) for rule in rules]
    emit(document, output, [table(found.name or str(file), ("rule", "operator", "action"), rows)])
    for doubt in doubted:
        stderr_console.print(f"note: {doubt}")
    stderr_console.print(f"{file}: valid; rules: {', '.join(rule.name for rule in rules) or 'none'}")


@app.command(epilog="Example: gesscale rules schema > rules.schema.json")
def schema() -> None:
    """Print the JSON Schema of a file of rules."""
    from testbed.baselines.rules.model import RuleSet

    typer.echo(json.dumps(RuleSet.model_json_schema(by_alias=True), indent=2))


def _seconds(text: str) -> float:
    from gesscale.fields import parse_duration_s

    try:
        return parse_duration_s(text)
    except ValueError as error:
        message = f"{error}, got {text!r}"
        raise InputError(message) from error
