"""Packages that only some commands need: which extra installs each, and how."""

from importlib.metadata import version

from gesscale.common.errors import Problem

#: What works before the first publication; afterwards it is ``pip install 'gesscale[{extra}]'``.
HOW = "pip install '.[{extra}]' in a checkout of gesscale, or '{wheel}[{extra}]' in the folder of its wheel file"

#: By the extra that brings them, under the names that are imported.
_PACKAGES = {
    "spark": ("pandas", "py4j", "pyarrow", "pyspark"),
    "controller": (
        "confluent_kafka", "kubernetes", "networkx", "numpy", "ping3", "prometheus_api_client", "prometheus_client",
        "pydantic", "rich", "scipy", "typer", "urllib3", "yaml",
    ),
    "arena": ("jinja2", "matplotlib", "sklearn", "statsmodels"),
}  # fmt: skip


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra."""
    return HOW.format(extra=extra, wheel=f"./gesscale-{version('gesscale')}-py3-none-any.whl")


def missing_package(error: ModuleNotFoundError) -> Problem | None:
    """Report which extra installs a missing package; None if no extra does."""
    package = (error.name or "").partition(".")[0]
    extra = next((extra for extra, packages in _PACKAGES.items() if package in packages), None)
    if extra is None:
        return None
    return Problem("package-missing", {"package": package, "extra": extra, "command": how_to_install(extra)})
