"""``check.sh`` with programs in place of the linters and of pytest."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def check(tmp_path):
    """Run it where each program says what it was asked, and ends with the status that it is given here."""
    shutil.copy(ROOT / "check.sh", tmp_path)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)

    # nproc, which it asks, would count the threads that these variables allow in place of the cores.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}

    def run(durations="", **statuses):
        for name in ("ruff", "mypy", "lint-imports", "python"):
            program = programs / name
            program.write_text(f'#!/bin/sh\necho "{name} $@"\nexit {statuses.get(name, 0)}\n')
            program.chmod(0o755)
        return subprocess.run(
            [tmp_path / "check.sh"],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**environment, "DURATIONS": durations},
        )

    return run


def test_all_pass_and_only_the_tests_are_shown(check):
    done = check()
    first, *rest = done.stdout.splitlines()
    workers = len(os.sched_getaffinity(0)) + 1
    assert first.startswith(f"python -m pytest -n {workers} --dist worksteal tests/unit ")
    assert rest == ["check: format, lint, types, contracts and tests passed"]
    assert (done.returncode, done.stderr) == (0, "")


def test_each_failure_is_named_with_what_it_said_and_the_tests_run_all_the_same(check):
    done = check(mypy=1, ruff=2)
    assert done.returncode == 1
    assert "python -m pytest" in done.stdout
    assert "== types ==\nmypy \n" in done.stdout
    assert "== format ==\nruff format --check .\n" in done.stdout
    assert "lint-imports" not in done.stdout
    assert done.stdout.splitlines()[-3:] == [
        "check: failed: format (exit status 2)",
        "check: failed: lint (exit status 2)",
        "check: failed: types (exit status 1)",
    ]


def test_failed_tests_fail_it(check):
    done = check(python=3)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "check: failed: tests (exit status 3)"


def test_the_slowest_tests_are_named_on_request(check):
    assert "--dist worksteal --durations=20 tests/unit " in check(durations="20").stdout
