import numpy as np
import pandas as pd
import pytest
from refusals import refused

from gesscale.errors import InputError
from testbed.pipeline.operator import (
    HOT_SPOTS,
    NodeCapacity,
    append_nearest,
    keep_valid,
    nearest_hot_spot,
    node_capacity,
)


def test_name_and_distance_are_appended():
    _, lon, lat = HOT_SPOTS[0]
    # 0.003 west and 0.004 north of Times Square: 3-4-5
    nearest, distance_deg = nearest_hot_spot(np.array([lon - 0.003]), np.array([lat + 0.004]))
    assert (nearest[0], distance_deg[0]) == (0, pytest.approx(0.005))
    name, lon, lat = HOT_SPOTS[2]
    frame = pd.DataFrame({"ride": [4], "pickup_longitude": [lon], "pickup_latitude": [lat]})
    (result,) = append_nearest(0.0)(iter([frame]))
    assert result.to_dict("records") == [
        {
            "ride": 4, "pickup_longitude": lon, "pickup_latitude": lat,
            "hot_spot": name, "distance_deg": 0.0,
        }
    ]  # fmt: skip


def test_only_rides_that_began_in_new_york_are_kept():
    # Times Square; the equator; Times Square without a longitude
    lon, lat = HOT_SPOTS[0][1:]
    frame = pd.DataFrame({"ride": [1, 2, 3], "pickup_longitude": [lon, 0, np.nan], "pickup_latitude": [lat, 0, lat]})
    (result,) = keep_valid(0.0)(iter([frame]))
    assert list(result["ride"]) == [1]


@pytest.mark.parametrize(
    ("weight", "spent_s", "pause_s"),
    [
        (1.0, 0.0, 0.5),  # 1000 rows of 0.5 ms
        (2.0, 0.1, 0.15),  # 0.25 s on a node twice as strong, less what computing took
        (0.5, 0.0, 1.0),
        (1.0, 0.7, 0.0),  # computing took longer than the emulated time
    ],
)
def test_rows_take_at_least_the_emulated_time(weight, spent_s, pause_s):
    capacity = NodeCapacity(service_s_per_row=0.0005, weight=weight)
    assert capacity.pause_s(1000, spent_s) == pytest.approx(pause_s)


@pytest.mark.parametrize("text", ["heavy", "0", "-1", "nan", "inf"])
def test_an_invalid_weight_is_rejected(text):
    assert node_capacity(0.001, {"GESSCALE_NODE_WEIGHT": "0.4"}).weight == 0.4
    assert node_capacity(0.001, {}).weight == 1.0
    with refused("number-not-positive", InputError, source="GESSCALE_NODE_WEIGHT", got=text):
        node_capacity(0.001, {"GESSCALE_NODE_WEIGHT": text})
