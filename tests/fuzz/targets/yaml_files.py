"""YAML that people write: settings, rules, hosts, topologies, experiments, constants."""

import shutil
from functools import cache
from pathlib import Path

from fuzz.target import ROOT, TESTS, Form, Target, files, from_file
from gesscale.cli.latency_map.plan import read_hosts
from gesscale.settings import Settings, load_settings
from gesscale.spark.pod_template import PodPlacement, executor_template
from gesscale.spark.session_setup import read_base_template
from latency_map import LatencyMap, read_map
from latency_map.emulate.plan import plan_emulation
from latency_map.emulate.script import ScriptAction, render_script
from testbed.arena.experiments.experiment import read_experiment
from testbed.baselines.rules.settings import read_rules
from testbed.cluster.topology import read_topology
from testbed.simulator.spark.constants import read_physics

_MAP = TESTS / "data" / "records" / "demo-1" / "latency.csv"


def use_settings(settings: Settings) -> None:
    """Build what settings describe and needs nothing from outside."""
    settings.analyze.build(settings.workflow.build())


def _settings(path: Path) -> None:
    use_settings(load_settings(path, (), {}))


def _options(data: bytes, folder: Path) -> None:
    del folder
    overrides = [line for line in data.decode(errors="replace").splitlines() if line]
    use_settings(load_settings(None, overrides, {}))


def _hosts(path: Path) -> None:
    planned = plan_emulation(_delays(), read_hosts(path, "eth0", pod_networks=True), skip_missing=True)
    for node in planned.nodes:
        render_script(node, ScriptAction.APPLY)


@cache
def _delays() -> LatencyMap:
    return read_map(_MAP)


def _topology(data: bytes, folder: Path) -> None:
    shutil.copyfile(_MAP, folder / "latency.csv")
    path = folder / "topology.yaml"
    path.write_bytes(data)
    read_topology(str(path))


def _experiment(path: Path) -> None:
    read_experiment(path).cases()


def _pod_template(path: Path) -> None:
    executor_template(read_base_template(str(path)), PodPlacement(order="1-1", nodes=("a", "b")), autoscaler="op")


TARGETS = (
    Target(
        name="settings",
        form=Form.YAML,
        samples=files("settings/*", "../../data/records/*/gesscale.yaml"),
        call=from_file("gesscale.yaml", _settings),
    ),
    Target(name="settings-options", form=Form.TEXT, samples=files("options/*"), call=_options),
    Target(name="rules", form=Form.YAML, samples=files("rules/*"), call=from_file("rules.yaml", read_rules)),
    Target(name="hosts-csv", form=Form.TEXT, samples=files("hosts/*.csv"), call=from_file("hosts", _hosts)),
    Target(
        name="hosts-kubectl", form=Form.JSON, samples=files("kubectl-nodes/*"), call=from_file("nodes.json", _hosts)
    ),
    Target(
        name="pod-template",
        form=Form.YAML,
        samples=files("pod-template/*"),
        call=from_file("executor.yaml", _pod_template),
    ),
    Target(name="topology", form=Form.YAML, samples=files("topology/*"), call=_topology),
    Target(
        name="experiment",
        form=Form.YAML,
        samples=files("tests/fuzz/samples/experiment/*", "testbed/arena/experiments/[an]*.yaml", under=ROOT),
        call=from_file("mine.yaml", _experiment),
    ),
    Target(
        name="physics",
        form=Form.YAML,
        samples=files("testbed/simulator/spark/physics/*.yaml", under=ROOT),
        call=from_file("mine.yaml", read_physics),
    ),
)
