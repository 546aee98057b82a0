"""A query of Nexmark over events that are due as a load says: run on nodes, then compared with a batch."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gesscale.errors import ClusterError
from testbed.demo.query import option_words
from testbed.demo.scenario import DEMO, Scenario, TaxiOperator, TopicInput
from testbed.nexmark.feed import EventFeed
from testbed.nexmark.queries import Query
from testbed.workloads.workload import Workload

_LAST_WINDOWS_S = 20.0
_VERIFY_WITHIN_S = 300.0


def scenario_of(query: Query, *, kafka: bool = False) -> Scenario:
    """Return the scenario of a query: the demo's, with dearer rows and fewer replicas.

    An event takes 8 ms on a node of weight 1, so that a replica does less than 125 per second.

    Parameters
    ----------
    query
        Which.
    kafka
        Whether its events come through a topic. The cap is fixed then: what three replicas do in a trigger interval.
    """
    operator = TaxiOperator(name=query.name, service_ms_per_row=8.0)
    scenario = replace(DEMO, operators=(operator,), cap_rows=300, max_replicas=3, drain_s=120.0)
    # The driver tells what is offered, as with the other source.
    return replace(scenario, kafka=TopicInput(loop_reads=False), cap_rows=750) if kafka else scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class NexmarkJob:
    """A query and its events; a `testbed.demo.query.Job`.

    A row is an event as often as the query reads it.

    Attributes
    ----------
    query
        Which.
    scenario
        What is played.
    load
        Events due per second.
    start_at_s
        When the first event is due, seconds since the epoch.
    feed
        Where the events come from; None: the driver makes them itself.
    """

    query: Query
    scenario: Scenario
    load: Workload
    start_at_s: float
    feed: EventFeed | None = None

    @property
    def events(self) -> int:
        """How many are due in all."""
        return int(self.load.total_rows)

    @property
    def events_per_s(self) -> float:
        """Events in a second of their own time: as many as are due in the mean, so that windows close in the day."""
        return round(self.events / self.load.duration_s, 1)

    @property
    def rows_total(self) -> int:
        """Rows that Spark is to process."""
        return self.events * self.query.reads

    def offered_rows(self, now_s: float) -> int:
        """Return how many rows are due by an instant, seconds since the epoch."""
        return min(self.events, int(self.load.offered_rows(now_s - self.start_at_s))) * self.query.reads

    def rows_due_at_s(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return when these rows are due, seconds since the epoch."""
        wholes = np.nextafter(rows // self.query.reads + 1.0, 0.0)  # before a pause of the load, not after it
        return self.start_at_s + np.array([self.load.offered_at_s(whole) for whole in wholes.tolist()])

    @property
    def event_options(self) -> dict[str, object]:
        """Which events there are, and when they are due, as options of ``python -m testbed.nexmark``."""
        return {
            "events": self.events,
            "events-per-s": self.events_per_s,
            "start-at": self.start_at_s,
            "step-s": self.load.step_s,
            "rates": ",".join(f"{rate:.6g}" for rate in self.load.rows_per_s),
        }

    def program(self, operator: TaxiOperator, folder: Path) -> tuple[str, ...]:
        """Return the driver program; an event that is read twice has half of its work each time."""
        options = {
            "folder": folder.resolve(),
            **self.event_options,
            "service-ms-per-row": operator.service_ms_per_row / self.query.reads,
            "trigger-s": self.scenario.trigger_s,
            "metrics-port": operator.metrics_port,
        }
        if self.feed is None:
            options["cap-rows-per-replica"] = self.scenario.cap_rows
        else:
            options |= {**self.feed.options, "cap-rows": self.scenario.cap_rows}
        return ("-m", "testbed.nexmark", "stream", self.query.name, *option_words(options), "--linger")

    @contextmanager
    def flowing(self) -> Iterator[float]:
        """Give when the first event is due; after the last one wait for the windows that it has closed."""
        yield self.start_at_s
        if self.query.closes:
            time.sleep(_LAST_WINDOWS_S)  # a batch without rows writes them

    def check(self) -> None:
        """Raise ClusterError where events do not come any more; without a feed they do as long as the driver lives."""
        if self.feed is not None:
            self.feed.check()

    def verified(self, folder: Path, processed_rows: int) -> dict[str, int]:
        """Compare what the query wrote with a batch over the events that it has processed, row for row.

        In a process of its own: a Spark driver that has ended cannot begin again in the same one.

        Parameters
        ----------
        folder
            Of the run.
        processed_rows
            The first so many were processed.

        Returns
        -------
        dict
            Rows ``expected``; how many of them are ``missing``; how many are ``unexpected``: wrong, or there twice.

        Raises
        ------
        ClusterError
            Where the comparison fails.
        """
        events = processed_rows // self.query.reads
        command = (
            *(sys.executable, "-m", "testbed.nexmark", "verify", self.query.name, "--folder", str(folder)),
            *("--events", str(events), "--events-per-s", str(self.events_per_s), "--output", "json"),
        )
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_VERIFY_WITHIN_S, check=False
            )
        except subprocess.TimeoutExpired:
            message = (
                f"the comparison with a batch took more than {_VERIFY_WITHIN_S:g} s: is this machine busy?"
            )
            raise ClusterError(message) from None
        try:
            found: dict[str, int] = json.loads(done.stdout)
        except ValueError:
            message = f"the comparison with a batch has failed: {done.stderr.strip()[-500:]}"
            raise ClusterError(message) from None
        return found
