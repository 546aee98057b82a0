"""A day on nodes that are up: a job's drivers run, and the loop scales them until every row is processed."""

import time
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from gesscale.assembly import build_loop
from gesscale.model.decision import Decision
from gesscale.service.local import ServedLoop
from gesscale.settings import Settings
from testbed.cluster import privilege
from testbed.cluster.topology import Topology
from testbed.demo.live import LiveView
from testbed.demo.query import Job, require_driver, running_operators
from testbed.demo.record import Record
from testbed.demo.scenario import Scenario
from testbed.demo.stage import DayClock, Stage


def scale_day(
    scenario: Scenario,
    settings: Settings,
    topology: Topology,
    job: Job,
    folder: Path,
    stage: Stage,
    *,
    rows: int,
    begins_at_hour: float = 0.0,
) -> Mapping[str, Record]:
    """Run a job's drivers and the loop until the last operator has processed all rows, or time is up.

    Parameters
    ----------
    scenario, settings
        What is played, and how it is scaled.
    topology
        The nodes; they are up.
    job
        What is run.
    folder
        Where everything goes.
    stage
        Prints what happens.
    rows
        That the last operator is to process.
    begins_at_hour
        Hour of the day of the first row, for whoever looks on.

    Returns
    -------
    Mapping of str to Record
        By operator, in the order of the stream.

    Raises
    ------
    GesscaleError
        When something cannot be started, or ends before its time.
    """
    names = [operator.name for operator in scenario.operators]
    with ExitStack() as stack:
        stage.say(
            f"starting on {topology.driver_node} the driver, and one replica, of {' and of '.join(names)}"
        )
        sparks = stack.enter_context(running_operators(scenario, topology, job, folder))
        loop = build_loop(settings, time.time())
        stack.enter_context(closing(loop.knowledge))
        served = stack.enter_context(closing(ServedLoop(loop, settings, host="127.0.0.1", port=0)))
        if privilege.is_network_of_machine():
            stage.say(f"look at it: {served.url}")
        stage.say(f"the day begins: {rows} rows in {scenario.day_s:.0f} s, policy {loop.policy.name}")
        began_at_s = stack.enter_context(job.flowing())
        records = {name: Record(began_at_s=began_at_s) for name in names}
        view = LiveView(stage.console, scenario.day_s, begins_at_hour)
        stack.enter_context(view.showing())

        def check() -> None:
            job.check()
            for spark in sparks:
                require_driver(spark)

        def report(decisions: tuple[Decision, ...]) -> None:
            served.report(decisions)
            for decision in decisions:
                records[decision.operator].add((decision,))
                view.show(decision, decision.at_s - began_at_s)

        clock = DayClock(
            is_over=lambda: records[names[-1]].processed_rows >= rows,
            check=check,
            deadline_s=began_at_s + scenario.day_s + scenario.drain_s,
        )
        served.loop.run(
            clock, settings.monitor.period_s, report, least_period_s=settings.monitor.least_period_s
        )
        return records
