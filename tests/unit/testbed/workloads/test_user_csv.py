import os

import pytest
from refusals import refused

from gesscale.errors import InputError
from testbed.workloads import user_csv
from testbed.workloads.user_csv import rates_on_grid, workload_from_csv


def read(folder, text, name="load.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return workload_from_csv(path, name="mine")


def test_a_rate_holds_until_the_next_row(tmp_path):
    workload = read(tmp_path, "t_s,rows_per_s\n0,100\n60,250\n300,80\n")
    assert workload.step_s == 60  # divides 60 and 240
    assert workload.rows_per_s == (100, 250, 250, 250, 250, 80, 80, 80, 80)
    assert workload.absolute
    assert workload.name == "mine"


def test_rows_are_spread_over_the_time_to_the_next_row(tmp_path):
    workload = read(tmp_path, "t_s,rows\n0,600\n60,600\n300,0\n")
    # 600 rows in 60 s, 600 in 240 s
    assert workload.rows_per_s == (10, 2.5, 2.5, 2.5, 2.5, 0, 0, 0, 0)
    assert workload.total_rows == 1200


@pytest.mark.parametrize(
    ("first", "second", "step_s"),
    [
        ("2014-07-01 08:00:00", "2014-07-01 08:30:00", 1800),
        ("2014-07-01T00:00:00Z", "2014-07-01T02:00:00.250+02:00", 0.25),
        ("2014-07-01", "2014-07-02", 86400),
    ],
)
def test_timestamps_are_iso_8601(tmp_path, first, second, step_s):
    workload = read(tmp_path, f"timestamp,rows\n{first},1\n{second},2\n")
    assert workload.step_s == step_s


def test_many_short_steps_are_merged_without_losing_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(user_csv, "MAX_STEPS", 4)
    workload = read(tmp_path, "t_s,rows_per_s\n0,10\n0.001,20\n2,40\n")
    # Until 3.999 s: 10 for 1 ms, 20 for 1.999 s, 40 for 1.999 s; on four steps of 0.99975 s.
    assert len(workload.rows_per_s) == 4
    assert workload.duration_s == pytest.approx(3.999)
    assert workload.total_rows == pytest.approx(0.01 + 20 * 1.999 + 40 * 1.999)


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("t_s,rows_per_s\n0,5\n", "load-too-short", None),
        ("t,rows_per_s\n", "load-column-ambiguous", "line 1"),
        ("t_s,rows,rows_per_s\n", "load-column-ambiguous", "line 1"),
        ("t_s;rows\n0;1\n", "load-column-ambiguous", "line 1"),
        ("t_s,rows\n0,1\n60,2\n0,3\n", "load-times-unsorted", "line 4"),
        ("t_s,rows\nnan,1\n", "field-invalid", "line 2, t_s"),
        ("t_s,rows\n1404172800000,1\n", "field-invalid", "line 2, t_s"),
        ("timestamp,rows\n1 July,1\n", "field-rejected", "line 2, timestamp"),
        ("t_s,rows_per_s\n0,\n", "field-invalid", "line 2, rows_per_s"),
        ("t_s,rows_per_s\n0,1\n1,-2\n", "field-invalid", "line 3, rows_per_s"),
        ("t_s,rows\n0,2e9\n", "field-invalid", "line 2, rows"),
        ("t_s,rows\n0,0\n10,0\n", "load-file-empty", None),
        ("t_s,rows\n0,1\n31708800,1\n", "load-too-long", "line 3"),
    ],
)
def test_an_invalid_file_is_rejected_with_its_place(tmp_path, text, code, place):
    with refused(code, InputError, place=place):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "where"), [("", ""), ("t_s,rows\n0,1\n10\n", "line 3"), (b"t_s,rows\n0,1\n10,\xff\n", "line 3")]
)
def test_a_malformed_csv_file_is_rejected(tmp_path, text, where):
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert where in str(error.value)


def test_a_directory_a_missing_file_and_a_pipe_are_rejected(tmp_path):
    with refused("load-file-irregular", InputError, got="directory"):
        workload_from_csv(tmp_path, name="mine")
    with pytest.raises(InputError):
        workload_from_csv(tmp_path / "none.csv", name="mine")
    os.mkfifo(tmp_path / "pipe.csv")
    with refused("load-file-irregular", InputError, got="device or pipe"):
        workload_from_csv(tmp_path / "pipe.csv", name="mine")


def test_a_step_over_many_pieces_keeps_their_rows():
    assert rates_on_grid([0, 1, 2, 3, 10], [1, 2, 3, 0], 5).tolist() == pytest.approx([6 / 5, 0.0])
