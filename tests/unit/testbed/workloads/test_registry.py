import math
from pathlib import Path

import pytest

from gesscale.errors import InputError
from testbed.workloads.names import NAMES
from testbed.workloads.registry import entries, workload_named, workload_names
from testbed.workloads.workload import WorkloadRequest

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "workloads.md"
WINDOWS = [f"{entry.name}:any" for entry in entries() if "`any`" in entry.parameter]
ALL = [*workload_names(), "nyc:2014-07-01", *WINDOWS, "kanis-spikes:random", "sine:10", "constant:1"]
DRAWN = [entry.name for entry in entries() if entry.is_random] + WINDOWS
FIXED = [entry.name for entry in entries() if not entry.is_random]


def test_the_names_that_a_shell_completes_are_those_of_the_loads():
    assert [*NAMES] == [*workload_names()]


@pytest.mark.parametrize("name", ALL)
def test_every_load_has_its_name_and_some_length(name):
    workload = workload_named(name, seed=0)
    assert workload.name == name
    assert workload.duration_s >= 60
    assert not workload.absolute


@pytest.mark.parametrize("name", ALL)
def test_the_same_seed_gives_the_same_load(name):
    assert workload_named(name, seed=7) == workload_named(name, seed=7)


@pytest.mark.parametrize("name", DRAWN)
def test_what_is_drawn_differs_between_seeds_but_not_in_length(name):
    loads = [workload_named(name, seed=seed) for seed in range(5)]
    assert len({load.rows_per_s for load in loads}) == 5
    assert len({load.duration_s for load in loads}) == 1


@pytest.mark.parametrize("name", FIXED)
def test_what_is_not_drawn_is_the_same_for_every_seed(name):
    assert workload_named(name, seed=1) == workload_named(name, seed=2)


def test_two_names_draw_different_numbers_from_one_seed():
    request = WorkloadRequest(text="any", parameter=None, seed=3)
    assert request.rng("one").random() == request.rng("one").random()
    assert request.rng("one").random() != request.rng("other").random()


def test_each_name_has_a_line_with_its_source():
    names = workload_names()
    assert {"nyc", "kanis-cosine", "daedalus-sine", "seep-constant", "steps"} <= set(names)
    assert all("\n" not in line and line.endswith(")") for line in names.values())
    assert "Kanis 2023" in names["kanis-cosine"]
    assert "not the trace itself" in names["daedalus-ysb"]
    assert "2014-07-01 to 2015-01-31" in names["nyc"]


def test_names_are_unique_and_can_be_told_from_files():
    names = [entry.name for entry in entries()]
    assert len(set(names)) == len(names)
    assert not any(set(name) & set(":/.\\") for name in names)


def workload_table() -> str:
    """Return a Markdown table, a row per named load."""
    head = "| name | what | length | source | by seed | after a colon |\n|---|---|---|---|---|---|\n"
    rows = (
        f"| `{entry.name}` | {entry.what} | {entry.length} | {entry.source} "
        f"| {'yes' if entry.is_random else '–'} | {entry.parameter or '–'} |\n"
        for entry in entries()
    )
    return head + "".join(rows)


def test_the_page_holds_the_table_of_the_catalogue():
    assert workload_table() in PAGE.read_text("utf-8"), (
        f"put this table into docs/reference/workloads.md:\n{workload_table()}"
    )


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("kanis-cosin", "did you mean kanis-cosine"),
        ("NYC", "did you mean nyc"),
        ("nyc2014-10-01", "got 'nyc2014-10-01'"),
        ("qqqq", "known: nyc, nyc-day, nab-tweets-amzn, nab-tweets-fb, "),
        ("", "got ''; known: nyc"),
        (":any", "got ''; known: nyc"),
    ],
)
def test_an_unknown_name_is_refused_with_those_that_are_near_or_all(text, hint):
    with pytest.raises(InputError, match="expected the name of a workload or a file") as raised:
        workload_named(text, seed=0)
    assert hint in str(raised.value)


@pytest.mark.parametrize("text", ["kanis-cosine:2", "seep-peaks:", "daedalus-sine:any"])
def test_a_parameter_is_refused_where_there_is_none(text):
    with pytest.raises(InputError, match=r"expected nothing after [a-z-]+, got ':"):
        workload_named(text, seed=0)


@pytest.mark.parametrize("parameter", ["", "0", "-5", "nan", "inf", "1441", "ten", "5 min"])
@pytest.mark.parametrize("name", ["constant", "steps", "sine", "spikes"])
def test_minutes_that_are_none_are_refused(name, parameter):
    with pytest.raises(InputError, match="expected minutes after the colon, 1 to 1440, got"):
        workload_named(f"{name}:{parameter}", seed=0)


def test_a_negative_seed_is_refused():
    with pytest.raises(InputError, match="workload 'nyc:any': expected a seed >= 0, got -1"):
        workload_named("nyc:any", seed=-1)


@pytest.mark.parametrize("file", ["mine.csv", "MINE.CSV", "folder/mine.txt"])
def test_what_ends_in_csv_or_holds_a_separator_is_a_file(tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    path = Path(file)
    path.parent.mkdir(exist_ok=True)
    path.write_text("t_s,rows_per_s\n0,1\n10,2\n")
    workload = workload_named(file, seed=0)
    assert workload.name == file
    assert workload.rows_per_s == (1, 2)
    assert workload.absolute


def test_a_file_that_is_missing_is_told_from_an_unknown_name(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv: expected a readable CSV file, got: No such file"):
        workload_named(str(tmp_path / "none.csv"), seed=0)


@pytest.mark.parametrize("name", ALL)
def test_scaling_the_peak_to_one_keeps_the_mean_to_peak(name):
    workload = workload_named(name, seed=0)
    scaled = workload.scaled(1 / workload.peak_rows_per_s)
    assert math.isclose(scaled.peak_rows_per_s, 1.0)
    assert math.isclose(scaled.total_rows, workload.total_rows / workload.peak_rows_per_s)
