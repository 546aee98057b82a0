"""Warnings about settings that are valid but rarely intended."""

from collections.abc import Collection, Iterator

from gesscale.common.errors import Problem
from gesscale.policies.gesscale.settings import OBJECTIVE_INTERVALS, GesscaleSettings
from gesscale.settings.groups import Settings


def lint_settings(settings: Settings, nodes: Collection[str]) -> Iterator[Problem]:
    """Yield a warning for each setting that is valid but rarely intended.

    Parameters
    ----------
    nodes
        The nodes of the latency map; empty if they are unknown.
    """
    monitor = settings.monitor
    if monitor.window_s > monitor.period_s:
        yield Problem("window-exceeds-period", {"window_s": monitor.window_s, "period_s": monitor.period_s})
    if monitor.stale_after_s < monitor.period_s:
        fields = {"stale_after_s": monitor.stale_after_s, "period_s": monitor.period_s}
        yield Problem("stale-after-below-period", fields)
    workflow = settings.workflow.build()
    free = len({*nodes} - {*settings.plan.exclude_nodes})
    for name, operator in settings.workflow.operators.items():
        if nodes and operator.max_replicas > free:
            setting = f"workflow.operators.{name}.max_replicas"
            yield Problem(
                "max-replicas-exceed-nodes", {"place": setting, "max_replicas": operator.max_replicas, "nodes": free}
            )
        own = settings.analyze.policy_info.own_settings(settings.analyze)
        if isinstance(own, GesscaleSettings) and operator.trigger_s is not None:
            slo_s, shortest_s = workflow.objective_s(name), OBJECTIVE_INTERVALS * operator.trigger_s
            if slo_s < shortest_s:
                times = {"trigger_s": operator.trigger_s, "slo_s": slo_s, "objective_s": shortest_s}
                yield Problem("slo-below-trigger", {"place": f"workflow.operators.{name}.trigger", **times})
