"""The command line of a store, and its record."""

import shutil
from pathlib import Path

import pytest
from refusals import refused

from testbed.kubernetes.store import ETCD, Store, StoreKind

PROGRAM = ("kubernetes", "part")
KINE = Store(kind=StoreKind.KINE)


@pytest.mark.parametrize(
    ("store", "command"),
    [
        (ETCD, (*PROGRAM, "--unsafe-no-fsync")),
        (Store(fsync_ms=0), PROGRAM),
        (KINE, PROGRAM),
        (Store(kind=StoreKind.KINE, fsync_ms=0), PROGRAM),
    ],
)
def test_only_etcd_may_skip_the_disk(store: Store, command: tuple[str, ...], tmp_path: Path) -> None:
    assert store.command(PROGRAM, tmp_path / "trace") == command


def test_each_fsync_is_delayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    command = Store(fsync_ms=1.5).command(PROGRAM, tmp_path / "trace")
    assert command[0] == "/usr/bin/strace"
    assert "inject=fsync,fdatasync:delay_enter=1500" in command  # strace counts in microseconds
    assert command[-3:] == ("--", *PROGRAM)


def test_a_slow_disk_needs_strace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with refused("strace-missing"):
        Store(fsync_ms=50).command(PROGRAM, tmp_path / "trace")


@pytest.mark.parametrize("store", [ETCD, Store(kind=StoreKind.KINE, fsync_ms=50)])
def test_a_store_is_read_as_it_was_written(store: Store, tmp_path: Path) -> None:
    store.save(tmp_path / "store.json")
    assert Store.load(tmp_path / "store.json") == store
