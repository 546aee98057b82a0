"""Places on the globe: read, made up, and how far apart they are."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gesscale.common.errors import cause_of
from latency_map.delays import Delays
from latency_map.errors import LatencyMapError

EARTH_RADIUS_KM = 6371.0
"""Of the sphere of the same volume; great circles are then within 0.6 % of the ellipsoid's."""

_COLUMNS = ("name", "latitude", "longitude")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A node's name and where it is, in degrees; north and east count up."""

    name: str
    latitude_deg: float
    longitude_deg: float

    def __post_init__(self) -> None:
        if not (-90 <= self.latitude_deg <= 90 and -180 <= self.longitude_deg <= 180):
            message = (
                f"place {self.name!r}: expected a latitude of -90 to 90 and a longitude of -180 to 180 degrees,"
                f" got {self.latitude_deg:g} and {self.longitude_deg:g}"
            )
            raise LatencyMapError(message)


def parse_places(text: str, source: str = "text") -> tuple[Place, ...]:
    """Read places from CSV.

    Parameters
    ----------
    text
        A heading with ``name``, ``latitude`` and ``longitude`` in any order, other columns are ignored; one
        place a row.
    source
        Names the text in messages.

    Returns
    -------
    tuple of Place
        In the order of the rows.

    Raises
    ------
    LatencyMapError
        It is no such table; the message names source and line.
    """
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), skipinitialspace=True)
    try:
        missing = [column for column in _COLUMNS if column not in (reader.fieldnames or ())]
        if missing:
            message = f"{source}, line 1: expected a heading with {', '.join(_COLUMNS)}, got no {missing[0]}"
            raise LatencyMapError(message)
        return tuple(_place(row, f"{source}, line {reader.line_num}") for row in reader)
    except csv.Error as error:
        message = f"{source}, line {reader.line_num}: expected CSV, got: {error}"
        raise LatencyMapError(message) from None


def read_places(path: Path | str) -> tuple[Place, ...]:
    """Do as `parse_places` with a file.

    Raises
    ------
    LatencyMapError
        As `parse_places`; or the file cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        message = f"{path}: expected a text file in UTF-8 that can be read, got: {cause_of(error)}"
        raise LatencyMapError(message) from None
    return parse_places(text, str(path))


def random_places(
    rng: np.random.Generator, names: Sequence[str], box_deg: tuple[float, float, float, float]
) -> tuple[Place, ...]:
    """Throw places evenly over a box.

    Parameters
    ----------
    rng
        Randomness.
    names
        Of the nodes.
    box_deg
        South, west, north, east, in degrees.

    Returns
    -------
    tuple of Place
        One for each name; even by area, so rarer towards the poles.

    Raises
    ------
    LatencyMapError
        The box is empty or not on the globe.
    """
    south, west, north, east = box_deg
    if not (-90 <= south < north <= 90 and -180 <= west < east <= 180):
        message = (
            "box: expected south,west,north,east in degrees, south below north and west below east,"
            f" got {','.join(f'{edge:g}' for edge in box_deg)}"
        )
        raise LatencyMapError(message)
    sines = rng.uniform(math.sin(math.radians(south)), math.sin(math.radians(north)), len(names))
    longitudes = rng.uniform(west, east, len(names))
    return tuple(
        Place(
            name=name,
            latitude_deg=min(max(math.degrees(math.asin(sine)), south), north),
            longitude_deg=float(longitude),
        )
        for name, sine, longitude in zip(names, sines, longitudes, strict=True)
    )


def great_circle_km(places: Sequence[Place]) -> Delays:
    """Return how far apart places are.

    Parameters
    ----------
    places
        The n places.

    Returns
    -------
    numpy.ndarray
        Shape ``(n, n)``, km along the surface (haversine formula), symmetric.
    """
    latitude = np.radians([place.latitude_deg for place in places])
    longitude = np.radians([place.longitude_deg for place in places])
    cosines = np.cos(latitude)
    half_chord_squared = (
        np.sin((latitude[:, None] - latitude) / 2) ** 2
        + cosines[:, None] * cosines * np.sin((longitude[:, None] - longitude) / 2) ** 2
    )
    km: Delays = 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.minimum(half_chord_squared, 1.0)))
    return km


def _place(row: dict[str, str | None], where: str) -> Place:
    try:
        latitude, longitude = (float(row[column] or "") for column in _COLUMNS[1:])
    except ValueError:
        message = (
            f"{where}: expected latitude and longitude in degrees,"
            f" got {row['latitude']!r} and {row['longitude']!r}"
        )
        raise LatencyMapError(message) from None
    try:
        return Place(name=(row["name"] or "").strip(), latitude_deg=latitude, longitude_deg=longitude)
    except LatencyMapError as error:
        message = f"{where}: {error}"
        raise LatencyMapError(message) from None
