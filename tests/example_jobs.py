"""Runs the jobs of the examples as processes."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.request import urlopen

EXAMPLES = Path(__file__).parents[1] / "examples"
WAIT_S = 300  # timeout, not an expected duration


@contextlib.contextmanager
def started(program: Path, log: Path, environment: Mapping[str, str]) -> "Iterator[subprocess.Popen[bytes]]":
    """Start a program, and end it with SIGTERM."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, str(program)], stdout=file, stderr=subprocess.STDOUT, env={**os.environ, **environment}
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def await_batches(port: int, count: int, job: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until a job has finished a number of batches; fail with its log if it exits before."""
    until_s = time.monotonic() + WAIT_S
    while len(_batches(port)) < count and time.monotonic() < until_s:
        assert job.poll() is None, log.read_text()
        time.sleep(1)


def recommend(settings: Path, *options: str) -> dict[str, object]:
    """Return the only decision of ``gesscale recommend``."""
    done = subprocess.run(
        [sys.executable, "-m", "gesscale", "recommend", "-c", settings, *options, "-o", "json"],
        capture_output=True, text=True, timeout=WAIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (decision,) = json.loads(done.stdout)["decisions"]
    return dict(decision)


def _batches(port: int) -> list[dict[str, object]]:
    try:
        with urlopen(f"http://127.0.0.1:{port}/batches", timeout=30) as response:
            return list(json.load(response)["batches"])
    except OSError:
        return []
