"""Count what reached a sink: whether every row is there, and each once."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from gesscale.errors import InputError
from testbed.pipeline.schedule import MAX_COPIES


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkCount:
    """Rows of a sink against those that were produced.

    Attributes
    ----------
    rows
        Rows in it.
    distinct
        Different rows (ride and copy).
    duplicated
        Rows beyond the first of each: ``rows - distinct``.
    missing
        Expected rows that are not there; negative where more different rows are there than were expected.
    """

    rows: int
    distinct: int
    duplicated: int
    missing: int

    @property
    def exactly_once(self) -> bool:
        """Whether every expected row is there, and each once."""
        return self.duplicated == 0 and self.missing == 0


def count_keys(ride: NDArray[np.int64], copy: NDArray[np.int64], expected_rows: int) -> SinkCount:
    """Count rows by ride and copy.

    Examples
    --------
    >>> count_keys(np.array([0, 0, 1]), np.array([0, 0, 0]), 3)
    SinkCount(rows=3, distinct=2, duplicated=1, missing=1)
    """
    distinct = int(np.unique(ride.astype(np.int64) * MAX_COPIES + copy).size)
    rows = int(ride.size)
    return SinkCount(
        rows=rows, distinct=distinct, duplicated=rows - distinct, missing=expected_rows - distinct
    )


def verify_sink(output_dir: Path, expected_rows: int) -> SinkCount:
    """Count the rows that a file sink has committed; orphans of failed attempts are not rows.

    Parameters
    ----------
    output_dir
        The sink's folder.
    expected_rows
        How many rows were produced.

    Returns
    -------
    SinkCount
        Over the files that the sink's log names.

    Raises
    ------
    InputError
        Where it is no file sink's folder, its log is broken, or a committed file is gone.
    """
    rides, copies = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for file in committed_files(output_dir):
        try:
            table = pq.ParquetFile(file).read(columns=["ride", "copy"])
        except (OSError, ValueError) as error:
            message = f"sink: the committed file {file} cannot be read ({error}); the output is damaged"
            raise InputError(message) from error
        rides.append(table["ride"].to_numpy())
        copies.append(table["copy"].to_numpy())
    return count_keys(np.concatenate(rides), np.concatenate(copies), expected_rows)


def committed_files(output_dir: Path) -> list[Path]:
    """Return the files that a file sink's log (``_spark_metadata``) names, sorted.

    Parameters
    ----------
    output_dir
        The sink's folder; it may have been moved since it was written.

    Returns
    -------
    list of Path
        Added and not deleted again; the newest compact file stands for all batches up to it.

    Raises
    ------
    InputError
        Where there is no log, or an entry of it is not understood.
    """
    log = output_dir / "_spark_metadata"
    if not log.is_dir():
        message = f"sink: expected a streaming file sink in {output_dir}, but it has no _spark_metadata"
        raise InputError(message)
    batches = {
        int(match["batch"]): path
        for path in sorted(log.iterdir())  # N sorts before N.compact, which wins
        if (match := re.fullmatch(r"(?P<batch>\d+)(\.compact)?", path.name))
    }
    compacts = [batch for batch, path in batches.items() if path.suffix == ".compact"]
    newest_compact = max(compacts, default=-1)
    live: set[str] = set()
    for batch in sorted(number for number in batches if number >= newest_compact):
        for added, name in _entries(batches[batch]):
            (live.add if added else live.discard)(name)
    return sorted(output_dir / name for name in live)


def _entries(path: Path) -> Iterable[tuple[bool, str]]:
    version, *lines = path.read_text().splitlines()
    if version != "v1":
        message = f"sink: {path} has version {version!r}, expected 'v1'; this Spark writes a newer log"
        raise InputError(message)
    for line in lines:
        try:
            entry = json.loads(line)
            yield entry["action"] == "add", unquote(Path(urlsplit(entry["path"]).path).name)
        except (ValueError, LookupError, TypeError) as error:
            message = f"sink: an entry of {path} is not understood ({error}): {line[:80]!r}"
            raise InputError(message) from error
