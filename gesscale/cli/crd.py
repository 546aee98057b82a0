"""``gesscale crd``: the definition of the StreamAutoscaler, and what there is to say in one."""

import typer

from gesscale.kubernetes.resource.crd import definition_yaml
from gesscale.kubernetes.resource.reference import reference_page

app = typer.Typer(
    help="The StreamAutoscaler resource of Kubernetes: its definition and its page.", no_args_is_help=True
)


@app.command()
def show() -> None:
    """Print the CustomResourceDefinition (YAML), for `kubectl apply -f -`."""
    typer.echo(definition_yaml(), nl=False)


@app.command()
def docs() -> None:
    """Print the page of all members of a StreamAutoscaler (Markdown)."""
    typer.echo(reference_page(), nl=False)
