"""The record of a controlled run: its replay makes the decisions of the run."""

import json
from pathlib import Path

from controlled_run import controlled_run

from gesscale.cli.replay_report import replay_record, settings_of
from gesscale.model.document import as_document
from gesscale.monitor.record_files import BATCHES, write_lines
from gesscale.monitor.records import to_batches
from gesscale.replay import compare_decisions
from gesscale.service.recorded import read_record, write_served


def test_the_record_of_a_controlled_run_replays_to_its_decisions(tmp_path: Path) -> None:
    with controlled_run() as run:
        run.run([300] * 3 + [1200] * 4)
        run.lose("mid")
        run.run([1200] * 8 + [200] * 7)
        write_served(json.loads(json.dumps(run.journal.record("streams/op"))), tmp_path)
        batches = to_batches(run.operator.batches, {}).batches
    write_lines(tmp_path / BATCHES, [as_document(each) for each in batches])
    assert settings_of(tmp_path, None, []).workflow.slo_s == 20.0
    _, replayed = replay_record(tmp_path, settings_of(tmp_path, None, []))
    found = compare_decisions(replayed)
    # 3 + 4 + 8 + 7 periods; more replicas at 1,200 rows/s and after the loss, fewer at 200.
    assert (found.compared, found.same_change, found.same_reason) == (22, 22, 22)
    assert found.live_changes >= 3
    # The page of the record: far is not in the pool, and mid is gone.
    nodes = read_record(tmp_path)[0]["nodes"]["workflow"]
    assert {name: each["reason"] for name, each in nodes["ineligible_for"]["op"].items()} == {"far": "NotInPool"}
    assert {name: each["reason"] for name, each in nodes["ineligible"].items()} == {"mid": "NotInCluster"}
