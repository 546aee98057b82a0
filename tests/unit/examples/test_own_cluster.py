"""The example of a cluster adapter keeps the promises of all clusters, and says what is wrong with its options."""

import importlib.util
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from cluster_contract import ClusterContract, Site
from refusals import refused

from gesscale.errors import ClusterError, InputError

FILE = Path(__file__).parents[3] / "examples" / "own_cluster" / "process_cluster.py"
SPEC = importlib.util.spec_from_file_location("process_cluster", FILE)
assert SPEC is not None
assert SPEC.loader is not None
process_cluster = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(process_cluster)


class ProcessSite(Site):
    def settle(self) -> None:
        self.cluster.state()  # a replica is there as soon as its process is


@pytest.fixture
def options(tmp_path):
    (tmp_path / "op").mkdir()
    return {"folder": str(tmp_path), "nodes": "a,b,c", "start": "sleep 60"}


@pytest.fixture
def site(options, tmp_path):
    cluster = process_cluster.open_cluster(options)
    cluster.apply("op", ("a",))
    yield ProcessSite(cluster=cluster, nodes=("a", "b", "c"))
    for file in (tmp_path / "op").iterdir():
        with suppress(ProcessLookupError):
            os.kill(int(file.read_text()), signal.SIGTERM)


class TestProcessCluster(ClusterContract):
    pass


def test_a_replica_that_died_is_seen(site, tmp_path):
    os.kill(int((tmp_path / "op" / "a").read_text()), signal.SIGKILL)
    os.waitid(os.P_PID, int((tmp_path / "op" / "a").read_text()), os.WEXITED | os.WNOWAIT)
    assert site.placement == ()


def test_options_and_a_folder_that_are_missing_are_named(options, tmp_path):
    with refused("process-options-invalid", InputError):
        process_cluster.open_cluster({"folder": "x"})
    gone = process_cluster.open_cluster({**options, "folder": str(tmp_path / "gone")})
    with refused("process-folder-unreadable", ClusterError):
        gone.state()


def test_a_command_that_is_not_there_is_a_cluster_error(options):
    cluster = process_cluster.open_cluster({**options, "start": "/no/such/program {node}"})
    with refused("process-not-started", ClusterError, node="b"):
        cluster.apply("op", ("b",))
