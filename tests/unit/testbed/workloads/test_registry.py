from pathlib import Path

import pytest
from refusals import refused

from gesscale.errors import InputError
from testbed.workloads.catalogue import entries
from testbed.workloads.registry import BUILDERS, workload_named, workload_names

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "workloads.md"
WINDOWS = [f"{entry.name}:any" for entry in entries() if "`any`" in entry.parameter]
ALL = [*workload_names(), "nyc:2014-07-01", *WINDOWS, "kanis-spikes:random", "sine:10", "constant:1"]
DRAWN = [entry.name for entry in entries() if entry.is_random] + WINDOWS


def test_every_load_of_the_catalogue_can_be_built_and_no_other():
    assert [*BUILDERS] == [entry.name for entry in entries()]


@pytest.mark.parametrize("name", ALL)
def test_the_same_seed_gives_the_same_load(name):
    assert workload_named(name, seed=7) == workload_named(name, seed=7)


@pytest.mark.parametrize("name", DRAWN)
def test_random_loads_differ_between_seeds_but_not_in_length(name):
    loads = [workload_named(name, seed=seed) for seed in range(5)]
    assert len({load.rows_per_s for load in loads}) == 5
    assert len({load.duration_s for load in loads}) == 1


def workload_table() -> str:
    """Return a Markdown table, a row per named load."""
    head = "| name | shape | length | source | random | parameter |\n|---|---|---|---|---|---|\n"
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
    ("text", "nearest"),
    [("kanis-cosin", "kanis-cosine"), ("NYC", "nyc"), ("qqqq", "nyc"), ("", "nyc"), (":any", "nyc")],
)
def test_an_unknown_name_is_rejected_with_similar_or_all_names(text, nearest):
    with refused("workload-unknown", InputError, workload=text.partition(":")[0]) as error:
        workload_named(text, seed=0)
    names = error.value.fields["nearest"]
    assert names[0] == nearest
    assert len(names) <= 3 or names == list(workload_names())


@pytest.mark.parametrize("file", ["mine.csv", "MINE.CSV", "folder/mine.txt"])
def test_a_name_with_csv_or_a_separator_is_a_file(tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    path = Path(file)
    path.parent.mkdir(exist_ok=True)
    path.write_text("t_s,rows_per_s\n0,1\n10,2\n")
    workload = workload_named(file, seed=0)
    assert workload.name == file
    assert workload.rows_per_s == (1, 2)
    assert workload.absolute
