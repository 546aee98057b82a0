"""A page that is served from a journal that the test writes, step by step."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from edge import NODES, known, latencies, operator, workflow
from model_summaries import both_laws
from recorded_steps import T0_S, decided

from gesscale.common.http_server import PageServer
from gesscale.model.decision import Candidate, Decision, OutcomeStatus, Reason, Rejection, Verdict
from gesscale.model.order import Order
from gesscale.model.workflow import Workflow
from gesscale.policies.gesscale.details import load_and_capacity
from gesscale.ports import ClusterState, Node
from gesscale.service.access import HEADERS, Access
from gesscale.service.api import pages_of, streams_of
from gesscale.service.assets import page_html
from gesscale.service.journal import Journal, JournalStep
from gesscale.settings import Settings
from perfmodel import Estimate

EVIL = "<img src=x onerror=alert(1)>\"'&"
PERIOD_S = 10.0
DETAIL = load_and_capacity(347, 2, 196)


def step_of(
    decisions: Mapping[str, Decision] | None = None,
    *,
    at_s: float = T0_S,
    name: str = "workflow",
    of: Workflow | None = None,
    orders: Mapping[str, tuple[Order, ...]] | None = None,
    nodes: Mapping[str, Node] | None = None,
) -> JournalStep:
    """Return a step on the five nodes of `edge`; without decisions, operator op keeps its two replicas."""
    made = {"op": decided(at_s)} if decisions is None else decisions
    return JournalStep(
        name=name,
        workflow=of or workflow(*(operator(each) for each in made)),
        period_s=PERIOD_S,
        settings=settings_of(made),
        policy="gesscale-2021",
        decisions=tuple(renamed(each, to) for to, each in made.items()),
        cluster=ClusterState(nodes=nodes or {each: Node(name=each) for each in NODES}),
        latencies=latencies(age_s=30.0),
        known=known(orders=dict(orders or {})),
    )


def settings_of(operators: Iterable[str]) -> Settings:
    return Settings.model_validate(
        {
            "workflow": {
                "operators": {name: {"driver_node": "hub", "metrics_url": "http://hub:9108"} for name in operators}
            },
            "latency_map": {"file": "latency.csv"},
            "monitor": {"period": PERIOD_S},
        }
    )


def renamed(decision: Decision, name: str) -> Decision:
    analysis, reading = decision.analysis, decision.analysis.reading
    seen = None if reading is None else replace(reading, operator=name)
    return replace(
        decision,
        operator=name,
        analysis=replace(analysis, operator=name, reading=seen),
        plan=replace(decision.plan, operator=name),
    )


def growing(at_s: float, *, detail: str = DETAIL) -> Decision:
    """Return a decision that adds mid, as two are too few; far and edge lost."""
    decision = decided(
        at_s,
        reason=Reason.OVERLOADED,
        verdict=Verdict.MORE,
        before=("hub", "near"),
        placement=("hub", "mid", "near"),
        status=OutcomeStatus.APPLIED,
        load=812.0,
        detail=detail,
    )
    reading = replace(decision.analysis.reading, saturated_share=1.0, busy_share=1.0, backlog_rows=900.0)
    candidates = (
        Candidate(replicas=2, mst=Estimate(low=630, mid=640, high=650), wait_s=61.0, late_s=16.0),
        Candidate(replicas=3, mst=Estimate(low=900, mid=940, high=980)),
    )
    lost = (
        Rejection(node="far", reason=Reason.FARTHER, detail="NDmax 200 ms, MST 700 rows/s; now 640"),
        Rejection(node="edge", reason=Reason.NO_ROOM, detail="512 MiB are free, 1 GiB are asked for"),
    )
    return replace(
        decision,
        analysis=replace(decision.analysis, reading=reading, model=both_laws()),
        plan=replace(decision.plan, candidates=candidates, rejections=lost, nd_max_ms=50.0),
    )


class ServedJournal:
    """Serves a journal; stops and starts again on the same port, as a scaler that is restarted."""

    def __init__(self, access: Access | None = None) -> None:
        self.journal, self.problems = Journal(), ()
        self.now_s, self.html = T0_S, page_html()
        self._access, self._port = access or Access(), 0
        self.start()

    def start(self) -> None:
        told = (self.journal, lambda: self.problems, lambda: self.now_s)
        self._server = PageServer(
            "127.0.0.1",
            self._port,
            {**pages_of(*told), "/": lambda _parameters: ("text/html", self.html)},
            streams=streams_of(*told),
            headers=HEADERS,
            guard=self._access,
        )
        self._port, self.url = self._server.port, self._server.url

    def stop(self) -> None:
        self._server.close()

    def add(self, step: JournalStep) -> None:
        self.now_s = step.decisions[0].at_s
        self.journal.add(step)


@contextlib.contextmanager
def served(access: Access | None = None) -> Iterator[ServedJournal]:
    world = ServedJournal(access)
    try:
        yield world
    finally:
        world.stop()
