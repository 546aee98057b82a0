"""Builders that several tests share: a small edge of five nodes, readings, and fakes of the ports."""

import gc
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

os.environ.pop("COLUMNS", None)  # pytest-xdist sets it for its workers; commands would think it the user's wish

# pytest-xdist has a worker for every core; more threads for sums than one only wait for each other.
# Must come before numpy is imported. A test that needs several threads starts a process of its own.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The same examples in every run: a change fails or passes by itself. HYPOTHESIS_PROFILE=search looks for others.
# No deadline: how long an example takes depends on the machine. `examples` scales what a test asks for.
settings.register_profile("check", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("thorough", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "check"))

Command = Callable[..., tuple[int, str, str]]


@cache
def _gesscale() -> Callable[[], None]:
    """Make the command line once; typer takes 16 ms for it, and would take them for each command."""
    from typer.main import get_command

    from gesscale.cli.app import app

    return get_command(app)


@pytest.fixture
def gesscale(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command line in this process; give its exit code, stdout and stderr."""
    from gesscale.cli.process_exit import run

    def command(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["gesscale", *map(str, words)])
        monkeypatch.setattr(
            sys.modules["__main__"], "__package__", None
        )  # else the name has `python -m pytest.` before it
        with pytest.raises(SystemExit) as ended:
            run(_gesscale())
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return int(ended.value.code or 0), printed.out, printed.err

    return command


_KUBERNETES = Path(__file__).parent / "real" / "kubernetes"
_REAL_TIMEOUT_S = 2400
"""Of a real test, which on busy cores starts JVMs and waits for them. On a new machine the first one on Kubernetes
waits until it is built, which pytest-timeout counts as its own."""

_FORGOTTEN_SOCKET = r"ignore:unclosed <ssl\.SSLSocket [^>]*laddr=\([^)]*\)>:ResourceWarning"
"""Python 3.11's ssl forgets the socket of a peer that resets before the handshake, as an API server that is killed
does; it has no remote address any more."""


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect tests without looking for garbage: a sixth of the time, and next to none of it is garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items):
    """Give real tests their time; those on Kubernetes come last, as on a new machine it is being built meanwhile."""
    items.sort(key=lambda item: _KUBERNETES in item.path.parents)
    for item in items:
        if _KUBERNETES in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings(_FORGOTTEN_SOCKET))
        if item.get_closest_marker("real") and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_REAL_TIMEOUT_S))
