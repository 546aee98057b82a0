import csv
from datetime import datetime

import numpy as np
import pytest
from refusals import refused

from gesscale.errors import InputError
from testbed.pipeline.rides import HEADER, Demand, PickupZone, generate_rides, read_demand, write_demand

COLUMNS, NOON = "timestamp,passengers", datetime(2015, 1, 6, 12)
ZONES = (PickupZone("west", -74.0, 40.70, 3.0), PickupZone("east", -73.9, 40.80, 1.0))
DEMAND = Demand(datetime(2015, 1, 6, 4), (0, 4000, 400))


def generate(path, seed=1, demand=DEMAND, share=0.5, **changes):
    rng = np.random.default_rng(seed)
    return generate_rides(path, demand=demand, zones=ZONES, rides_per_passenger=share, rng=rng, **changes)


def records(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_rides_follow_the_demand(tmp_path):
    made = generate(tmp_path / "rides.csv")
    lines = records(tmp_path / "rides.csv")
    assert len(lines) == made.valid + 5 * made.of_each_fault
    halves = [line["pickup_datetime"][11:15] for line in lines[: made.valid]]
    # no passengers from 04:00, then Poisson(2000) and Poisson(200): 6 standard deviations are 268 and 85
    assert not any(half.startswith("04:0") for half in halves)
    second = sum(half in ("04:3", "04:4", "04:5") for half in halves)
    assert abs(second - 2000) < 268
    assert abs(len(halves) - second - 200) < 85
    # weights 3 to 1; 6 standard deviations of a share of 0.75 over at least 1900 rides are 0.06
    west = sum(float(line["pickup_longitude"]) < -73.95 for line in lines[: made.valid]) / made.valid
    assert abs(west - 0.75) < 0.06
    generate(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "rides.csv").read_bytes()
    generate(tmp_path / "again.csv", 2)
    assert (tmp_path / "again.csv").read_bytes() != (tmp_path / "rides.csv").read_bytes()


def test_faults_are_counted(tmp_path):
    made = generate(tmp_path / "rides.csv", fault_share=0.01)
    each = round(0.01 * made.valid)
    assert each > 0
    lines = records(tmp_path / "rides.csv")
    assert sum(line["pickup_datetime"] == "not a time" for line in lines) == made.of_each_fault == each
    assert sum(line["passenger_count"] == "0" for line in lines) == each
    assert tuple(lines[0]) == HEADER


@pytest.mark.parametrize("share", [0.0, -1.0, float("nan")])
def test_an_invalid_share_is_rejected(tmp_path, share):
    with refused("number-not-positive", InputError, place="rides_per_passenger"):
        generate(tmp_path / "rides.csv", share=share)
    with refused("rides-none-generated", InputError):
        generate(tmp_path / "rides.csv", demand=Demand(datetime(2015, 1, 6), (0, 0)))


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([], "csv-empty"),
        ([COLUMNS], "demand-empty"),
        (["time,passengers", f"{NOON},1"], "csv-column-missing"),
        ([COLUMNS, "soon,1"], "csv-cell-invalid"),
        ([COLUMNS, f"{NOON},many"], "csv-cell-invalid"),
        ([COLUMNS, "", f"{NOON},-1"], "csv-cell-invalid"),
    ],
)
def test_an_invalid_demand_is_rejected(tmp_path, rows, code):
    file = tmp_path / "demand.csv"
    write_demand(DEMAND, file)
    assert read_demand(file) == DEMAND
    file.write_text("".join(f"{row}\n" for row in rows))
    with refused(code, InputError) as raised:
        read_demand(file)
    assert "demand.csv" in str(raised.value.fields["source"])
