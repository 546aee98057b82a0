"""Serves a loop outside Kubernetes: its metrics, its probe and its page."""

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
from gesscale.service.journal import Journal, JournalStep
from gesscale.service.metrics import ScalerMetrics, step_figures
from gesscale.settings import Settings

_LATE_PERIODS, _LATE_MIN_S = 3, 60.0


class ServedLoop:
    """Serves the decisions of a loop until it is closed.

    Attributes
    ----------
    loop
        The loop to run; it reports its inputs here.
    url
        Address of the page.

    Raises
    ------
    InputError
        If the address is not available.
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
        self._settings, self._workflow = settings, settings.workflow.build()
        self._metrics, self._journal = ScalerMetrics(version("gesscale")), Journal()
        self._journal.begin_with(ONLY_WORKFLOW, past)
        self._inputs = ClusterState(), Latencies()
        self._completed_at_s = time.monotonic()
        self.loop = replace(loop, measure_phase=self._metrics.measure_phase, on_inputs=self._keep_inputs)
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
        """Record the decisions of a completed step."""
        cluster, latencies = self._inputs
        at_s = decisions[0].at_s
        known = self.loop.knowledge.recall(at_s)
        figures = step_figures(decisions, self._workflow, known, cluster, at_s)
        self._metrics.step_done("", ONLY_WORKFLOW, figures, decisions)
        self._journal.add(
            JournalStep(
                name=ONLY_WORKFLOW,
                workflow=self._workflow,
                period_s=self._settings.monitor.period_s,
                policy=self.loop.policy.name,
                decisions=decisions,
                cluster=cluster,
                latencies=latencies,
                known=known,
                settings=self._settings,
            )
        )
        self._completed_at_s = time.monotonic()

    def close(self) -> None:
        """Stop serving."""
        self._server.close()

    def _keep_inputs(self, cluster: ClusterState, latencies: Latencies) -> None:
        self._inputs = cluster, latencies

    def _problems(self) -> tuple[Problem, ...]:
        age_s, period_s = time.monotonic() - self._completed_at_s, self._settings.monitor.period_s
        if age_s <= max(_LATE_PERIODS * period_s, _LATE_MIN_S):
            return ()
        fields = {"age": format_duration(age_s), "period": format_duration(period_s)}
        return (Problem("loop-stuck", fields),)

    def _probe(self, _parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        if problems := self._problems():
            raise UnavailableError(*problems)
        return "text/plain", b"alive\n"
