"""The figures of a lost node, from batches, and the table of a campaign."""

from dataclasses import replace
from pathlib import Path

import pytest
from refusals import refused

from gesscale.model.observation import Batch
from testbed.chaos.loss_results import LossRecord, add_loss, first_end_s, longest_gap_s, losses_table, read_losses
from testbed.chaos.plan import parse_faults
from testbed.live.node_losses import NodeLoss

RECORD = LossRecord(
    loss=NodeLoss.DELETED,
    nodes=("c",),
    at_s=100.0,
    not_ready_s=None,
    noticed_s=1.0,
    ordered_s=2.0,
    full_rate_s=20.0,
    caught_up_s=30.0,
    longest_gap_s=4.0,
    recovered=True,
    rows=1000,
    rows_lost=0,
    rows_duplicated=0,
)


def batch(ended_at_s: float, rows: int = 1) -> Batch:
    return Batch(batch_id=int(ended_at_s), ended_at_s=ended_at_s, rows=rows, seconds=1.0, nodes=("b",))


BATCHES = (batch(101.0), batch(103.0), batch(109.0, rows=7), batch(112.0, rows=9), batch(114.0))


def test_the_first_batch_for_which_something_holds_gives_the_time() -> None:
    assert first_end_s(BATCHES, lambda each: each.rows > 5) == 109.0
    assert first_end_s(BATCHES, lambda each: each.rows > 9) is None


def test_the_longest_gap_ends_at_the_end_of_the_time_at_the_latest() -> None:
    assert longest_gap_s(BATCHES, 100.0, 114.0) == 6.0  # 103 to 109
    assert longest_gap_s((), 100.0, 130.0) == 30.0


@pytest.mark.parametrize(
    "fault", [{"recovered": False}, {"full_rate_s": None}, {"rows_lost": 1}, {"rows_duplicated": 1}]
)
def test_a_starved_query_or_a_wrong_row_breaks_the_promise(fault: dict[str, object]) -> None:
    assert RECORD.kept
    assert not replace(RECORD, **fault).kept  # type: ignore[arg-type]


def test_records_are_appended(tmp_path: Path) -> None:
    assert read_losses(tmp_path) == ()
    late = replace(RECORD, full_rate_s=61.0)
    add_loss(RECORD, tmp_path)
    add_loss(late, tmp_path)
    assert read_losses(tmp_path) == (RECORD, late)


def test_each_kind_of_loss_is_a_row_with_its_spread() -> None:
    starved = replace(RECORD, noticed_s=None, full_rate_s=None, recovered=False)
    drained = replace(RECORD, loss=NodeLoss.DRAINED, full_rate_s=61.0)
    table = losses_table([RECORD, replace(RECORD, full_rate_s=60.0), starved, drained])
    rows = [dict(zip(table.headings, row, strict=True)) for row in table.rows]
    assert [row["loss"] for row in rows] == ["deleted", "drained"]
    # of 20 and 60 the median is 40; the third is never full
    assert (rows[0]["n"], rows[0]["full rate"], rows[0]["full in 60 s"]) == ("3", "40.0, 60.0 (2 of 3)", "2")
    assert (rows[0]["noticed"], rows[0]["starved"], rows[0]["lost, doubled rows"]) == ("1.0, 1.0 (2 of 3)", "1", "0, 0")
    assert (rows[1]["full rate"], rows[1]["full in 60 s"]) == ("61.0, 61.0", "0")


def test_an_unknown_loss_is_refused_with_those_that_exist() -> None:
    assert parse_faults("drained, cut-off", NodeLoss, "--kinds") == (NodeLoss.DRAINED, NodeLoss.CUT_OFF)
    with refused("chaos-fault-unknown", place="--kinds", got="burnt"):
        parse_faults("burnt", NodeLoss, "--kinds")
