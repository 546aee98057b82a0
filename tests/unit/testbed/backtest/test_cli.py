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
    document = backtest(log, "--min", 1)
    # 600 s with 3 and 1,200 s with 4 executors: 6,600 replica-seconds in half an hour
    assert document["now"]["replica_h"] == pytest.approx(6600 / 3600, rel=0.02)
    assert document["now"]["changes"] == 2
    # one carries 237 rows/s of the 300, two carry 475
    assert document["played"]["replicas"]["mid"] == pytest.approx(2, abs=0.5)
    assert document["played"]["late_min"]["mid"] == 0
    assert document["resource"]["spec"]["minReplicas"] == 1
