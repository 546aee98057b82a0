"""Base of the test bed's streaming sources: numbered rows with due times, a cap on batches, and the live replicas."""

import logging
import sys
import time
from abc import abstractmethod
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, PositiveInt, ValidationError, model_validator
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from gesscale.common.errors import InvalidValueError
from gesscale.common.http_client import UNRESTRICTED_CLIENT, FetchError
from gesscale.common.logs import log_problem
from gesscale.errors import InputError
from gesscale.validation import first_problem
from testbed.pipeline.schedule import split_by_speed

_LOG = logging.getLogger(__name__)
_MAX_AGE_S = 0.2
_TIMEOUT_S = 1.0
_MAX_BYTES = 1_000_000
#: The speed of a replica is the best of its last batches, once there are enough: a cold executor is not a slow node.
_MAX_BATCHES, _MIN_BATCHES = 4, 3


class _Replicas(BaseModel):
    replicas: int
    hosts: tuple[str, ...] | None = None


class _Work(BaseModel):
    rows: float
    busy_s: float


class _Batch(BaseModel):
    batch_id: int
    by_host: dict[str, _Work] | None = None


class _Batches(BaseModel):
    batches: tuple[_Batch, ...]


_Response = TypeVar("_Response", bound=BaseModel)


def _fetch(model: type[_Response], url: str) -> _Response:
    return model.model_validate_json(UNRESTRICTED_CLIENT.fetch(url, timeout_s=_TIMEOUT_S, max_bytes=_MAX_BYTES))


class LiveReplicas:
    """Reads the live replicas from an endpoint's ``/replicas`` and ``/batches``.

    If it does not respond, one replica is assumed, and a warning is logged once.

    Parameters
    ----------
    url
        Such as ``http://127.0.0.1:9108/replicas``; None to always assume one.
    """

    def __init__(self, url: str | None) -> None:
        self._url = url
        self._count = 1
        self._hosts: tuple[str, ...] = ()
        self._read_at_s = -1.0
        self._has_warned = False
        self._newest_batch = -1
        self._rows_per_s: defaultdict[str, deque[float]] = defaultdict(partial(deque, maxlen=_MAX_BATCHES))

    def count(self) -> int:
        """Return the number of live replicas, at least 1, read at most 0.2 s ago."""
        if self._url is None:
            return 1
        if not 0 <= time.monotonic() - self._read_at_s <= _MAX_AGE_S:
            self._count, self._hosts = self._read(self._url)
            self._read_at_s = time.monotonic()
        return self._count

    def slowest_share(self) -> float:
        """Return the share of the slowest live replica in the total speed, by the last batches."""
        count = self.count()
        if self._url is not None and count > 1:
            self._read_speeds(self._url)
        known = {host: max(last) for host, last in self._rows_per_s.items() if len(last) >= _MIN_BATCHES}
        return slowest_share(known, self._hosts) if self._hosts else 1 / count

    def _read(self, url: str) -> tuple[int, tuple[str, ...]]:
        try:
            response = _fetch(_Replicas, url)
        except (FetchError, ValidationError) as error:
            if not self._has_warned:
                self._has_warned = True
                log_problem(_LOG, logging.WARNING, "live-replicas-unknown", url=url, cause=_cause(error))
            return 1, ()
        return max(1, response.replicas), response.hosts or ()

    def _read_speeds(self, url: str) -> None:
        """Record the speed of each replica in the batches since the last call."""
        batches_url = f"{url.removesuffix('/replicas')}/batches?after={self._newest_batch}"
        try:
            batches = _fetch(_Batches, batches_url).batches
        except (FetchError, ValidationError) as error:
            _LOG.debug("reading speeds failed url=%s cause=%r", batches_url, error)
            return
        for batch in batches:
            for host, work in (batch.by_host or {}).items():
                if work.rows > 0 and work.busy_s > 0:
                    self._rows_per_s[host].append(work.rows / work.busy_s)
            self._newest_batch = max(self._newest_batch, batch.batch_id)


def _cause(error: Exception) -> str:
    return str(first_problem(error)) if isinstance(error, ValidationError) else str(error)


def slowest_share(rows_per_s: Mapping[str, float], hosts: Sequence[str]) -> float:
    """Return the share of the slowest replica in the total speed; unknown speeds are assumed to be the mean.

    Examples
    --------
    >>> slowest_share({"a": 400.0, "b": 100.0}, ["a", "b"])
    0.2
    >>> slowest_share({"a": 400.0, "b": 100.0}, ["a", "c"])
    0.5
    """
    known = [rows_per_s[host] for host in hosts if host in rows_per_s]
    if not known:
        return 1 / len(hosts)
    return min(known) / (sum(known) / len(known) * len(hosts))


_UNLIMITED = 2**31 - 1  # Spark's fixed limit; a cap per replica is applied when a batch is planned


class AdmissionOptions(BaseModel):
    """Options of a source that limit its batches; Spark passes them as text."""

    model_config = ConfigDict(frozen=True)

    #: The cap on a batch, fixed or per live replica; at most one of them (cap_rows, cap_rows_per_replica).
    cap_rows: PositiveInt | None = None
    cap_rows_per_replica: PositiveInt | None = None
    #: Address of the live replicas; without it, or without a response, one is assumed.
    replicas_url: str | None = None

    @model_validator(mode="after")
    def _check_caps(self) -> Self:
        if self.cap_rows is not None and self.cap_rows_per_replica is not None:
            raise InvalidValueError("batch-caps-conflict")
        return self

    @classmethod
    def parse(cls, source: str, options: Mapping[str, object]) -> Self:
        """Check the options of a ``spark.readStream``.

        Parameters
        ----------
        options
            As Spark passes them; None means not given.

        Raises
        ------
        InputError
            If one is missing or invalid.
        """
        try:
            return cls.model_validate({name: value for name, value in options.items() if value is not None})
        except ValidationError as error:
            problem = first_problem(error, source=source)
            raise InputError(problem.code, **problem.fields) from None

    def cap(self, replicas: int) -> int:
        """Return the cap of a batch for a number of replicas."""
        if self.cap_rows_per_replica is not None:
            return self.cap_rows_per_replica * replicas
        return self.cap_rows or _UNLIMITED


@dataclass
class RowRange(InputPartition):  # type: ignore[misc] # pyspark is not followed by mypy
    """The rows [start, end) of one task."""

    start: int
    end: int


class AdmissionReader(DataSourceStreamReader):  # type: ignore[misc] # pyspark is not followed by mypy
    """Plans batches in a Python process on the driver's node; offsets are ``{"rows": k}``."""

    def __init__(self, options: AdmissionOptions) -> None:
        self._admission = options
        self._replicas = LiveReplicas(options.replicas_url)
        logging.basicConfig(stream=sys.stderr)

    @abstractmethod
    def offered_rows(self) -> int:
        """Return the number of rows that are due now."""

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Return the offset before the first row."""
        return {"rows": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return the fixed cap, or no limit if the cap depends on the replicas."""
        return ReadMaxRows(self._admission.cap_rows or _UNLIMITED)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Return the end of the next batch: all rows that are due, up to the cap."""
        offered = max(start["rows"], self.offered_rows())
        if isinstance(limit, ReadAllAvailable):
            return {"rows": offered}
        cap = self._admission.cap(self._replicas.count() if self._admission.cap_rows_per_replica else 1)
        return {"rows": min(offered, start["rows"] + min(cap, limit.max_rows))}

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Return the offset of the rows that are due now."""
        return {"rows": self.offered_rows()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[Any]:
        """Split a batch into tasks for the live replicas."""
        replicas, first, last = self._replicas.count(), start["rows"], end["rows"]
        ranges = split_by_speed(first, last, replicas, self._replicas.slowest_share())
        return [RowRange(low, high) for low, high in ranges]
