"""What the streaming sources of the test bed share: numbered rows when they are due, under a cap, for live replicas."""

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

from gesscale.common.http_client import UNRESTRICTED_CLIENT, FetchError
from gesscale.errors import InputError
from gesscale.validation import first_problem
from testbed.pipeline.schedule import split_by_speed

_LOG = logging.getLogger(__name__)
_FRESH_S = 0.2
_TIMEOUT_S = 1.0
_MAX_BYTES = 1_000_000
#: The best of a replica's last batches tells its speed, and not the first ones: a cold executor is no slow
#: node.
_REMEMBERED, _ENOUGH = 4, 3


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


_Answer = TypeVar("_Answer", bound=BaseModel)


def _fetch(model: type[_Answer], url: str) -> _Answer:
    return model.model_validate_json(UNRESTRICTED_CLIENT.fetch(url, timeout_s=_TIMEOUT_S, max_bytes=_MAX_BYTES))


class LiveReplicas:
    """Asks an endpoint's ``/replicas`` and ``/batches``.

    One replica is assumed where it does not answer, and a warning is logged once.

    Parameters
    ----------
    url
        Such as ``http://127.0.0.1:9108/replicas``; None always assumes one.
    """

    def __init__(self, url: str | None) -> None:
        self._url = url
        self._count = 1
        self._hosts: tuple[str, ...] = ()
        self._asked_at_s = -1.0
        self._warned = False
        self._newest_batch = -1
        self._rows_per_s: defaultdict[str, deque[float]] = defaultdict(partial(deque, maxlen=_REMEMBERED))

    def count(self) -> int:
        """Return the live replicas, at least 1, asked at most 0.2 s ago."""
        if self._url is None:
            return 1
        if not 0 <= time.monotonic() - self._asked_at_s <= _FRESH_S:
            self._count, self._hosts = self._ask(self._url)
            self._asked_at_s = time.monotonic()
        return self._count

    def slowest_share(self) -> float:
        """Return the share that the slowest live replica has in the speed of all, by the last batches."""
        count = self.count()
        if self._url is not None and count > 1:
            self._learn(self._url)
        known = {host: max(last) for host, last in self._rows_per_s.items() if len(last) >= _ENOUGH}
        return slowest_share(known, self._hosts) if self._hosts else 1 / count

    def _ask(self, url: str) -> tuple[int, tuple[str, ...]]:
        try:
            answer = _fetch(_Replicas, url)
        except (FetchError, ValidationError) as error:
            if not self._warned:
                self._warned = True
                _LOG.warning("replay: %s reports no live replicas (%s); 1 is assumed", url, error)
            return 1, ()
        return max(1, answer.replicas), answer.hosts or ()

    def _learn(self, url: str) -> None:
        """Note what each replica did in the batches that have ended since the last time."""
        batches_url = f"{url.removesuffix('/replicas')}/batches?after={self._newest_batch}"
        try:
            batches = _fetch(_Batches, batches_url).batches
        except (FetchError, ValidationError) as error:
            _LOG.debug("replay: %s tells no speeds: %s", batches_url, error)
            return
        for batch in batches:
            for host, work in (batch.by_host or {}).items():
                if work.rows > 0 and work.busy_s > 0:
                    self._rows_per_s[host].append(work.rows / work.busy_s)
            self._newest_batch = max(self._newest_batch, batch.batch_id)


def slowest_share(rows_per_s: Mapping[str, float], hosts: Sequence[str]) -> float:
    """Return the share that the slowest of some replicas has in the speed of all.

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


_ANY_ROWS = 2**31 - 1  # the cap per replica is applied when a batch is planned, not by Spark's fixed limit


class AdmissionOptions(BaseModel):
    """The options by which batches are cut, as Spark hands them over (text) and checked."""

    model_config = ConfigDict(frozen=True)

    #: The cap on a batch, fixed or in proportion to the live replicas; at most one of them (cap_rows,
    #: cap_rows_per_replica).
    cap_rows: PositiveInt | None = None
    cap_rows_per_replica: PositiveInt | None = None
    #: Where the live replicas can be asked for; without it, or without an answer, one is assumed.
    replicas_url: str | None = None

    @model_validator(mode="after")
    def _check_caps(self) -> Self:
        if self.cap_rows is not None and self.cap_rows_per_replica is not None:
            raise ValueError("give cap_rows or cap_rows_per_replica, not both")
        return self

    @classmethod
    def parse(cls, source: str, options: Mapping[str, object]) -> Self:
        """Check the options of a ``spark.readStream``.

        Parameters
        ----------
        options
            As Spark hands them over; those that are None are left out.

        Raises
        ------
        InputError
            Where one is missing or no value of its kind.
        """
        try:
            return cls.model_validate({name: value for name, value in options.items() if value is not None})
        except ValidationError as error:
            raise InputError(f"{source}: {first_problem(error)}") from None

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
    """Plans batches in a Python process on the driver's node; offsets are ``{"rows": k}``."""

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
        replicas, first, last = self._replicas.count(), start["rows"], end["rows"]
        ranges = split_by_speed(first, last, replicas, self._replicas.slowest_share())
        return [RowRange(low, high) for low, high in ranges]
