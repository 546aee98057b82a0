"""Command lines ``gesscale arena validate`` and ``refit``."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from made_runs import FITTED_TO, RECORDS
from refusals import codes

from gesscale.cli.app import main
from testbed.simulator.spark.constants import FOLDER, read_physics

Ended = tuple[int, str, str]
Command = Callable[..., Ended]


@pytest.fixture
def arena(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run ``gesscale arena`` in this process, and return exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "100")

    def command(*words: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["gesscale", "arena", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        output = capsys.readouterr()
        return code, output.out, output.err

    return command


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RECORDS / "warm-2", tmp_path / "mine"))


def test_json_of_runs_has_every_figure(arena: Command) -> None:
    both = [word for name in ("warm-1", "warm-2") for word in ("--run", RECORDS / name)]
    code, out, _ = arena("validate", *both, "--seeds", 2, "-o", "json")
    document = json.loads(out)
    assert code == 0
    assert (document["seeds"], list(document["runs"])) == (2, ["warm-1", "warm-2"])
    assert document["physics"]["constants"]["trigger_s"] == 2.0
    reported = document["runs"]["warm-2"]
    assert set(reported) == {"warm_batches", "totals", "distances"}
    assert {"all warm", "full", "not full", "n = 1", "n = 4"} <= set(reported["warm_batches"])
    assert set(reported["warm_batches"]["full"]) == {"compared", "batch_time", "throughput"}
    serving = reported["totals"]["serving_s"]
    # Between the orders and the ends of the first batches, by hand from the two files: 9.58, 9.82, 10.70 s.
    assert serving["recorded"] == pytest.approx((9.58 + 9.82 + 10.70) / 3, abs=0.01)
    assert serving["simulated"]["minimum"] <= serving["simulated"]["median"] <= serving["simulated"]["maximum"]
    assert set(reported["distances"]) == set(document["betweenRuns"]["warm-1, warm-2"])


def test_refit_writes_constants_that_validate_reads(arena: Command, tmp_path: Path, record: Path) -> None:
    file = tmp_path / "own.yaml"
    code, _, err = arena("refit", record, "--to", file, "--about", "Mine.")
    assert code == 0
    assert str(file) in err
    document = yaml.safe_load(file.read_text())
    assert document["about"] == "Mine."
    assert document["figures"]["trigger_s"] == {"value": 2.0, "origin": "The setting of mine."}
    assert document["figures"]["wave_round_trips"]["origin"].startswith("As map: ")
    code, out, _ = arena("validate", "--run", record, "--physics", file, "--seeds", 1, "-o", "json")
    assert code == 0
    assert json.loads(out)["physics"]["constants"]["fixed_s"] == read_physics(file).fixed_s


def test_refit_of_the_bundled_records_is_the_bundled_file(arena: Command, tmp_path: Path) -> None:
    bundled = FOLDER / "local-cluster.yaml"
    file = tmp_path / "own.yaml"
    about = yaml.safe_load(bundled.read_text())["about"]
    assert arena("refit", *(RECORDS / name for name in FITTED_TO), "--to", file, "--about", about)[0] == 0
    written, kept = (yaml.safe_load(path.read_text())["figures"] for path in (file, bundled))
    assert {name: each["origin"] for name, each in written.items()} == {
        name: each["origin"] for name, each in kept.items()
    }
    # The fourth digit of the fit may differ between machines.
    assert {name: each["value"] for name, each in written.items()} == pytest.approx(
        {name: each["value"] for name, each in kept.items()}, rel=5e-3
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["validate", "--run", "nowhere"], None),
        (["validate", "--run", RECORDS / "warm-2", "--physics", "mop"], "constants-unreadable"),
        (["validate", "--run", RECORDS / "warm-2", "--run", RECORDS / "warm-2"], "recorded-run-duplicate"),
        (["refit", RECORDS / "warm-2", "--to", "nowhere/own.yaml", "--about", "x"], "file-unwritable"),
        (["refit", "nowhere", "--to", "own.yaml", "--about", "x"], None),
    ],
)
def test_wrong_input_is_one_error_and_exit_2(
    arena: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[object], code: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = arena(*words)
    assert (status, out) == (2, "")
    assert code is None or codes(err) == [code]
    assert len(err.strip().splitlines()) == 1
