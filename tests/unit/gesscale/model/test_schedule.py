"""Schedules: active or not, across changes to and from summer time, and what is refused."""

from datetime import datetime

import pytest
from refusals import refused

from gesscale.common.errors import InvalidValueError
from gesscale.model.schedule import ScalingSchedule, active_schedules


def at(text):
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("cron", "zone", "now", "ends"),
    [
        ("0 6 * * *", "UTC", "2026-11-28T05:59:59Z", None),
        ("0 6 * * *", "UTC", "2026-11-28T06:00:00Z", "2026-11-28T08:00:00Z"),
        ("0 6 * * *", "UTC", "2026-11-28T07:59:59Z", "2026-11-28T08:00:00Z"),
        ("0 6 * * *", "UTC", "2026-11-28T08:00:00Z", None),
        ("0 6 * * mon-fri", "UTC", "2026-11-28T07:00:00Z", None),  # a Saturday
        ("0 23 * * *", "UTC", "2026-11-28T00:30:00Z", "2026-11-28T01:00:00Z"),  # of the evening before
        # 6 in Berlin is 4 UTC in summer and 5 UTC in winter
        ("0 6 * * *", "Europe/Berlin", "2026-10-24T04:30:00Z", "2026-10-24T06:00:00Z"),
        ("0 6 * * *", "Europe/Berlin", "2026-10-26T04:30:00Z", None),
        ("0 6 * * *", "Europe/Berlin", "2026-10-26T05:30:00Z", "2026-10-26T07:00:00Z"),
        # 02:30 does not exist on 29 March 2026: it starts when the clock shows 03:00, at 01:00 UTC
        ("30 2 * * *", "Europe/Berlin", "2026-03-29T00:59:00Z", None),
        ("30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T03:00:00Z"),
        # 02:30 comes twice on 25 October 2026, at 00:30 and 01:30 UTC: two hours from the first
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T02:30:00Z"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T02:31:00Z", None),
    ],
)
def test_a_schedule_of_two_hours_is_open_by_the_clock_of_its_zone(cron, zone, now, ends):
    schedule = ScalingSchedule(cron=cron, time_zone=zone, duration_s=7200, freeze=True)
    assert schedule.ends_at_s(at(now)) == (None if ends is None else at(ends))


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"cron": "0 6 * *"}, "schedule-cron-invalid"),
        ({"cron": "61 6 * * *"}, "schedule-cron-invalid"),
        ({"cron": "0 0 30 2 *"}, "schedule-cron-invalid"),
        ({"cron": "0 0 29 2 mon#9"}, "schedule-cron-invalid"),
        ({"time_zone": "Europe/Atlantis"}, "schedule-zone-unknown"),
        ({"time_zone": "../etc/passwd"}, "schedule-zone-unknown"),
        ({"duration_s": 0}, "schedule-duration-invalid"),
        ({"duration_s": 604_801}, "schedule-duration-invalid"),
        ({"duration_s": float("nan")}, "schedule-duration-invalid"),
        ({"freeze": False}, "schedule-effect-invalid"),
        ({"min_replicas": 2}, "schedule-effect-invalid"),
        ({"freeze": False, "min_replicas": 0}, "schedule-effect-invalid"),
        ({"freeze": False, "min_replicas": 3, "max_replicas": 2}, "schedule-effect-invalid"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(changed, code):
    with refused(code, InvalidValueError):
        ScalingSchedule(**({"cron": "0 6 * * *", "duration_s": 60, "freeze": True} | changed))


def test_active_schedules_limit_each_other_and_the_minimum_takes_precedence():
    def limits(*schedules, now="2026-11-28T06:10:00Z"):
        made = [ScalingSchedule(cron="0 6 * * *", duration_s=3600, **each) for each in schedules]
        active = active_schedules(made, at(now), min_replicas=2, max_replicas=6)
        return active.min_replicas, active.max_replicas

    assert limits() == (2, 6)
    assert limits({"min_replicas": 4}) == (4, 6)
    assert limits({"min_replicas": 9}) == (6, 6)  # never above the operator's
    assert limits({"max_replicas": 1}) == (2, 2)  # never below the operator's
    assert limits({"min_replicas": 4}, {"max_replicas": 3}) == (4, 4)
    assert limits({"min_replicas": 4}, now="2026-11-28T07:10:00Z") == (2, 6)


def test_a_freeze_ends_with_the_last_open_schedule():
    schedules = [
        ScalingSchedule(cron="0 6 * * *", duration_s=3600, freeze=True),
        ScalingSchedule(cron="30 6 * * *", duration_s=3600, freeze=True),
    ]
    active = active_schedules(schedules, at("2026-11-28T06:40:00Z"), min_replicas=1, max_replicas=2)
    assert active.frozen_until_s == at("2026-11-28T07:30:00Z")
