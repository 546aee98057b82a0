"""Checks of a settings file: its files and names, and whether the drivers respond, with correct clocks."""

import logging
from collections.abc import Callable, Iterator
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
    logger, warnings = logging.getLogger("gesscale"), _Collector()
    logger.addHandler(warnings)
    source = open_metrics(settings, host_names(settings, open_cluster(settings, latencies)))
    observation = source.observe(clock_s())
    logger.removeHandler(warnings)
    for name in settings.workflow.operators:
        if (missing := observation.missing_readings.get(name)) is not None:
            yield failed(f"operator {name}", missing.problem)
        elif (reading := observation.readings.get(name)) is not None:
            rate = f"{reading.throughput_rows_per_s or 0.0:.0f} rows/s on {', '.join(reading.placement)}"
            yield Check(f"operator {name}", rate)
    for problem in warnings.found:
        yield failed(f"operator {problem.fields.get('operator', '')}".strip(), problem, is_warning=True)


class _Collector(logging.Handler):
    """Collects the problems that are logged, such as driver-clock-off."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[Problem] = []

    def emit(self, record: logging.LogRecord) -> None:
        if (problem := getattr(record, "problem", None)) is not None:
            self.found.append(problem)
