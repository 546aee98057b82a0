"""The promises of the store on which leases, orders and watches rest: kine on SQLite, as in k3s."""

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from stopped_api import stopped_api_server
from waiting import until

from gesscale.errors import ClusterError
from gesscale.kubernetes.api.errors import ApiError
from gesscale.kubernetes.api.resources import CONFIG_MAPS
from testbed.kubernetes.store import Store, StoreKind
from testbed.kubernetes.tools import build

pytestmark = pytest.mark.real


def config_map(value: str) -> dict:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "counted"}, "data": {"v": value}}


def test_a_write_on_an_old_version_is_a_conflict(admin, namespace):
    made = admin.create(CONFIG_MAPS, config_map("1"), namespace=namespace)
    admin.update(CONFIG_MAPS, {**made, "data": {"v": "2"}}, namespace=namespace)
    with pytest.raises(ApiError) as caught:
        admin.update(CONFIG_MAPS, {**made, "data": {"v": "3"}}, namespace=namespace)
    assert caught.value.conflict
    assert admin.get(CONFIG_MAPS, "counted", namespace=namespace)["data"] == {"v": "2"}


def test_a_compacted_version_has_expired(cluster, admin, namespace):
    if cluster.store.kind is not StoreKind.KINE:
        pytest.skip("the test compacts the database of kine")
    made = admin.create(CONFIG_MAPS, config_map("1"), namespace=namespace)
    old = made["metadata"]["resourceVersion"]
    new = admin.patch(CONFIG_MAPS, "counted", {"data": {"v": "2"}}, namespace=namespace)["metadata"]["resourceVersion"]
    with stopped_api_server(cluster):  # its memory has the old versions too
        compact(cluster, int(new))
    listed = f"/api/v1/namespaces/{namespace}/configmaps?resourceVersionMatch=Exact&resourceVersion="
    assert '"v":"2"' in cluster.run_kubectl("get", "--raw", listed + new)
    with pytest.raises(ClusterError) as caught:
        cluster.run_kubectl("get", "--raw", listed + old)
    assert "Expired" in str(caught.value)


def compact(cluster, version: int) -> None:
    """Compact as kine does, which would keep the last 1000 versions, and after five minutes."""
    with closing(sqlite3.connect(cluster.files.directory / "kine" / "state.db", timeout=30)) as database, database:
        database.execute(
            "DELETE FROM kine WHERE id IN (SELECT prev_revision FROM kine"
            " WHERE name != 'compact_rev_key' AND prev_revision != 0 AND id <= ?)",
            (version,),
        )
        database.execute("UPDATE kine SET prev_revision = ? WHERE name = 'compact_rev_key'", (version,))


@pytest.mark.usefixtures("possible")
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace delays the disk")
def test_each_fsync_of_a_store_is_delayed(tmp_path: Path) -> None:
    trace, client = tmp_path / "trace", "http://127.0.0.1:0"
    program = (str(build()), "kine", "--data-dir", str(tmp_path / "data"), "--client-url", client)
    with subprocess.Popen(Store(kind=StoreKind.KINE, fsync_ms=1).command(program, trace)) as store:
        until(lambda: trace.exists() and "(DELAYED)" in trace.read_text(), "an fsync of the new database")
        store.terminate()
