"""Readings of a chain of operators, and what DS2 makes of them."""

from edge import known, observe, operator, reading, workflow

from gesscale.model.observation import OperatorReading
from gesscale.model.workflow import Operator, Workflow
from gesscale.policies import policy_named
from gesscale.settings.analyze import AnalyzeSettings
from testbed.baselines.ds2 import Ds2Settings

BARE = Ds2Settings(over_provision=1.0)


def op(name: str, *upstream: str, most: int = 100, **limits: int) -> Operator:
    return operator(name, upstream=upstream, max_replicas=most, **limits)


def seen(
    name: str, replicas: int, rows_per_s: float, *, busy: float = 1.0, offered: float | None = None, **more: object
) -> OperatorReading:
    """Return an operator that processed so many rows/s in a share of its time, and was offered as many or others."""
    placement = [f"n{index}" for index in range(replicas)]
    return reading(placement, name=name, throughput=rows_per_s, offered=offered, **{"busy_share": busy, **more})


def analyses(flow: Workflow, *readings: OperatorReading, settings=BARE, knowledge=None, missing_readings=()):
    policy = policy_named("ds2", flow, AnalyzeSettings(ds2=settings))
    return policy.analyze(
        observe(*readings, missing_readings=missing_readings), known() if knowledge is None else knowledge
    )


def sizes(flow: Workflow, *readings: OperatorReading, **more: object) -> dict[str, int | None]:
    return {name: found.desired_replicas for name, found in analyses(flow, *readings, **more).items()}


CHAIN = workflow(op("source"), op("map", "source"), op("sink", "map"))


def chain(offered: float = 1e6, **more: object) -> tuple[OperatorReading, ...]:
    """Return source, map and sink on 5 replicas each: half, a quarter and an eighth of the true rates below are used.

    True rates of all replicas together: 500,000, 800,000 and 2,500,000 rows/s; nothing is filtered.
    """
    return (
        seen("source", 5, 200e3, busy=0.4, offered=offered, output_rows_per_s=200e3, **more),
        seen("map", 5, 200e3, busy=0.25, output_rows_per_s=200e3),
        seen("sink", 5, 200e3, busy=0.08),
    )
