"""Schedules by a cron expression in a time zone: no changes, or other limits of replicas."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from gesscale.common.errors import InvalidValueError

#: Longest schedule, s: a week.
MAX_SCHEDULE_S = 604_800.0

_TESTED_FROM_S = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingSchedule:
    """A time of day, week or month in which changes are frozen or the replicas have other limits.

    A start in the hour that summer time skips moves to the end of that hour. A start in the hour that autumn
    repeats has one occurrence, the first, unless the hour is a wildcard: the rules of Debian's cron.

    Raises
    ------
    InvalidValueError
        If the expression is invalid or names no date, the zone is unknown, the duration is not positive
        or over a week, or the schedule changes nothing.
    """

    #: Start, five fields of cron.
    cron: str
    #: Zone of the expression, a name of the IANA database.
    time_zone: str = "UTC"
    #: Seconds.
    duration_s: float
    #: Whether no replica is added or removed.
    freeze: bool = False
    #: Limits of replicas, within those of the operator; None for no other limit (min_replicas, max_replicas).
    min_replicas: int | None = None
    max_replicas: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.duration_s <= MAX_SCHEDULE_S:
            raise InvalidValueError("schedule-duration-invalid", got=self.duration_s)
        low, high = self.min_replicas, self.max_replicas
        limits = [limit for limit in (1, low, high) if limit is not None]
        if (len(limits) > 1) == self.freeze or limits != sorted(limits):
            raise InvalidValueError("schedule-effect-invalid", freeze=self.freeze, min_replicas=low, max_replicas=high)
        try:
            self._next_start_s(_TESTED_FROM_S)
        except (ZoneInfoNotFoundError, ValueError):
            raise InvalidValueError("schedule-zone-unknown", got=self.time_zone) from None
        except CronSimError:
            raise InvalidValueError("schedule-cron-invalid", got=self.cron) from None

    def ends_at_s(self, now_s: float) -> float | None:
        """Return when the period that holds an instant ends, s since the epoch; None if the schedule is inactive."""
        start_s = self._next_start_s(now_s - self.duration_s)
        return start_s + self.duration_s if start_s <= now_s else None

    def _next_start_s(self, after_s: float) -> float:
        return next(CronSim(self.cron, datetime.fromtimestamp(after_s, ZoneInfo(self.time_zone)))).timestamp()


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveSchedules:
    """Effect of the schedules that are active at an instant."""

    #: When the freeze ends, seconds since the epoch; None without one.
    frozen_until_s: float | None
    #: Limits of replicas (min_replicas, max_replicas); the minimum takes precedence if they contradict each other.
    min_replicas: int
    max_replicas: int


def active_schedules(
    schedules: Sequence[ScalingSchedule], now_s: float, *, min_replicas: int, max_replicas: int
) -> ActiveSchedules:
    """Return the effect of schedules at an instant, within these limits of replicas."""
    ends = [(each, end_s) for each in schedules if (end_s := each.ends_at_s(now_s)) is not None]
    least = max([each.min_replicas or 1 for each, _ in ends] + [min_replicas])
    most = min([each.max_replicas or max_replicas for each, _ in ends] + [max_replicas])
    least = min(least, max_replicas)
    return ActiveSchedules(
        frozen_until_s=max((end_s for each, end_s in ends if each.freeze), default=None),
        min_replicas=least,
        max_replicas=max(most, least),
    )
