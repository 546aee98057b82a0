"""Generates rides: real half-hourly demand of New York, with positions drawn around real pickup zones.

No ride is a record of a real trip; see ``data/README.md``.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, Field

from gesscale.csv_table import read_csv
from gesscale.errors import InputError

#: Columns of the TLC trip files of 2013.
HEADER = (
    "medallion", "hack_license", "vendor_id", "rate_code", "store_and_fwd_flag", "pickup_datetime",
    "dropoff_datetime", "passenger_count", "trip_time_in_secs", "trip_distance", "pickup_longitude",
    "pickup_latitude", "dropoff_longitude", "dropoff_latitude",
)  # fmt: skip

HALF_HOUR_S = 1800
_TIME = "%Y-%m-%d %H:%M:%S"
_SPREAD_DEG = 0.004  # about 400 m, the size of a zone
_TAXIS = 13_000  # medallions in New York in 2013, about


@dataclass(frozen=True, slots=True)
class Demand:
    """Passengers per half hour, starting at ``begins``."""

    begins: datetime
    passengers: tuple[int, ...]


class _DemandRow(BaseModel):
    """A row of a demand file; the descriptions are for error messages."""

    timestamp: Annotated[
        datetime,
        BeforeValidator(datetime.fromisoformat),
        Field(description="when the half hour begins, such as 2015-01-06 04:00:00"),
    ]
    passengers: int = Field(ge=0, description="a whole number of passengers from 0")


@dataclass(frozen=True, slots=True)
class PickupZone:
    """A zone: approximate centre in degrees, and its share of the pickups as a weight."""

    name: str
    longitude: float
    latitude: float
    weight: float


#: Kinds of invalid records that are added for the cleaning.
FAULTS = ("duplicates", "missing_time", "bad_coordinates", "dropoff_before_pickup", "no_passengers")


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedRides:
    """Number of valid rides, and of invalid records of each kind of `FAULTS`."""

    valid: int
    of_each_fault: int


def bundled_demand() -> Demand:
    """Return the bundled day: 2015-01-06 04:00 to 04:00, rising and falling by 13x."""
    return _demand([_DemandRow.model_validate(row) for row in _bundled("demand_2015-01-06.csv")])


def read_demand(path: Path) -> Demand:
    """Read a demand file, as `write_demand` writes it.

    Raises
    ------
    InputError
        If it cannot be read, lacks a column or rows, or a cell is not a time or a whole number from 0.
    """
    rows = [row.read_as(_DemandRow) for row in read_csv(path, tuple(_DemandRow.model_fields)).rows]
    if not rows:
        raise InputError("demand-empty", source=str(path))
    return _demand(rows)


def write_demand(demand: Demand, path: Path) -> None:
    """Write a demand as a CSV file with one row per half hour."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("timestamp", "passengers"))
        for half, passengers in enumerate(demand.passengers):
            writer.writerow((demand.begins + timedelta(seconds=half * HALF_HOUR_S), passengers))


def bundled_zones() -> tuple[PickupZone, ...]:
    """Return the 36 bundled pickup zones."""
    return tuple(
        PickupZone(row["zone"], float(row["longitude"]), float(row["latitude"]), float(row["trips"]))
        for row in _bundled("pickup_zones.csv")
    )


def generate_rides(
    path: Path,
    *,
    demand: Demand,
    zones: tuple[PickupZone, ...],
    rides_per_passenger: float,
    rng: np.random.Generator,
    fault_share: float = 0.004,
) -> GeneratedRides:
    """Write rides in the layout of the TLC files of 2013, unsorted and with invalid records.

    Raises
    ------
    InputError
        If the share is not positive, or no ride results.
    """
    if not (np.isfinite(rides_per_passenger) and rides_per_passenger > 0):
        raise InputError("number-not-positive", place="rides_per_passenger", got=rides_per_passenger)
    rides = rng.poisson(np.array(demand.passengers) * rides_per_passenger)
    offsets_s = np.concatenate(
        [half * HALF_HOUR_S + np.sort(rng.integers(0, HALF_HOUR_S, count)) for half, count in enumerate(rides)]
    )
    if offsets_s.size == 0:
        raise InputError("rides-none-generated", rides_per_passenger=rides_per_passenger)
    valid = [_line(ride, demand.begins, int(s), zones, rng) for ride, s in enumerate(offsets_s)]
    faulty_each = round(fault_share * len(valid))
    faults = list(_faults(valid, faulty_each, rng))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        writer.writerows(valid)
        writer.writerows(faults)
    return GeneratedRides(valid=len(valid), of_each_fault=faulty_each)


def _line(
    ride: int, begins: datetime, offset_s: int, zones: tuple[PickupZone, ...], rng: np.random.Generator
) -> list[str]:
    pickup = begins + timedelta(seconds=offset_s)
    seconds = int(rng.integers(180, 2400))
    (lon, lat), (to_lon, to_lat) = _position(zones, rng), _position(zones, rng)
    miles = 69 * float(np.hypot(0.76 * (to_lon - lon), to_lat - lat)) * 1.3  # a degree is 69 miles; streets bend
    taxi = ride % _TAXIS  # a taxi's rides are thousands of rides apart: no two share taxi and second
    return [
        f"{taxi:032X}", f"{taxi + _TAXIS:032X}", "VTS", "1", "",
        pickup.strftime(_TIME), (pickup + timedelta(seconds=seconds)).strftime(_TIME),
        str(1 + int(rng.poisson(0.6))), str(seconds), f"{miles:.2f}",
        f"{lon:.6f}", f"{lat:.6f}", f"{to_lon:.6f}", f"{to_lat:.6f}",
    ]  # fmt: skip


def _position(zones: tuple[PickupZone, ...], rng: np.random.Generator) -> tuple[float, float]:
    edges = np.cumsum([zone.weight for zone in zones])
    zone = zones[int(np.searchsorted(edges, rng.random() * edges[-1], side="right"))]
    east, north = np.clip(rng.normal(0.0, _SPREAD_DEG, 2), -3 * _SPREAD_DEG, 3 * _SPREAD_DEG)
    return zone.longitude + float(east), zone.latitude + float(north)


def _faults(valid: list[list[str]], each: int, rng: np.random.Generator) -> Iterator[list[str]]:
    pickup, dropoff, passengers, longitude, latitude = 5, 6, 7, 10, 11
    changes: tuple[dict[int, str], ...] = (
        {},
        {pickup: "not a time"},
        {longitude: "0", latitude: "0"},
        {dropoff: "2001-01-01 00:00:00"},
        {passengers: "0"},
    )
    for change in changes:
        chosen: NDArray[np.int64] = rng.choice(len(valid), each, replace=False)
        for index in chosen:
            line = list(valid[index])
            for column, text in change.items():
                line[column] = text
            yield line


def _demand(rows: Sequence[_DemandRow]) -> Demand:
    return Demand(rows[0].timestamp, tuple(row.passengers for row in rows))


def _bundled(name: str) -> list[dict[str, str]]:
    with (files("testbed.pipeline") / "data" / name).open() as file:
        return list(csv.DictReader(file))
