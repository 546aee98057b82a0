"""``gesscale model fit`` and ``predict``, run as a user runs them but in this process."""

import json
import sys
from pathlib import Path

import pytest
from refusals import codes

from gesscale.cli import model
from gesscale.cli.process_exit import run
from gesscale.common.errors import Problem

SPARK = Path(__file__).parents[3] / "data" / "spark_saturation_readings.csv"
UNDISTURBED_MAP = [
    word
    for condition in ("query=map", "batch_rows=12000", "tasks=replicas", "host_cpu<0.9")
    for word in ("--where", condition)
]
HEADER = "replicas,nd_max_ms,mst_rows_per_s"


@pytest.fixture
def gesscale_model(monkeypatch, capsys):
    """Run a command line; give its exit code, stdout and stderr."""

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["gesscale model", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            run(model.app)
        return ended.value.code, *capsys.readouterr()

    return command


@pytest.fixture
def csv_file(tmp_path):
    def write(*lines):
        path = tmp_path / "readings.csv"
        path.write_text("\n".join(lines))
        return path

    return write


def test_fit_reports_errors_of_used_and_held_out_rows(gesscale_model):
    code, out, _ = gesscale_model(
        "fit", SPARK, "--law", "microbatch", *UNDISTURBED_MAP, "--holdout", "nd_max_ms=150", "--output", "json"
    )
    document = json.loads(out)
    assert code == 0
    assert document["law"] == "microbatch"
    assert document["fitted"] == ["s_ms_per_row", "t0_s", "k_round_trips"]
    assert document["defaults"] == []
    assert document["readings"] == 7
    assert document["error_mean_pct"] <= 0.7
    assert document["holdout"]["readings"] == 2
    assert document["holdout"]["error_mean_pct"] == pytest.approx(0.3, abs=0.1)


def test_predict_gives_low_mid_high_and_the_reason(gesscale_model):
    code, out, _ = gesscale_model(
        *("predict", SPARK, "--law", "microbatch", *UNDISTURBED_MAP),
        *("--replicas", 25, "--nd-max-ms", 0, "--batch-rows", 12_000, "-o", "json"),
    )
    document = json.loads(out)
    assert code == 0
    # T = 0.312 s + 0.486 ms * 12,000 / 25 = 0.545 s, and 12,000 / 0.545 = 22,000 rows/s.
    assert document["mid"] == pytest.approx(22_000, rel=0.02)
    assert document["low"] < document["mid"] < document["high"]
    assert document["reason"] == str(Problem("estimate-extrapolated"))


@pytest.mark.parametrize(
    ("lines", "words", "code", "place"),
    [
        ([HEADER], [], "readings-empty", ""),
        (["replicas,nd_max_ms", "1,0"], [], "csv-column-missing", "line 1"),
        ([HEADER, "1,0"], [], "csv-cells-mismatch", "line 2"),
        ([HEADER, "1,0,2000", "2,nan,3000"], [], "csv-cell-invalid", "line 3, column nd_max_ms"),
        ([HEADER, "1.5,0,2000"], [], "csv-cell-invalid", "line 2, column replicas"),
        ([HEADER, "1,0,1e31"], [], "csv-cell-invalid", "line 2, column mst_rows_per_s"),
        ([HEADER, "1,0,"], [], "csv-cell-invalid", "line 2, column mst_rows_per_s"),
        ([HEADER, "1,0,2000"], ["--holdout", "cpu=1"], "condition-column-missing", "cpu"),
        ([HEADER, "1,0,2000"], ["--holdout", "replicas=1"], "readings-none-left", "--holdout"),
        ([HEADER, "1,0,2000"], ["--where", "replicas>1"], "readings-none-left", "--where"),
        ([HEADER, "1,0,2000"], ["--where", "replicas"], "condition-malformed", "replicas"),
        ([HEADER, "1,0,2000"], ["--where", "replicas<many"], "condition-not-comparable", "line 2, column replicas"),
    ],
)
def test_bad_input_is_one_message_and_exit_2(gesscale_model, csv_file, lines, words, code, place):
    path = csv_file(*lines)
    status, out, err = gesscale_model("fit", path, *words)
    assert (status, out, codes(err)) == (2, "", [code])
    assert place in err
    assert str(path) in err or code == "condition-malformed"
    assert err.count("\n") == 1


def test_readings_of_one_unknown_cap_predict_at_that_cap(gesscale_model, csv_file):
    # 3,000 rows, s = 0.5 ms, T0 = 0.3 s, k = 4: T = 0.3 + 1.5 / n + 4 NDmax, rows/s = 3000 / T.
    # n = 1, 0 ms: 1.8 s; 2, 0: 1.05 s; 2, 50 ms: 1.25 s; 4, 100 ms: 1.075 s. Asked, n = 3, 75 ms: 1.1 s, 2727 rows/s.
    seconds = {"1,0": 1.8, "2,0": 1.05, "2,50": 1.25, "4,100": 1.075}
    path = csv_file(HEADER, *(f"{where},{3000 / each}" for where, each in seconds.items()))
    asked = ("--law", "microbatch", "--output", "json")
    fitted = json.loads(gesscale_model("fit", path, *asked)[1])
    assert fitted["parameters"]["s_ms_per_row"] == pytest.approx(0.5, rel=1e-3)
    assert fitted["warnings"][0]["code"] == "batch-rows-assumed"
    where = ("--replicas", 3, "--nd-max-ms", 75)
    predicted = json.loads(gesscale_model("predict", path, *asked, *where)[1])
    assert predicted["mid"] == pytest.approx(3000 / 1.1, rel=1e-3)
    code, _, err = gesscale_model("predict", path, *asked, *where, "--batch-rows", 6000)
    assert (code, codes(err)) == (2, ["batch-rows-not-predictable"])


def test_rows_that_are_not_chosen_may_hold_anything(gesscale_model, csv_file):
    path = csv_file("query,tasks," + HEADER, "map,1,1,0,2000", "join,,x,,")
    code, out, _ = gesscale_model("fit", path, "--where", "query=map", "--where", "tasks=replicas", "-o", "json")
    assert (code, json.loads(out)["readings"]) == (0, 1)
