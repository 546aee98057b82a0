"""What is remembered: the knowledge file, for the loop and for `explain`, and the memos of policies."""

import json
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from edge import FakeCluster, FakeLatencies, FakeMetrics, known, observe, reading, workflow

from fuzz.target import OF_THE_LOOP, Form, RefusedError, Target, from_file
from gesscale.cli.explain import explain
from gesscale.cli.output import Output
from gesscale.knowledge.sqlite import SqliteKnowledge
from gesscale.loop import ControlLoop
from gesscale.model.observation import WorkflowObservation
from gesscale.policies import policy_named
from gesscale.policies.memos import Memo, load_memo
from gesscale.ports import KnowledgeStore
from gesscale.settings.analyze import AnalyzeSettings
from testbed.baselines.autrascale.situation import AutrascaleMemo
from testbed.baselines.daedalus.policy import DaedalusMemo
from testbed.baselines.drs import DrsMemo
from testbed.baselines.ds2 import Ds2Memo
from testbed.baselines.flink_autoscaler import FlinkAutoscalerMemo
from testbed.baselines.lcp import LcpMemo
from testbed.baselines.mdp import MdpMemo
from testbed.baselines.quantile import QuantileMemo
from testbed.baselines.rules.policy import RulesMemo
from testbed.baselines.rules.settings import RulesSettings, parse_rules
from testbed.baselines.shared.hpa import Recommendations
from testbed.baselines.trigger_dra import TriggerDraMemo

_PERIOD_S = 60.0
_NEXT_S = 2000.0
_RULES = """
rules:
  - name: grow
    operator: op
    action: scale-out
    by: {absolute: 1}
    when: [{metric: queue-length, above: 100, unit: tuples, for: 60s}]
"""
_MEMOS: dict[str, type[Memo]] = {
    "autrascale": AutrascaleMemo,
    "daedalus": DaedalusMemo,
    "drs": DrsMemo,
    "ds2": Ds2Memo,
    "flink-autoscaler": FlinkAutoscalerMemo,
    "hpa-cpu": Recommendations,
    "hpa-v2": Recommendations,
    "hpa-varga": Recommendations,
    "keda-kafka": Recommendations,
    "lcp": LcpMemo,
    "mdp-backlog": MdpMemo,
    "quantile": QuantileMemo,
    "rules": RulesMemo,
    "trigger-dra": TriggerDraMemo,
}


def _course() -> list[WorkflowObservation]:
    """Return a load that rises beyond one replica, is met by a second one, and falls."""
    steps = [("hub",)] * 4 + [("hub", "near")] * 4
    offered = [60.0, 90.0, 140.0, 160.0, 160.0, 150.0, 80.0, 40.0]
    return [
        observe(
            reading(
                nodes,
                at_s=1000.0 + _PERIOD_S * number,
                throughput=min(load, 95.0 * len(nodes)),
                offered=load,
                saturated=1.0 if load > 95 * len(nodes) else 0.0,
                backlog=max(0.0, 30 * (load - 95 * len(nodes))),
                cpu_share=min(1.0, load / (100 * len(nodes))),
            )
        )
        for number, (nodes, load) in enumerate(zip(steps, offered, strict=True))
    ]


def _loop(name: str, knowledge: KnowledgeStore, observations: list[WorkflowObservation]) -> ControlLoop:
    options = AnalyzeSettings(rules=RulesSettings(rules=parse_rules(_RULES).rules))
    return ControlLoop(
        metrics=FakeMetrics(observations),
        latencies=FakeLatencies(),
        policy=policy_named(name, workflow(), options),
        cluster=FakeCluster({"op": ("hub",)}),
        knowledge=knowledge,
        acts=True,
        rescale_timeout_s=120.0,
    )


def _file_of(name: str) -> bytes:
    """Return the knowledge file that a policy leaves behind."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "knowledge.sqlite"
        with SqliteKnowledge(path, now_s=0.0) as store:
            loop = _loop(name, store, _course())
            for number in range(8):
                loop.step(1000.0 + _PERIOD_S * number)
        return path.read_bytes()


@cache
def _files() -> Sequence[bytes]:
    return [_file_of(name) for name in ("gesscale-2021", "daedalus", "ds2")]


@cache
def _memos() -> Sequence[bytes]:
    found = []
    for name in _MEMOS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "knowledge.sqlite"
            path.write_bytes(_file_of(name))
            with SqliteKnowledge(path, now_s=0.0) as store:
                found += [memo.encode() for memo in store.recall(_NEXT_S).memos.values()]
    return found


def _step_by(name: str) -> Callable[[Path], None]:
    def step(path: Path) -> None:
        with SqliteKnowledge(path, now_s=_NEXT_S) as store:
            if list(path.parent.glob("*.corrupt-*")):
                raise RefusedError  # it was set aside
            observation = observe(reading(("hub", "near"), at_s=_NEXT_S, throughput=190, offered=250, saturated=1.0))
            _loop(name, store, [observation]).step(_NEXT_S)

    return step


def _memo(data: bytes, folder: Path) -> None:
    del folder
    text = data.decode(errors="replace")
    try:
        memo_policy = json.loads(text)["policy"]
    except (ValueError, TypeError, KeyError, RecursionError):
        memo_policy = None
    name = memo_policy if isinstance(memo_policy, str) and memo_policy in _MEMOS else "ds2"
    knowledge = known(memos={"op": text})
    observation = observe(reading(("hub", "near"), at_s=_NEXT_S, throughput=190, offered=250, saturated=1.0))
    policy = _loop(name, None, [observation]).policy  # type: ignore[arg-type]
    cluster = FakeCluster({"op": ("hub", "near")}).state()
    policy.plan(policy.analyze(observation, knowledge), cluster, knowledge)
    if load_memo(_MEMOS[name], name, "op", knowledge) is None:
        raise RefusedError


TARGETS = (
    Target(
        name="knowledge",
        form=Form.TEXT,
        samples=_files,
        call=from_file("knowledge.sqlite", _step_by("gesscale-2021")),
        errors=OF_THE_LOOP,
    ),
    Target(
        name="explain",
        form=Form.TEXT,
        samples=_files,
        call=from_file("knowledge.sqlite", lambda path: explain(None, path, None, 5, Output.TABLE)),
    ),
    Target(name="memos", form=Form.JSON, samples=_memos, call=_memo, errors=OF_THE_LOOP),
)
