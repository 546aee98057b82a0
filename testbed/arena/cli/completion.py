"""What a shell may complete for the arena: names of policies, workloads and experiments.

A shell waits for it at each TAB, so nothing is imported that takes long.
"""

from importlib.resources import files

from gesscale.cli.completion import beginning, installed_policies
from testbed.arena.policies.oracle_names import ORACLES
from testbed.workloads.names import NAMES


def policies(incomplete: str) -> list[str]:
    """Complete the last of some policies by commas."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in beginning(last, {"all", *ORACLES, *installed_policies()})]


def workloads(incomplete: str) -> list[str]:
    """Complete the name of a workload."""
    return beginning(incomplete, NAMES)


def experiments(incomplete: str) -> list[str]:
    """Complete the name of an experiment that comes with the arena."""
    bundled = (file.name for file in files("testbed.arena.experiments").iterdir())
    return beginning(incomplete, (name.removesuffix(".yaml") for name in bundled if name.endswith(".yaml")))
