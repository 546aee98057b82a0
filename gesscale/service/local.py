"""A loop outside Kubernetes that is served: its metrics, whether it lives, and its page."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from gesscale.common.errors import Problem
from gesscale.common.http_server import UnavailableError
from gesscale.formatting import format_duration
from gesscale.loop import ControlLoop
from gesscale.model.decision import Decision
from gesscale.ports import ClusterState, Latencies
from gesscale.service.access import PROBES, SCRAPED, Access
from gesscale.service.api import serve
from gesscale.service.documents import ONLY_WORKFLOW
from gesscale.service.journal import Journal, SeenStep
from gesscale.service.metrics import ScalerMetrics, step_figures
from gesscale.settings import Settings

_LATE_PERIODS, _LATE_AT_LEAST_S = 3, 60.0


class ServedLoop:
    """Serves what a loop does until it is closed.

    Attributes
    ----------
    loop
        The same one, which tells what it sees; this one is to be run.
    url
        Of the page.

    Raises
    ------
    InputError
        The address cannot be taken.
    """

    def __init__(
        self,
        loop: ControlLoop,
        settings: Settings,
        *,
        host: str,
        port: int,
        token: str = "",
        past: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        self._workflow, self._period_s = settings.workflow.build(), settings.monitor.period_s
        self._metrics, self._journal = ScalerMetrics(version("gesscale")), Journal()
        self._journal.begin_with(ONLY_WORKFLOW, past)
        self._seen = ClusterState(), Latencies()
        self._moved_at_s = time.monotonic()
        self.loop = replace(loop, measure_phase=self._metrics.measure_phase, on_inputs=self._see)
        self._server = serve(
            host,
            port,
            {**dict.fromkeys(PROBES, self._probe), SCRAPED: self._metrics.page},
            journal=self._journal,
            problems=self._problems,
            guard=Access(token=token),
        )
        self.url = self._server.url

    def report(self, decisions: tuple[Decision, ...]) -> None:
        """Take the decisions of a step that has just come to its end."""
        cluster, latencies = self._seen
        at_s = decisions[0].at_s
        known = self.loop.knowledge.recall(at_s)
        live = {each.operator: each.analysis.reading.placement for each in decisions if each.analysis.reading}
        figures = step_figures(decisions, self._workflow, known, live, at_s)
        self._metrics.step_done("", ONLY_WORKFLOW, figures, decisions)
        self._journal.add(
            SeenStep(
                name=ONLY_WORKFLOW,
                workflow=self._workflow,
                period_s=self._period_s,
                policy=self.loop.policy.name,
                decisions=decisions,
                cluster=cluster,
                latencies=latencies,
                known=known,
            )
        )
        self._moved_at_s = time.monotonic()

    def close(self) -> None:
        """Stop serving."""
        self._server.close()

    def _see(self, cluster: ClusterState, latencies: Latencies) -> None:
        self._seen = cluster, latencies

    def _problems(self) -> tuple[str, ...]:
        still_s = time.monotonic() - self._moved_at_s
        if still_s <= max(_LATE_PERIODS * self._period_s, _LATE_AT_LEAST_S):
            return ()
        return (
            f"no step has come to its end for {format_duration(still_s)}, there is to be one every "
            f"{format_duration(self._period_s)}; look at the log of gesscale run, and start it again if it hangs",
        )

    def _probe(self, _parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        if problems := self._problems():
            raise UnavailableError(*(Problem("uncoded", {"text": each}) for each in problems))
        return "text/plain", b"alive\n"
