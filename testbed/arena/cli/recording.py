"""``gesscale arena course``: a run whose results were kept, as a record with a page."""

from pathlib import Path

from gesscale.cli.output import stderr_console
from gesscale.errors import InputError
from gesscale.service.recorded import write_page
from gesscale.words import suggestion
from testbed.arena.case import Case
from testbed.arena.cli.arguments import files_placed
from testbed.arena.report.formatting import course_title, short_names
from testbed.arena.runs.course import check_same, write_course
from testbed.arena.runs.results import read_results

_SHOWN_SEEDS = 12


def record_course(
    *, folder: Path, policy: str, workload: str, seed: int | None, variant: str | None, target: Path
) -> None:
    """Play one run again, and keep every decision and every batch of it: a record to look at and to replay."""
    experiment, results = read_results(folder)
    case = Case(
        policy=_known("--policy", policy, experiment.policies),
        workload=_known("--workload", workload or experiment.workloads[0], experiment.workloads),
        seed=experiment.seed_list[0] if seed is None else seed,
        variant=experiment.variant_names[0] if variant is None else variant,
    )
    if case.variant not in experiment.variant_names:
        known = suggestion(case.variant, [each or "(none)" for each in experiment.variant_names])
        message = f"--variant: expected one of the experiment, got {case.variant!r}; {known}"
        raise InputError(message)
    if case not in experiment.cases():
        seeds = experiment.seed_list
        known = f"{seeds[0]}, ..., {seeds[-1]}" if len(seeds) > _SHOWN_SEEDS else ", ".join(map(str, seeds))
        message = f"--seed: expected one of the experiment, got {case.seed}; known here: {known}"
        raise InputError(message)
    if target.exists() and not target.is_dir():
        message = f"--to: expected a folder, got the file {target}; name another place"
        raise InputError(message)
    result = write_course(experiment, case, target)
    for kept in results:
        if kept.case == case:
            check_same(kept, result)
    write_page(target, target / "page.html", title=course_title(experiment, case))
    if result.lost:
        stderr_console.print(f"the run was lost: {result.lost}")
    stderr_console.print(f"open {target / 'page.html'} in a browser")
    stderr_console.print(f"what another policy would have decided: gesscale replay {target} --policy NAME")


def _known(option: str, asked: str, names: tuple[str, ...]) -> str:
    """Return the name of an experiment that is meant; a file by its name or by its path."""
    called = {short: name for name, short in short_names(names).items()}
    for name in (asked, *files_placed([asked])):
        if name in names:
            return name
    if asked in called:
        return called[asked]
    message = f"{option}: expected one of the experiment, got {asked!r}; {suggestion(asked, called)}"
    raise InputError(message)
