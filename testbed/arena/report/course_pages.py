"""The pages of single courses, next to the report: the run is played again, and shown with all that was decided."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gesscale.errors import InputError
from gesscale.service.recorded import write_page
from testbed.arena.case import Case, CaseResult, case_name
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.names import KNOW_THE_LOAD
from testbed.arena.report.formatting import course_title, short_names
from testbed.arena.runs.course import check_same, write_course

MOST_BYTES = 8 << 20
"""Of one page; that of a day with a step a minute has about 1 MB."""

_LONGEST_NAME = 80


def write_course_pages(
    experiment: Experiment,
    results: Sequence[CaseResult],
    file: Path,
    *,
    most: int,
    baseline: str,
    say: Callable[[str], None],
) -> Mapping[Case, str]:
    """Write the page of some courses, those that the report draws.

    Parameters
    ----------
    experiment, results
        What was run, and what came of it.
    file
        The report. The pages go to a folder next to it, ``NAME-courses``, in place of those of an earlier report.
    most
        How many at most: those of the baseline on every workload first, then those of the other policies.
    baseline
        A policy.
    say
        Told of each page, and of a course that has none, and why.

    Returns
    -------
    mapping of Case to str
        Where each page is, relative to the report.
    """
    folder = file.with_name(f"{file.stem}-courses")
    shutil.rmtree(folder, ignore_errors=True)
    drawn = _drawn(experiment, results, baseline)[:most]
    kept = {result.case: result for result in results}
    pages: dict[Case, str] = {}
    names = {**short_names(experiment.workloads), **short_names(experiment.policies)}
    for number, case in enumerate(drawn, start=1):
        title = course_title(experiment, case)
        say(f"course {number} of {len(drawn)}: {title}")
        name = f"{number:02d}-{case_name((names[case.workload], names[case.policy]))[:_LONGEST_NAME]}.html"
        try:
            size = _write(experiment, kept[case], folder / name, title)
        except InputError as error:
            say(f"note: no page of {title}: {error}")
            continue
        if size > MOST_BYTES:
            (folder / name).unlink()
            say(f"note: no page of {title}: it would have {size} bytes, more than {MOST_BYTES}")
            continue
        pages[case] = f"{folder.name}/{name}"
    return pages


def _drawn(experiment: Experiment, results: Sequence[CaseResult], baseline: str) -> list[Case]:
    """Return the cases of the default variant whose course was kept, the baseline's first."""
    ranks = {policy: rank for rank, policy in enumerate(experiment.policies)}
    kept = [
        result.case
        for result in results
        if result.series and result.case.variant == experiment.variant_names[0]
        if result.case.policy not in KNOW_THE_LOAD
    ]
    return sorted(kept, key=lambda case: (case.policy != baseline, ranks[case.policy]))


def _write(experiment: Experiment, kept: CaseResult, page: Path, title: str) -> int:
    with tempfile.TemporaryDirectory(prefix="gesscale-course-") as record:
        played = write_course(experiment, kept.case, Path(record))
        check_same(kept, played)
        try:
            page.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"{page.parent}: expected a folder that can be written, got: {error.strerror or error}"
            raise InputError(message) from None
        write_page(Path(record), page, title=title)
    return page.stat().st_size
