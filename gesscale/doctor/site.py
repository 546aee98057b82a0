"""Checks of a settings file: its files and names, and whether the drivers respond, with correct clocks."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gesscale.assembly import check_environment, host_names, open_cluster, open_metrics
from gesscale.common.errors import Problem
from gesscale.doctor.check import Check, failed
from gesscale.errors import GesscaleError
from gesscale.monitor.latencies import CachedLatencies
from gesscale.settings import Settings, load_settings
from gesscale.settings.lint import lint_settings


def check_site(file: Path, clock_s: Callable[[], float]) -> Iterator[Check]:
    """Check a settings file and what it names."""
    try:
        settings = load_settings(file)
        latencies = check_environment(settings)
        current = latencies.current(clock_s())
        warnings = list(lint_settings(settings, () if current.map is None else current.map.names))
        yield from (failed("settings", problem, is_warning=True) for problem in warnings)
        yield Check("settings", str(file))
        status = current.map_status
        if cause := "; ".join(filter(None, (status.stale, status.problem))):
            problem = Problem("latency-map-doubtful", {"cause": cause})
            yield failed("latency map", problem, is_warning=current.map is not None)
        else:
            yield Check("latency map", f"{len(current.map.names)} nodes" if current.map else "no map yet")
        yield from _check_operators(settings, latencies, clock_s)
    except GesscaleError as error:
        yield from (failed("settings", problem) for problem in error.problems)


def _check_operators(settings: Settings, latencies: CachedLatencies, clock_s: Callable[[], float]) -> Iterator[Check]:
    with _collected_warnings() as warnings:
        source = open_metrics(settings, host_names(settings, open_cluster(settings, latencies)))
        observation = source.observe(clock_s())
    for name in settings.workflow.operators:
        if (missing := observation.missing_readings.get(name)) is not None:
            yield failed(f"operator {name}", missing.problem)
        elif (reading := observation.readings.get(name)) is not None:
            rate = f"{reading.throughput_rows_per_s or 0.0:.0f} rows/s on {', '.join(reading.placement)}"
            yield Check(f"operator {name}", rate)
    for problem in warnings:  # such as driver-clock-off
        yield failed(f"operator {problem.fields.get('operator', '')}".strip(), problem, is_warning=True)


@contextmanager
def _collected_warnings() -> Iterator[list[Problem]]:
    """Collect the problems that are logged while the context lasts, instead of printing them."""
    found: list[Problem] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if (problem := getattr(record, "problem", None)) is not None:
                found.append(problem)

    logger, handler = logging.getLogger("gesscale"), Collector(logging.WARNING)
    propagated, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield found
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagated
