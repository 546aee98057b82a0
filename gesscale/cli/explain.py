"""``gesscale explain``: the last decisions and their reasons."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.decision_table import decision_table, format_model, format_when
from gesscale.cli.options import (
    ConfigOption,
    ContextOption,
    KubeconfigOption,
    KubernetesOption,
    NamespaceOption,
    operators_of,
    settings_file,
)
from gesscale.cli.output import Output, OutputOption, emit, stderr_console, table
from gesscale.common import API_VERSION
from gesscale.errors import InputError

#: Number of decisions that are scanned for operator names when the given one is unknown.
_SCANNED_DECISIONS = 10_000


app = typer.Typer()


@app.command(epilog="Example: gesscale explain nearest -c gesscale.yaml -n 1")
def explain(
    operator: Annotated[
        str | None,
        typer.Argument(
            help="An operator, or with --kubernetes a StreamAutoscaler. Default: all.",
            show_default=False,
            autocompletion=operators_of,
        ),
    ] = None,
    knowledge: Annotated[Path | None, typer.Option(help="The knowledge file.")] = None,
    config: ConfigOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1_000_000, help="Maximum number of decisions.")] = 5,
    output: OutputOption = Output.TABLE,
    kubernetes: KubernetesOption = False,
    page: Annotated[
        str | None,
        typer.Option(
            help="With --kubernetes: address of the controller's page. Default: http://localhost:8080, if it answers.",
            show_default=False,
        ),
    ] = None,
    namespace: NamespaceOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
) -> None:
    """Explain the last decisions: why an operator was or was not scaled, with all figures and rejected candidates.

    Exit 2: there is no such operator.
    """
    if kubernetes:
        from gesscale.cli.explain_resource import explain_resources

        if knowledge or config:
            conflicting = ("--knowledge", "--config")
            raise InputError("usage-conflict", command="explain", expected="--kubernetes", conflicting=conflicting)
        document, tables = explain_resources(
            operator, limit, page, namespace=namespace, kubeconfig=kubeconfig, context=context
        )
        emit({"apiVersion": API_VERSION, **document}, output, tables)
        return
    from gesscale.knowledge.sqlite import SqliteHistory

    config = config if knowledge else settings_file(config)
    path = _knowledge_file(knowledge, config)
    with SqliteHistory(path) as history:
        decisions = history.decisions(operator, limit)
        models = history.models(operator, limit)
        if operator and not decisions:
            _check_operator(
                operator, config, {each["operator"] for each in history.decisions(None, _SCANNED_DECISIONS)}
            )
    if not decisions:
        whose = f" about operator {operator!r}" if operator else ""
        stderr_console.print(f"{path} holds no decisions{whose} yet")
    tables = [decision_table(decision) for decision in decisions]
    if models:
        rows = [(format_when(model), model["operator"], format_model(model)) for model in models]
        tables.append(table("how the model changed", ("at", "operator", "model"), rows))
    emit({"apiVersion": API_VERSION, "decisions": decisions, "models": models}, output, tables)


def _check_operator(operator: str, config: Path | None, decided: set[str]) -> None:
    """Reject an operator that neither the settings nor any decision has."""
    from gesscale.settings import load_settings
    from gesscale.validation import nearest

    known = decided | ({*load_settings(config).workflow.operators} if config is not None else set())
    if known and operator not in known:
        raise InputError("explain-operator-unknown", got=operator, nearest=nearest(operator, known))


def _knowledge_file(knowledge: Path | None, config: Path | None) -> Path:
    if knowledge is not None and config is not None:
        raise InputError("usage-conflict", command="explain", expected="--knowledge", conflicting=("--config",))
    from gesscale.settings import load_settings

    path = knowledge or load_settings(config).knowledge.file
    if not path.is_file():
        if path.is_dir():
            raise InputError("knowledge-file-is-directory", file=path)
        raise InputError("knowledge-file-missing", file=path)
    return path
