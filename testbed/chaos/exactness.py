"""Whether the rows that a query has committed are in its sink, each once: asked while it runs."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from gesscale.errors import InputError
from testbed.pipeline.sink import SinkCount, committed_files, count_keys


def committed_rows(checkpoint: Path) -> tuple[int, int]:
    """Return the newest committed batch, -1 before the first, and how many rows it and those before it have.

    Raises
    ------
    InputError
        Where the log of offsets is not understood.
    """
    newest = max((int(path.name) for path in (checkpoint / "commits").glob("[0-9]*")), default=-1)
    if newest < 0:
        return newest, 0
    log = checkpoint / "offsets" / str(newest)
    try:
        return newest, int(json.loads(log.read_text().splitlines()[-1])["rows"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        message = f"checkpoint: expected the rows of batch {newest} in {log}, got: {error}; is it of another source?"
        raise InputError(message) from error


@dataclass(slots=True)
class GrowingSink:
    """A file sink that is read again and again; a file is read once.

    Attributes
    ----------
    folder
        Of the sink.
    """

    folder: Path
    _rides: dict[str, NDArray[np.int64]] = field(default_factory=dict, init=False)

    def count(self, rows: int) -> SinkCount:
        """Count the first rows, numbered from 0; later ones belong to a batch that is being committed.

        Raises
        ------
        InputError
            Where the sink is damaged.
        """
        if not (self.folder / "_spark_metadata").is_dir():
            return SinkCount(rows=0, distinct=0, duplicated=0, missing=rows)
        files = committed_files(self.folder)
        for file in files:
            if file.name not in self._rides:
                try:
                    self._rides[file.name] = pq.ParquetFile(file).read(columns=["ride"])["ride"].to_numpy()
                except (OSError, ValueError) as error:
                    message = (
                        f"sink: the committed file {file} cannot be read ({error}); the output is damaged"
                    )
                    raise InputError(message) from error
        rides = np.concatenate([np.empty(0, np.int64), *(self._rides[file.name] for file in files)])
        early = rides[rides < rows]
        return count_keys(early, np.zeros_like(early), rows)
