"""What streaming sources of the test bed have in common: they serve numbered rows when they are due, under a cap."""

import logging
import sys
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, PositiveInt, ValidationError, model_validator
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from gesscale.errors import InputError
from gesscale.words import first_fault
from testbed.pipeline.live_replicas import LiveReplicas
from testbed.pipeline.schedule import split_by_speed, split_rows

_ANY_ROWS = 2**31 - 1  # the cap per replica is applied when a batch is planned, not by Spark's fixed limit


class AdmissionOptions(BaseModel):
    """The options by which batches are cut, as Spark hands them over (text) and checked.

    Attributes
    ----------
    cap_rows, cap_rows_per_replica
        The cap on a batch, fixed or in proportion to the live replicas; at most one of them.
    tasks_per_slot
        Tasks of a batch for each live replica, all alike; None: one for each, or by their speeds where these differ.
    replicas_url
        Where the live replicas can be asked for; without it, or without an answer, one is assumed.
    """

    model_config = ConfigDict(frozen=True)

    cap_rows: PositiveInt | None = None
    cap_rows_per_replica: PositiveInt | None = None
    tasks_per_slot: PositiveInt | None = None
    replicas_url: str | None = None

    @model_validator(mode="after")
    def _check_caps(self) -> Self:
        if self.cap_rows is not None and self.cap_rows_per_replica is not None:
            message = "give cap_rows or cap_rows_per_replica, not both"
            raise ValueError(message)
        return self

    @classmethod
    def parse(cls, source: str, options: dict[str, str]) -> Self:
        """Check the options of a ``spark.readStream``.

        Parameters
        ----------
        source
            The format's name.
        options
            As Spark hands them over.

        Raises
        ------
        InputError
            Where one is missing or no value of its kind.
        """
        try:
            return cls.model_validate(options)
        except ValidationError as error:
            message = f"{source}: {first_fault(error)}"
            raise InputError(message) from None

    def cap(self, replicas: int) -> int:
        """Return the cap of a batch that so many replicas will process."""
        if self.cap_rows_per_replica is not None:
            return self.cap_rows_per_replica * replicas
        return self.cap_rows or _ANY_ROWS


@dataclass
class RowRange(InputPartition):  # type: ignore[misc] # pyspark is not followed by mypy
    """The rows [start, end) of one task."""

    start: int
    end: int


class AdmissionReader(DataSourceStreamReader):  # type: ignore[misc] # pyspark is not followed by mypy
    """Plans batches in a Python process on the driver's node; offsets are ``{"rows": k}``.

    Parameters
    ----------
    options
        Of this query.
    """

    def __init__(self, options: AdmissionOptions) -> None:
        self._admission = options
        self._replicas = LiveReplicas(options.replicas_url)
        logging.basicConfig(stream=sys.stderr)

    @abstractmethod
    def offered_rows(self) -> int:
        """Return how many rows are due by now."""

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Return the offset before the first row."""
        return {"rows": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return the fixed cap, or none where it depends on the replicas."""
        return ReadMaxRows(self._admission.cap_rows or _ANY_ROWS)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Return where the next batch ends: all that is due, at most the cap."""
        offered = max(start["rows"], self.offered_rows())
        if isinstance(limit, ReadAllAvailable):
            return {"rows": offered}
        cap = self._admission.cap(self._replicas.count() if self._admission.cap_rows_per_replica else 1)
        return {"rows": min(offered, start["rows"] + min(cap, limit.max_rows))}

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Return what is due by now."""
        return {"rows": self.offered_rows()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[Any]:
        """Split a batch into tasks for the live replicas."""
        replicas, each = self._replicas.count(), self._admission.tasks_per_slot
        first, last = start["rows"], end["rows"]
        if each is None:
            ranges = split_by_speed(first, last, replicas, self._replicas.slowest_share())
        else:
            ranges = split_rows(first, last, replicas * each)
        return [RowRange(low, high) for low, high in ranges]
