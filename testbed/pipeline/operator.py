"""The operators, valid rides and nearest hot spot, with the emulated capacity of their nodes."""

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gesscale.errors import InputError
from testbed.pipeline.clean import NEW_YORK

WEIGHT_VARIABLE = "GESSCALE_NODE_WEIGHT"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCapacity:
    """Emulated processing time of a node.

    Attributes
    ----------
    service_s_per_row: time for a row on a node of weight 1; 0 does not slow down
    weight: capacity of the node relative to that node
    """

    service_s_per_row: float
    weight: float = 1.0

    def pause_s(self, rows: int, spent_s: float) -> float:
        """Return the pause after which the rows have taken the emulated time; 0 if they took longer.

        Examples
        --------
        >>> NodeCapacity(service_s_per_row=0.002, weight=2.0).pause_s(500, 0.1)
        0.4
        """
        return max(0.0, self.service_s_per_row * rows / self.weight - spent_s)


def node_capacity(service_s_per_row: float, environment: Mapping[str, str] = os.environ) -> NodeCapacity:
    """Return the capacity of this process's node; its weight is an environment variable."""
    given = environment.get(WEIGHT_VARIABLE, "1")
    try:
        weight = float(given)
    except ValueError:
        weight = math.nan
    if not 0 < weight < math.inf:
        raise InputError("number-not-positive", source=WEIGHT_VARIABLE, got=given)
    return NodeCapacity(service_s_per_row=service_s_per_row, weight=weight)


if TYPE_CHECKING:
    import pandas as pd

_FrameFunction = Callable[[Iterator["pd.DataFrame"]], Iterator["pd.DataFrame"]]


class Work(StrEnum):
    """Work of an operator: keep valid rides, or append the nearest hot spot."""

    VALID = "valid"
    NEAREST = "nearest"


#: Name, longitude, latitude in degrees. The paper does not name its three hot spots.
HOT_SPOTS = (
    ("Times Square", -73.9855, 40.7580),
    ("Metropolitan Museum of Art", -73.9632, 40.7794),
    ("Statue of Liberty ferry", -74.0168, 40.7036),
)

#: Input of both operators, and output of the first.
RIDE_SCHEMA = (
    "ride long, copy int, pickup_time timestamp_ntz, pickup_longitude double, pickup_latitude double, due_at_s double"
)
OUTPUT_SCHEMA = f"{RIDE_SCHEMA}, hot_spot string, distance_deg double"


def nearest_hot_spot(
    longitude: NDArray[np.float64], latitude: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the nearest hot spot of each position by Euclidean distance on coordinates, as the paper does.

    Parameters
    ----------
    longitude, latitude
        Degrees, shape (rows,).
    """
    spots = np.array([(lon, lat) for _, lon, lat in HOT_SPOTS])
    distance_deg = np.hypot(longitude[:, None] - spots[:, 0], latitude[:, None] - spots[:, 1])
    nearest = distance_deg.argmin(axis=1)
    return nearest, distance_deg[np.arange(nearest.size), nearest]


def append_nearest(service_s_per_row: float) -> _FrameFunction:
    """Return a function for ``mapInPandas`` that appends name and distance, at the node's emulated capacity."""
    names = np.array([name for name, _, _ in HOT_SPOTS], dtype=object)

    def append(frame: "pd.DataFrame") -> "pd.DataFrame":
        nearest, distance_deg = nearest_hot_spot(
            frame["pickup_longitude"].to_numpy(), frame["pickup_latitude"].to_numpy()
        )
        return frame.assign(hot_spot=names[nearest], distance_deg=distance_deg)

    return _paced(service_s_per_row, append)


def keep_valid(service_s_per_row: float) -> _FrameFunction:
    """Return a function for ``mapInPandas`` that keeps rides from New York, at the node's emulated capacity."""
    west, east, south, north = NEW_YORK

    def keep(frame: "pd.DataFrame") -> "pd.DataFrame":
        longitude, latitude = frame["pickup_longitude"], frame["pickup_latitude"]
        return frame[longitude.between(west, east) & latitude.between(south, north)]

    return _paced(service_s_per_row, keep)


def _paced(service_s_per_row: float, work: Callable[["pd.DataFrame"], "pd.DataFrame"]) -> _FrameFunction:
    """Process each frame, and wait until the emulated time has passed."""

    def do(frames: Iterator["pd.DataFrame"]) -> Iterator["pd.DataFrame"]:
        capacity = node_capacity(service_s_per_row)
        for frame in frames:
            began_s = time.perf_counter()
            result = work(frame)
            time.sleep(capacity.pause_s(len(frame), time.perf_counter() - began_s))
            yield result

    return do
