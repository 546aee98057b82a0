"""Fixtures: ``gesscale arena`` in this process, and a small load."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gesscale.errors import InputError
from testbed.arena.cli import app

Arena = Callable[..., Result]


@pytest.fixture
def load(tmp_path: Path) -> Path:
    """A load of 20 min."""
    file = tmp_path / "mine.csv"
    file.write_text("t_s,rows_per_s\n0,100\n300,500\n600,200\n900,200\n")
    return file


@pytest.fixture
def arena() -> Arena:
    """Run a command; errors of the input are raised instead of printed."""

    def command(*words: object) -> Result:
        done = CliRunner().invoke(app, [str(word) for word in words])
        if isinstance(done.exception, InputError):
            raise done.exception
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done

    return command
