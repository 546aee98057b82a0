"""What was run, in words."""

import platform
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import yaml

from testbed.arena.engine import Engine
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.experiments.sections import NEEDED, OperatorSection
from testbed.arena.policies.catalogue import policy_names
from testbed.arena.report.numbers import counted, figure
from testbed.arena.report.outcomes import Outcomes

HELD_EQUAL = (
    "Within a seed every policy meets the same world: the same load, the same latency map and the same noise; only "
    "the policy differs. All policies run in the same loop with the same period, the same limits on replicas, the "
    "same nodes and metrics of the same age, and begin with the same replicas."
)


def facts(outcomes: Outcomes) -> tuple[tuple[str, str], ...]:
    """Return what was run: pairs of what and which."""
    experiment = outcomes.experiment
    seeds = experiment.seed_list
    runs = len(outcomes.results)
    expected = len(experiment.cases())
    missing = f"; {counted(expected - runs, 'more run')} to come" if runs < expected else ""
    return (
        ("experiment", f"{experiment.name}{': ' if experiment.title else ''}{experiment.title}"),
        ("engine", f"simulated {experiment.engine.value.capitalize()}"),
        ("policies", ", ".join(experiment.policies)),
        ("baseline", outcomes.baseline),
        ("workloads", ", ".join(experiment.workloads)),
        ("seeds", f"{len(seeds)} ({_listed(seeds)})"),
        ("runs", f"{runs:,}, {len(outcomes.lost) or 'none'} lost{missing}"),
        ("nodes", _nodes(experiment)),
        *_operators(experiment),
        ("period of the loop", f"{figure(experiment.period_s)} s"),
        ("latency objective", f"{figure(experiment.slo_s)} s"),
        ("versions", f"gesscale {version('gesscale')}, Python {platform.python_version()}"),
    )


def title(experiment: Experiment) -> str:
    """Return what the page is about: the experiment's title, or what it plays."""
    loads = experiment.workloads
    played = loads[0] if len(loads) == 1 else counted(len(loads), "workload")
    policies = experiment.policies
    playing = policies[0] if len(policies) == 1 else f"{len(policies)} policies"
    return experiment.title or f"{playing} on {played}"


def as_yaml(experiment: Experiment) -> str:
    """Return all settings, in the form in which an experiment is read."""
    return yaml.safe_dump(experiment.document(), sort_keys=False, allow_unicode=True, width=100)


def policies(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """Return each policy with a line on what it does."""
    known = policy_names()
    return tuple((name, known.get(name, "a policy of its own")) for name in experiment.policies)


def questions(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """Return the choices that were varied: name, and question with its answers, the default first."""
    return tuple(
        (
            choice.name,
            f"{choice.question}{' ' if choice.question else ''}Answers: "
            f"{', '.join(option.name for option in choice.options)}; the first is the default.",
        )
        for choice in experiment.variants.choices
    )


def _nodes(experiment: Experiment) -> str:
    nodes = experiment.nodes
    if nodes.generated is not None:
        drawn = nodes.generated
        often = "drawn again for each seed" if drawn.per_seed else f"drawn once (seed {drawn.seed})"
        return (
            f"{nodes.count}, round trips {figure(drawn.low_ms)} to {figure(drawn.high_ms)} ms, "
            f"{drawn.kind.value}, {often}"
        )
    source = f"topology {nodes.topology}" if nodes.topology else f"latency map {Path(nodes.map or '').name}"
    return f"the first {nodes.count} of {source}" if nodes.count else source


def _operators(experiment: Experiment) -> Iterable[tuple[str, str]]:
    for name, operator in experiment.operators.items():
        yield name, f"{_limits(operator)}; {_work(operator)}"
    if experiment.engine is Engine.FLINK:
        times = {operator.restart_s for operator in experiment.operators.values()} - {None}
        length = f" of {' or '.join(sorted(f'{figure(time)} s' for time in times))}" if times else ""
        counts = "count" if experiment.restart_is_supply else "do not count"
        yield "a change costs", f"a restart{length} without output; restarting replicas {counts} as supply"
    else:
        yield "a change costs", "the start of a replica, which is cold at first; the others go on"


def _limits(operator: OperatorSection) -> str:
    initial = operator.initial_replicas
    first = "as many as needed" if initial == NEEDED else initial
    return f"{operator.min_replicas} to {operator.max_replicas} replicas, {first} at the beginning"


def _work(operator: OperatorSection) -> str:
    if operator.service_ms_per_row is None:
        return (
            f"work as in physics {operator.physics}"
            if operator.physics
            else "work as in the engine’s physics"
        )
    return f"a row is {figure(operator.service_ms_per_row)} ms of work on a node of weight 1"


def _listed(seeds: Iterable[int]) -> str:
    numbers = list(seeds)
    if numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"
    return ", ".join(map(str, numbers[:12])) + (" …" if len(numbers) > 12 else "")
