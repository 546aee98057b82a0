"""``gesscale model fit`` and ``predict``, run as a user runs them but in this process."""

import json
import sys
from pathlib import Path

import pytest
from refusals import codes

from gesscale.cli import model
from gesscale.cli.process_exit import run

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


def test_fit_reports_both_laws_and_the_errors_of_used_and_held_out_rows(gesscale_model):
    code, out, _ = gesscale_model("fit", SPARK, *UNDISTURBED_MAP, "--holdout", "nd_max_ms=150", "--output", "json")
    document = json.loads(out)
    assert code == 0
    assert (document["law"], document["fitted"]) == ("batch-time", True)
    eq1, batch_time = document["laws"]
    assert [each["name"] for each in eq1["parameters"]] == ["alpha", "beta", "gamma"]
    assert (eq1["readings"], eq1["conditions"]) == (7, 7)
    assert batch_time["held_out_error_pct"] < 1.5 < eq1["held_out_error_pct"]
    errors = {(each["law"], each["held_out"]): each for each in document["errors"]}
    assert [errors[law, held_out]["readings"] for law in ("eq1", "batch-time") for held_out in (False, True)] == [
        7,
        2,
    ] * 2
    assert errors["batch-time", True]["mean_pct"] < 1.5 < errors["eq1", True]["mean_pct"]


def test_predict_gives_the_interval_of_both_laws(gesscale_model):
    code, out, _ = gesscale_model(
        *("predict", SPARK, "--law", "batch-time", *UNDISTURBED_MAP),
        *("--replicas", 25, "--nd-max-ms", 0, "--batch-rows", 12_000, "-o", "json"),
    )
    document = json.loads(out)
    assert (code, document["law"]) == (0, "batch-time")
    estimates = {each["law"]: each for each in document["estimates"]}
    # T = 0.312 s + 0.486 ms * 12,000 / 25 = 0.545 s, and 12,000 / 0.545 = 22,000 rows/s. The evidence ends at 4
    # replicas; a fixed time of 0.2 s and a share of each row that replicas do not divide are as likely.
    low, mid, high = (estimates["batch-time"][name] for name in ("low", "mid", "high"))
    assert low < 22_000 < high
    assert mid == pytest.approx(22_000, rel=0.1)
    assert estimates["eq1"]["low"] < estimates["eq1"]["mid"] < estimates["eq1"]["high"]


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


def test_without_batch_rows_only_equation_1_is_fitted(gesscale_model, csv_file):
    # 2,000 n^0.9 - 4 NDmax: 2000, 3732, 3532, 6564.
    path = csv_file(HEADER, "1,0,2000", "2,0,3732.1", "2,50,3532.1", "4,100,6564.4")
    document = json.loads(gesscale_model("fit", path, "--law", "batch-time", "--output", "json")[1])
    assert document["law"] == "eq1"
    assert [each["value"] for each in document["laws"][0]["parameters"]] == pytest.approx([2000, 0.9, 4], rel=1e-2)
    assert document["laws"][1]["parameters"] == []
    predicted = json.loads(gesscale_model("predict", path, "--replicas", 3, "--nd-max-ms", 75, "-o", "json")[1])
    assert [each["law"] for each in predicted["estimates"]] == ["eq1"]
    assert predicted["estimates"][0]["mid"] == pytest.approx(2000 * 3**0.9 - 300, rel=1e-2)


def test_rows_that_are_not_chosen_may_hold_anything(gesscale_model, csv_file):
    path = csv_file("query,tasks," + HEADER, "map,1,1,0,2000", "join,,x,,")
    code, out, _ = gesscale_model("fit", path, "--where", "query=map", "--where", "tasks=replicas", "-o", "json")
    assert (code, json.loads(out)["laws"][0]["readings"]) == (0, 1)
