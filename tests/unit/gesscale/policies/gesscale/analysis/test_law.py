"""What a batch takes by rows, replicas and delay, as batches tell."""

import numpy as np
import pytest
from true_law import TRUE

from gesscale.policies.gesscale.analysis.law import BatchSample, BatchTimeLaw, LawEvidence


def sample(rows: float, replicas: int, rtt_s: float, slowest: float = 1.0) -> BatchSample:
    """Return a batch as the true law has it; all nodes weigh 1, or one of them less."""
    even = replicas * slowest
    return BatchSample(
        rows=rows,
        seconds=TRUE.fixed_s + TRUE.even_row_s * rows / even + TRUE.driver_trips * rtt_s,
        weight=replicas - 1 + slowest,
        even_weight=even,
        driver_rtt_s=rtt_s,
        pair_rtt_s=rtt_s / 2,
    )


def capacity(
    law: BatchTimeLaw, weight: float, rtt_s: float, cap_rows: float | None = 2400.0, *, even: float | None = None
) -> float:
    placement = weight, even or weight, rtt_s, rtt_s / 2
    return float(law.rows_per_s(*(np.array([each]) for each in placement), cap_rows, 10.0)[0])


def test_one_full_batch_gives_the_rate_of_a_replica() -> None:
    # 2,400 rows take 0.5 + 0.005 * 2400 = 12.5 s, so 192 rows/s: the same batch again, whatever the shares are.
    law = LawEvidence().updated([sample(2400, 1, 0.0)]).law()
    assert law is not None
    assert capacity(law, 1, 0.0) == pytest.approx(192, rel=0.02)


def test_law_extrapolates_capacity() -> None:
    evidence = LawEvidence().updated(
        sample(rows, replicas, rtt_s)
        for replicas, rtt_s in [(1, 0.0), (2, 0.02), (3, 0.1), (4, 0.1)]
        for rows in range(400, 2400, 200)
    )
    law = evidence.law()
    assert law is not None
    # 8 replicas, cap 19,200: 0.5 + 0.005 * 2400 + 5 * 0.2 = 13.5 s, 1422 rows/s.
    assert capacity(law, 8, 0.2, 19200.0) == pytest.approx(1422, rel=0.05)
    # Small batches are paced by the trigger: 100 rows in 10 s.
    assert capacity(law, 8, 0.2, 100.0) == pytest.approx(10)
    # Without a cap what fits into the 10 s counts: (10 - 0.5 - 1) / (0.005 / 8) / 10 = 1360 rows/s.
    assert capacity(law, 8, 0.2, None) == pytest.approx(1360, rel=0.05)


def test_the_law_learns_whether_a_batch_waits_for_its_slowest_replica() -> None:
    # Four replicas, one of half the speed, and rows spread evenly: 4 * 0.5 = 2 of them do the work, not 3.5.
    evidence = LawEvidence().updated(
        sample(rows, replicas, 0.0, slowest)
        for replicas, slowest in [(2, 1.0), (3, 0.5), (3, 1.0), (4, 1.0)]
        for rows in range(400, 4800, 400)
    )
    law = evidence.law()
    assert law is not None
    # 9,600 rows: 0.5 + 0.005 * 9600 / 2 = 24.5 s, 392 rows/s.
    assert capacity(law, 3.5, 0.0, 9600.0, even=2.0) == pytest.approx(392, rel=0.05)


def test_parameters_have_their_uncertainty():
    assert LawEvidence().parameters() == ()
    # Batches of two sizes on one node, exactly 0.5 s + 1 ms a row: nothing tells of distance, all the rest is told.
    sizes = [200.0, 1000.0] * 30
    samples = [
        BatchSample(rows=rows, seconds=0.5 + rows / 1000, weight=1.0, even_weight=1.0, driver_rtt_s=0.0, pair_rtt_s=0.0)
        for rows in sizes
    ]
    found = {each.name: each for each in LawEvidence().updated(samples).parameters()}
    assert found["fixed_s"].value == pytest.approx(0.5, abs=0.05)
    assert found["row_s"].value + found["shared_row_s"].value == pytest.approx(0.001, rel=0.05)
    assert found["fixed_s"].identified
    assert found["row_s"].identified
    # A lone replica tells nothing of distance, nor whether a batch waits for the slowest of several.
    assert not any(found[name].identified for name in ("driver_trips", "pair_trips", "even_share"))
    assert found["even_share"].value == pytest.approx(0.5)
