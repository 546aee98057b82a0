"""The controller as a process of its own, so that it can be killed: ``python -m testbed.chaos.controller FOLDER``."""

import json
import logging
import sys
import time
from dataclasses import replace
from pathlib import Path

from gesscale.assembly import build_loop
from gesscale.clock import SystemClock
from gesscale.errors import GesscaleError
from gesscale.model.decision import Decision
from gesscale.policies.guarded import GuardedPolicy
from gesscale.settings import load_settings
from testbed.chaos.ordered import OrderedPlacement
from testbed.chaos.setting import SETTINGS, STEPS, read_wanted


def step_line(decision: Decision) -> str:
    """Return what of a decision is needed to judge it, as a line of JSON."""
    reading = decision.analysis.reading
    return (
        json.dumps(
            {
                "at_s": decision.at_s,
                "says": decision.sentence,
                "outcome": decision.outcome.status.value,
                "detail": decision.outcome.detail,
                "added": decision.outcome.added,
                "removed": decision.outcome.removed,
                "doubtful": bool(reading is None or reading.doubt or decision.latency_map.stale),
            }
        )
        + "\n"
    )


def removed_on_doubt(steps: str) -> int:
    """Count the replicas that were removed in doubtful steps; a line that is not complete yet is left out."""
    lines = (json.loads(line) for line in steps.splitlines(keepends=True) if line.endswith("\n"))
    return sum(len(line["removed"]) for line in lines if line["doubtful"])


def control(folder: Path) -> None:
    """Run the loop that the folder's settings describe, until SIGTERM comes."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    settings = load_settings(folder / SETTINGS)
    built = build_loop(settings, time.time())
    (operator,) = settings.workflow.operators.values()
    policy = GuardedPolicy(OrderedPlacement(lambda: read_wanted(folder), operator.driver_node))
    loop = replace(built, policy=policy)
    clock = SystemClock()
    clock.stop_on_signals()
    with (folder / STEPS).open("a") as steps:

        def report(decisions: tuple[Decision, ...]) -> None:
            steps.write("".join(step_line(each) for each in decisions))
            steps.flush()

        loop.run(clock, settings.monitor.period_s, report, at_once=True)
    loop.knowledge.close()


if __name__ == "__main__":
    try:
        control(Path(sys.argv[1]))
    except GesscaleError as fault:
        sys.exit(str(fault))
