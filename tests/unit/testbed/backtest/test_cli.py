"""``gesscale backtest`` on a load whose law is known."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from testbed.backtest.cli import app
from tests.event_logs import day, lines


def backtest(*words: object) -> dict:
    found = CliRunner().invoke(app, [*map(str, words), "-o", "json"], catch_exceptions=False)
    return json.loads(found.stdout)


def test_fewer_replicas_are_saved_where_they_carry_the_load(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(lines(day(lambda _: 300.0, duration_s=1800, replicas={0: 4, 600: 3, 1200: 4})))
    document = backtest(log, "--to", tmp_path / "page.html")
    figures = document["figures"]
    # 600 s with 3 and 1,200 s with 4 executors: 6,600 replica-seconds in half an hour
    assert figures["replica_h"]["now"] == pytest.approx(6600 / 3600, rel=0.02)
    assert figures["changes"]["now"] == 2
    # one carries 237 rows/s of the 300, two carry 475
    assert figures["replicas"]["played"] == pytest.approx(2, abs=0.5)
    assert figures["late_min"]["played"] == 0
    assert document["resource"]["spec"]["minReplicas"] == 1
    assert "maxReplicas" in (tmp_path / "page.html").read_text()
