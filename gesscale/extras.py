"""Optional packages: the extra of each, and the command that installs it."""

from importlib.metadata import version

from gesscale.common.errors import Problem

#: Command before the first publication; afterwards it is ``pip install 'gesscale[{extra}]'``.
HOW = "pip install '.[{extra}]' in a checkout of gesscale, or '{wheel}[{extra}]' in the folder of its wheel file"

#: Imported names of packages, by extra.
_PACKAGES = {
    "spark": ("pandas", "py4j", "pyarrow", "pyspark"),
    "controller": (
        "confluent_kafka", "kubernetes", "networkx", "numpy", "ping3", "prometheus_api_client", "prometheus_client",
        "pydantic", "rich", "scipy", "typer", "urllib3", "yaml",
    ),
    "backtest": ("lz4", "zstandard"),
    "arena": ("jinja2", "matplotlib", "sklearn", "statsmodels"),
}  # fmt: skip


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra."""
    return HOW.format(extra=extra, wheel=f"./gesscale-{version('gesscale')}-py3-none-any.whl")


def missing_package(error: ModuleNotFoundError) -> Problem | None:
    """Return the problem of a missing package with the command that installs it; None if no extra has it."""
    package = (error.name or "").partition(".")[0]
    extra = next((extra for extra, packages in _PACKAGES.items() if package in packages), None)
    if extra is None:
        return None
    return Problem("package-missing", {"package": package, "extra": extra, "command": how_to_install(extra)})
