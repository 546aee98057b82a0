"""What valid settings say that hardly anybody wants: said before the loop runs, not after a day of it."""

from collections.abc import Collection, Iterator

from gesscale.settings.groups import Settings


def doubts(settings: Settings, nodes: Collection[str]) -> Iterator[str]:
    """Say what is to be doubted, and what to do about it.

    Parameters
    ----------
    settings
        Valid ones.
    nodes
        Those of the latency map; empty where they are not known yet.

    Yields
    ------
    str
        A sentence that names the settings.
    """
    monitor = settings.monitor
    if monitor.window_s > monitor.period_s:
        times = monitor.window_s / monitor.period_s
        yield (
            f"monitor.window ({monitor.window_s:g} s) is longer than monitor.period ({monitor.period_s:g} s): windows "
            f"overlap, and a batch counts as evidence {times:.2g} times; leave window out, then it is one period"
        )
    if monitor.stale_after_s < monitor.period_s:
        yield (
            f"monitor.stale_after ({monitor.stale_after_s:g} s) is shorter than monitor.period "
            f"({monitor.period_s:g} s): figures of one missed step are not acted on; leave it out, then it is three "
            "periods"
        )
    free = len({*nodes} - {*settings.plan.exclude_nodes})
    for name, operator in settings.workflow.operators.items():
        if nodes and operator.max_replicas > free:
            yield (
                f"workflow.operators.{name}.max_replicas ({operator.max_replicas}) is more than the {free} nodes that "
                "may take a replica: a node takes one replica of an operator; add nodes to the latency map, or lower it"
            )
