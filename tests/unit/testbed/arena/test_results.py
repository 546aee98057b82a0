"""Results folders: written while cases finish, resumed, read, rejected."""

import json

import arena_runs
import pytest
from refusals import refused

from gesscale.errors import InputError
from testbed.arena.case import CaseResult
from testbed.arena.evaluation.comparison import records
from testbed.arena.runs.case_runner import ARENA_FAILED
from testbed.arena.runs.results import open_results, read_results


@pytest.fixture
def experiment():
    return arena_runs.small_experiment()


def fill(folder, experiment, *, cases=None, run_case=arena_runs.run_case):
    with open_results(folder, experiment) as kept:
        for case in kept.missing[:cases]:
            kept.add(run_case(experiment, case, with_series=case.seed == 0))
        if not kept.missing:
            kept.finish()
        return kept.results


def test_results_survive_an_incomplete_line(tmp_path, experiment):
    fill(tmp_path, experiment, cases=5)
    lines = tmp_path / "results.jsonl"
    lines.write_bytes(lines.read_bytes()[:-20])  # a power failure during the fifth line
    assert len(read_results(tmp_path)[1]) == 4
    with open_results(tmp_path, experiment) as kept:
        assert kept.missing == experiment.cases()[4:]
    assert len(fill(tmp_path, experiment)) == 12
    assert [json.loads(line)["lost"] for line in lines.read_text().splitlines()] == [""] * 12


def test_a_run_that_the_arena_lost_is_repeated(tmp_path, experiment):
    case = experiment.cases()[0]
    fill(
        tmp_path,
        experiment,
        cases=1,
        run_case=lambda *_, **__: CaseResult(case=case, lost="oh", lost_code=ARENA_FAILED),
    )
    with open_results(tmp_path, experiment) as kept:
        assert kept.missing == experiment.cases()
    fill(tmp_path, experiment)
    assert not any(result.lost for result in read_results(tmp_path)[1])


def test_more_seeds_and_policies_extend_existing_results(tmp_path, experiment):
    fill(tmp_path, experiment)
    more = experiment.changed({"seeds": 4, "policies": ["thr-nlaware", "gesscale", "static"]})
    with open_results(tmp_path, more) as kept:
        # 3 policies, 2 workloads, 4 seeds are 24; 12 are done
        assert len(kept.missing) == 12
    assert read_results(tmp_path)[0] == more


@pytest.mark.parametrize(
    ("changes", "code", "change"),
    [
        (
            {"operators.operator.max_replicas": 5},
            "results-experiment-differs",
            "operators.operator.max_replicas: 8 -> 5",
        ),
        ({"seeds": 2}, "results-cases-removed", "seeds: 3 -> 2"),
        ({"metrics.cpu": "not-measured"}, "results-experiment-differs", "metrics.cpu: 'work' -> 'not-measured'"),
    ],
)
def test_results_of_another_experiment_are_rejected(tmp_path, experiment, changes, code, change):
    experiment = experiment.changed({"operators.operator.max_replicas": 8})
    fill(tmp_path, experiment, cases=1)
    with refused(code, InputError, changes=[change]):
        open_results(tmp_path, experiment.changed(changes))


def test_a_load_whose_file_has_changed_is_rejected(tmp_path):
    load = tmp_path / "mine.csv"
    load.write_text("t_s,rows_per_s\n0,10\n60,20\n")
    experiment = arena_runs.small_experiment(workloads=[str(load)])
    fill(tmp_path / "r", experiment, cases=1)
    open_results(tmp_path / "r", experiment).__exit__()
    load.write_text("t_s,rows_per_s\n0,10\n60,21\n")
    with refused("results-file-changed", InputError, file=str(load)):
        open_results(tmp_path / "r", experiment)


def test_fresh_removes_only_files_of_results(tmp_path, experiment):
    fill(tmp_path, experiment)
    (tmp_path / "notes.txt").write_text("mine")
    other = experiment.changed({"seeds": 1})
    with open_results(tmp_path, other, fresh=True) as kept:
        assert kept.missing == other.cases()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["experiment.json", "notes.txt", "results.jsonl"]


def test_two_commands_do_not_write_to_one_folder(tmp_path, experiment):
    with open_results(tmp_path, experiment), refused("results-folder-locked", InputError):
        open_results(tmp_path, experiment)
    open_results(tmp_path, experiment).__exit__()


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("experiment.json", "{", "results-damaged"),
        ("experiment.json", "[]", "results-damaged"),
        ("experiment.json", '{"experiment": {"name": "x"}, "files": {}}', "setting-required"),
        ("results.jsonl", "nonsense\n", "results-line-invalid"),
        (
            "results.jsonl",
            '{"case": {"workload": "nyc", "seed": 0, "policy": "gesscale"}, "metrics": {}}\n',
            "results-case-unknown",
        ),
    ],
)
def test_a_damaged_folder_is_rejected_and_unchanged(tmp_path, experiment, name, content, code):
    fill(tmp_path, experiment, cases=2)
    (tmp_path / name).write_text(content)
    for read in (lambda: open_results(tmp_path, experiment), lambda: read_results(tmp_path)):
        with refused(code, InputError):
            read()
    assert (tmp_path / name).read_text() == content


def test_a_complete_folder_has_the_document_for_other_tools(tmp_path, experiment):
    results = fill(tmp_path, experiment)
    document = json.loads((tmp_path / "results.json").read_text())
    assert document["runs"] == records(results)
    assert len(document["summary"]) == 4
