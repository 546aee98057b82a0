"""``gesscale crd``: the definition of the StreamAutoscaler, and what there is to say in one."""

import typer

app = typer.Typer(
    help="The StreamAutoscaler resource of Kubernetes: its definition and its page.", no_args_is_help=True
)


@app.command(epilog="Example: gesscale crd show | kubectl apply -f -")
def show() -> None:
    """Print the CustomResourceDefinition (YAML), for `kubectl apply -f -`."""
    from gesscale.kubernetes.resource.crd import definition_yaml

    typer.echo(definition_yaml(), nl=False)


@app.command(epilog="Example: gesscale crd docs > docs/reference/streamautoscaler.md")
def docs() -> None:
    """Print the page of all members of a StreamAutoscaler (Markdown)."""
    from gesscale.kubernetes.resource.reference import reference_page

    typer.echo(reference_page(), nl=False)
