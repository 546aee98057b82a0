"""Options that several commands share, and their completion in a shell, which imports only little."""

import os
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

#: Name of the settings file that is found without ``--config``.
SETTINGS_FILE = "gesscale.yaml"


def complete_prefix(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin with the typed text, sorted."""
    return sorted(name for name in names if name.startswith(incomplete))


def installed_policies() -> set[str]:
    """Return the names of the installed policies."""
    return {entry.name for entry in entry_points(group="gesscale.policies")}


def policies(incomplete: str) -> list[str]:
    """Complete the name of a policy."""
    return complete_prefix(incomplete, installed_policies())


def settings_keys(incomplete: str) -> list[str]:
    """Complete a setting as ``--set`` takes it, up to the ``=``."""
    keys = files("gesscale.cli").joinpath("settings_keys.txt").read_text("utf-8")
    return complete_prefix(incomplete, (f"{key}=" for key in keys.split()))


def operators_of(context: typer.Context, incomplete: str) -> list[str]:
    """Complete an operator of the settings file that ``--config`` names, else of ``gesscale.yaml``."""
    return complete_prefix(incomplete, _operators(context.params.get("config") or SETTINGS_FILE))


def overrides_of(set_: list[str] | None, policy: str | None) -> list[str]:
    """Return the overrides of ``--set`` and ``--policy``."""
    from gesscale.policies.registry import find_policy_info
    from gesscale.settings.loading import policy_override

    if policy is None:
        return set_ or []
    find_policy_info(policy)  # reports a wrong name before the settings do
    return [*(set_ or []), policy_override(policy)]


def _operators(config: object) -> Iterator[str]:
    from gesscale.common.yaml_text import read_yaml
    from gesscale.errors import InputError

    try:
        yield from read_yaml(Path(str(config)))["workflow"]["operators"]
    except (InputError, OSError, KeyError, TypeError):
        return


def settings_file(given: Path | None) -> Path:
    """Return the given settings file, or the nearest ``gesscale.yaml``: of this folder or of those above it.

    A file of another user is passed over, as it may name a policy whose code would run.

    Raises
    ------
    InputError
        If there is none.
    """
    if given is not None:
        return given
    from gesscale.cli.output import stderr_console
    from gesscale.errors import InputError

    here = Path.cwd()
    for folder in (here, *here.parents):
        file = folder / SETTINGS_FILE
        if file.is_file() and file.stat().st_uid in {os.geteuid(), 0}:
            stderr_console.print(f"settings: {os.path.relpath(file)}")
            return file
    raise InputError("settings-file-not-found", source=here, name=SETTINGS_FILE)


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        help=f"Settings file (YAML). Default: {SETTINGS_FILE} in this folder or one above.",
        show_default=False,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Override a setting, such as workflow.slo=30s; repeatable.", autocompletion=settings_keys
    ),
]
PolicyOption = Annotated[
    str | None,
    typer.Option(
        "--policy",
        "-p",
        help="One of `gesscale policies list`, or FILE.py:NAME. Default: that of the settings or the record.",
        autocompletion=policies,
    ),
]
KubernetesOption = Annotated[
    bool, typer.Option("--kubernetes", help="The StreamAutoscalers of a cluster instead of a settings file.")
]
KubeconfigOption = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig", help="With --kubernetes: the kubeconfig. Default: the pod's service account, or KUBECONFIG."
    ),
]
ContextOption = Annotated[str | None, typer.Option("--context", help="With --kubernetes: a context of the kubeconfig.")]
NamespaceOption = Annotated[
    str | None, typer.Option("--namespace", help="With --kubernetes: only StreamAutoscalers of this namespace.")
]
