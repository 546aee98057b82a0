"""Preparation of a Kubernetes: its program, its tools, its credentials."""

import shutil
from pathlib import Path

import network_policies
import pytest
import yaml
from refusals import refused

from testbed.kubernetes import tools
from testbed.kubernetes.control_plane import Files, write_kubeconfig


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the program's sources that builds look at instead; the cache is empty."""
    copy = tmp_path / "sources"
    shutil.copytree(tools.SOURCES, copy)
    monkeypatch.setattr(tools, "SOURCES", copy)
    monkeypatch.setattr(tools, "CACHE", tmp_path / "cache")
    return copy


def test_a_changed_source_needs_a_new_build(sources: Path) -> None:
    before = tools.program_path()
    assert tools.program_path() == before
    (sources / "main.go").write_text((sources / "main.go").read_text() + "\n")
    assert tools.program_path() != before


@pytest.mark.usefixtures("sources")
def test_a_build_without_go_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find_go", lambda: None)
    with refused("go-missing"):
        tools.build()


@pytest.mark.usefixtures("sources")
def test_a_failed_build_is_quoted_and_leaves_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "go"
    compiler.write_text("#!/bin/sh\necho main.go: no such thing\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(tools, "find_go", lambda: str(compiler))
    with refused("go-build-failed", cause="main.go: no such thing"):
        tools.build()
    assert not tools.is_built()


def test_all_missing_tools_are_named_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runc").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "UNPACKED", tmp_path / "nothing")
    monkeypatch.setattr(tools, "SYSTEM", ())
    with refused("node-tools-missing", tools=["containerd", "ctr", "busybox", "CNI plugins"]):
        tools.find_tools()


def test_a_kubeconfig_names_server_authority_and_token(tmp_path: Path) -> None:
    path = write_kubeconfig(Files(directory=tmp_path), "admin", url="https://10.0.0.1:443", token="t0")  # noqa: S106 - made up
    document = yaml.safe_load(path.read_text())
    assert document["clusters"][0]["cluster"] == {
        "server": "https://10.0.0.1:443",
        "certificate-authority": str(tmp_path / "certificates" / "apiserver.crt"),
    }
    assert document["users"][0]["user"] == {"token": "t0"}


def test_missing_programs_for_network_policies_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ipset").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(network_policies, "SYSTEM", ())
    why = "needs iptables, iptables-save, iptables-restore; install the packages iptables and ipset"
    assert network_policies.obstacle() == why
