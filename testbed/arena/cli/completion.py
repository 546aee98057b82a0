"""What a shell may complete for the arena: names of policies, workloads and experiments."""

from gesscale.built_in_policies import BUILT_IN
from gesscale.cli.completion import beginning
from testbed.arena.experiments.experiment import BUNDLED
from testbed.arena.policies.oracle import ORACLES
from testbed.workloads.registry import workload_names


def policies(incomplete: str) -> list[str]:
    """Complete the last of some policies by commas."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in beginning(last, {"all", *ORACLES, *BUILT_IN})]


def workloads(incomplete: str) -> list[str]:
    """Complete the name of a workload."""
    return beginning(incomplete, workload_names())


def experiments(incomplete: str) -> list[str]:
    """Complete the name of an experiment that comes with the arena."""
    return beginning(incomplete, (path.stem for path in BUNDLED.glob("*.yaml")))
