"""Packages that only some commands need: which extra installs each, and how."""

from importlib.metadata import version

HOW = "pip install '.[{extra}]' in a checkout of gesscale, or '{wheel}[{extra}]' in the folder of its wheel file"
"""What works before the first publication; afterwards it is ``pip install 'gesscale[{extra}]'``."""

_EXTRAS = {
    "confluent_kafka": "kafka",
    "jinja2": "report",
    "kubernetes": "kubernetes",
    "matplotlib": "plots",
    "pandas": "spark",
    "ping3": "probe",
    "prometheus_api_client": "prometheus",
    "py4j": "spark",
    "pyarrow": "report",
    "pyspark": "spark",
    "sklearn": "autrascale",
    "statsmodels": "daedalus",
    "urllib3": "kubernetes",
}
"""By the name that is imported."""


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra."""
    return HOW.format(extra=extra, wheel=f"./gesscale-{version('gesscale')}-py3-none-any.whl")


def missing_package(error: ModuleNotFoundError) -> str | None:
    """Say which extra brings a package that is not installed; None where no extra does."""
    package = (error.name or "").partition(".")[0]
    if package not in _EXTRAS:
        return None
    how = how_to_install(_EXTRAS[package])
    return f"this needs the package {package}, which is not installed: {how}"
