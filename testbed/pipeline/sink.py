"""Verifies a sink: whether it has every row exactly once."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from gesscale.errors import InputError
from testbed.pipeline.schedule import MAX_COPIES

_LOG = "_spark_metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkCount:
    """Rows of a sink compared with those that were produced."""

    #: Rows in the sink.
    rows: int
    #: Distinct rows (ride and copy).
    distinct: int
    #: Duplicates: ``rows - distinct``.
    duplicated: int
    #: Missing rows; negative if there are more distinct rows than expected.
    missing: int

    @property
    def exactly_once(self) -> bool:
        """Whether the sink has every expected row exactly once."""
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
    return SinkCount(rows=rows, distinct=distinct, duplicated=rows - distinct, missing=expected_rows - distinct)


@dataclass(slots=True)
class FileSink:
    """A folder of Spark's file sink that can be read repeatedly; each file is read once.

    Attributes
    ----------
    folder: folder of the sink, empty before the first batch
    columns: columns to read
    """

    folder: Path
    columns: tuple[str, ...]
    _tables: dict[str, pa.Table] = field(default_factory=dict, init=False)

    def read(self) -> list[pa.Table]:
        """Return the tables in the committed files, without orphans of failed attempts.

        Raises
        ------
        InputError
            If the log is invalid, or a committed file is missing or damaged.
        """
        if not (self.folder / _LOG).is_dir():
            return []
        files = committed_files(self.folder)
        for file in files:
            if file.name not in self._tables:
                try:
                    self._tables[file.name] = pq.ParquetFile(file).read(columns=list(self.columns))
                except (OSError, ValueError) as error:
                    raise InputError("sink-file-unreadable", source=str(file), cause=str(error)) from error
        return [self._tables[file.name] for file in files]


def verify_sink(output_dir: Path, expected_rows: int) -> SinkCount:
    """Compare the committed rows of a file sink with those that were produced.

    Raises
    ------
    InputError
        If the folder is not a file sink, its log is invalid, or a committed file is missing.
    """
    committed_files(output_dir)
    tables = FileSink(output_dir, ("ride", "copy")).read()
    rides, copies = (
        np.concatenate([np.empty(0, np.int64), *(table[name].to_numpy() for table in tables)])
        for name in ("ride", "copy")
    )
    return count_keys(rides, copies, expected_rows)


def committed_files(output_dir: Path) -> list[Path]:
    """Return the sorted files in the log of a file sink (``_spark_metadata``).

    Raises
    ------
    InputError
        If there is no log, or an entry is invalid.
    """
    log = output_dir / _LOG
    if not log.is_dir():
        raise InputError("sink-log-missing", folder=str(output_dir))
    batches = {
        int(match["batch"]): path
        for path in sorted(log.iterdir())  # N sorts before N.compact, which replaces it
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
        raise InputError("sink-version-unknown", source=str(path), got=version)
    for line in lines:
        try:
            entry = json.loads(line)
            yield entry["action"] == "add", unquote(Path(urlsplit(entry["path"]).path).name)
        except (ValueError, LookupError, TypeError) as error:
            raise InputError("sink-entry-invalid", source=str(path), got=line, cause=str(error)) from error
