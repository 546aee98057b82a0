"""Cleaned rides on disk: Parquet in the order of pickups, read by ride number."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from gesscale.errors import InputError

COLUMNS = ("ride", "pickup_time", "pickup_longitude", "pickup_latitude")


@dataclass(frozen=True, slots=True)
class _RowGroup:
    path: Path
    index: int
    first_ride: int
    rides: int


@dataclass(frozen=True, slots=True)
class RideStore:
    """A folder of cleaned rides; any range of them is read without reading the others.

    Attributes
    ----------
    row_groups
        Where they are, in the order of the rides.
    """

    row_groups: tuple[_RowGroup, ...]

    @property
    def rides(self) -> int:
        """Number of rides."""
        return sum(group.rides for group in self.row_groups)

    def pickup_s(self) -> NDArray[np.float64]:
        """Return all pickup times in seconds since the epoch, shape (rides,)."""
        tables = [
            pq.ParquetFile(path).read(columns=["pickup_time"])
            for path in dict.fromkeys(group.path for group in self.row_groups)
        ]
        times = pa.concat_tables(tables)["pickup_time"].cast(pa.timestamp("us"))
        micros: NDArray[np.int64] = times.cast(pa.int64()).to_numpy()
        return micros / 1e6

    def read(self, first_ride: int, end_ride: int) -> pa.Table:
        """Return the rides [first_ride, end_ride) with the columns `COLUMNS`."""
        tables = list(self._pieces(first_ride, end_ride))
        return pa.concat_tables(tables) if tables else _EMPTY

    def _pieces(self, first_ride: int, end_ride: int) -> Iterator[pa.Table]:
        for group in self.row_groups:
            low = max(first_ride, group.first_ride)
            high = min(end_ride, group.first_ride + group.rides)
            if low < high:
                table = pq.ParquetFile(group.path).read_row_group(group.index, columns=list(COLUMNS))
                yield table.slice(low - group.first_ride, high - low)


_EMPTY = pa.table(
    {
        "ride": pa.array([], pa.int64()),
        "pickup_time": pa.array([], pa.timestamp("us")),
        "pickup_longitude": pa.array([], pa.float64()),
        "pickup_latitude": pa.array([], pa.float64()),
    }
)


@lru_cache(maxsize=4)
def open_rides(folder: str) -> RideStore:
    """Open a folder that `testbed.pipeline.clean` wrote.

    Parameters
    ----------
    folder
        Its path.

    Returns
    -------
    RideStore
        Cheap to keep: it holds places, not rides.

    Raises
    ------
    InputError
        Where it is no such folder.
    """
    paths = sorted(Path(folder).glob("*.parquet"))
    if not paths:
        message = f"rides: expected Parquet files in {folder}, found none; make them with the command clean"
        raise InputError(message)
    groups: list[_RowGroup] = []
    first_ride = 0
    for path in paths:
        try:
            metadata = pq.ParquetFile(path).metadata
        except (OSError, pa.ArrowException) as error:
            message = f"rides: {path} is not readable Parquet ({error}); make it again with the command clean"
            raise InputError(message) from error
        if missing := set(COLUMNS) - {metadata.schema.column(i).name for i in range(metadata.num_columns)}:
            message = f"rides: {path} lacks the columns {sorted(missing)}; make it with the command clean"
            raise InputError(message)
        for index in range(metadata.num_row_groups):
            rides = metadata.row_group(index).num_rows
            groups.append(_RowGroup(path, index, first_ride, rides))
            first_ride += rides
    return RideStore(tuple(groups))
