"""``gesscale arena list``: what there is to run."""

from gesscale.api_version import API_VERSION
from gesscale.cli.output import Output, OutputOption, emit, table


def list_(*, output: OutputOption = Output.TABLE) -> None:
    """List policies, workloads and experiments, each with a line on what it is and where it is from."""
    from testbed.arena.experiments.experiment import experiment_names
    from testbed.arena.policies.catalogue import policy_names
    from testbed.workloads.registry import workload_names

    parts = {"policies": policy_names(), "workloads": workload_names(), "experiments": experiment_names()}
    document = {
        part: [{"name": name, "summary": summary} for name, summary in names.items()]
        for part, names in parts.items()
    }
    tables = [
        table(part.capitalize(), ("name", "what it is"), names.items()) for part, names in parts.items()
    ]
    emit({"apiVersion": API_VERSION, **document}, output, tables)
