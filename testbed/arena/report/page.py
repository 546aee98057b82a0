"""The arena's report: one HTML file that needs nothing else."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from gesscale.common.errors import unwritable
from gesscale.errors import InputError
from gesscale.extras import how_to_install
from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.judging.comparing import choose_baseline
from testbed.arena.judging.statistics import RESAMPLES
from testbed.arena.report import about
from testbed.arena.report.course import LEGEND
from testbed.arena.report.measures import DELAY, DISTANCE, PROVISIONING
from testbed.arena.report.names import short_names, with_short_names
from testbed.arena.report.outcomes import Outcomes
from testbed.arena.report.parts import tradeoffs, workload_part
from testbed.arena.report.svg import POLICY_COLOURS, POLICY_SIGNS
from testbed.arena.report.tables import at_a_glance, lost_runs

if TYPE_CHECKING:
    from jinja2 import Environment


def write_report(
    experiment: Experiment,
    results: Sequence[CaseResult],
    file: Path,
    *,
    baseline: str | None = None,
    pages: Mapping[Case, str] | None = None,
) -> None:
    """Write the report of an experiment.

    Parameters
    ----------
    experiment
        What was run.
    results
        What came of it; may be incomplete. The same results give the same bytes.
    file
        The HTML file; one that exists is replaced.
    baseline
        The policy that the others are compared with. Default: the experiment's first.
    pages
        Where the page of a course is, relative to the file; see `testbed.arena.report.course_pages`.

    Raises
    ------
    InputError
        There are no results, the baseline has none, or the file cannot be written.
    InputError
        Jinja2 or matplotlib is not installed.
    """
    chosen = choose_baseline(results, baseline, experiment)
    called, renamed = with_short_names(experiment, results)
    found = pages or {}
    outcomes = Outcomes(
        experiment=called,
        results=renamed,
        baseline=short_names(experiment.policies).get(chosen, chosen),
        pages={
            shown.case: quote(found[result.case])
            for shown, result in zip(renamed, results, strict=True)
            if result.case in found
        },
    )
    text = render(outcomes, settings=about.as_yaml(experiment))
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise InputError(unwritable(file, error)) from None


def render(outcomes: Outcomes, *, settings: str) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    outcomes
        What came of the experiment.
    settings
        The experiment as a file.

    Raises
    ------
    InputError
        Jinja2 or matplotlib is not installed.
    """
    experiment = outcomes.experiment
    environment = _environment()
    played = {result.case.workload for result in outcomes.results}
    workloads = [(f"w{index}", name) for index, name in enumerate(experiment.workloads) if name in played]
    policies = list(enumerate(experiment.policies))
    script = environment.get_template("page.js.j2").render()
    return environment.get_template("page.html.j2").render(
        title=about.title(experiment),
        experiment=experiment,
        baseline=outcomes.baseline,
        facts=about.facts(outcomes),
        held_equal=about.HELD_EQUAL,
        settings=settings,
        questions=about.questions(experiment),
        glance=at_a_glance(outcomes),
        tradeoffs=tradeoffs(outcomes, workloads),
        signs=[(policy, POLICY_SIGNS[i % len(POLICY_SIGNS)], i % POLICY_COLOURS) for i, policy in policies],
        lost=lost_runs(outcomes),
        parts=[workload_part(outcomes, name, key) for key, name in workloads],
        legend=LEGEND,
        policies=about.policies(experiment),
        definitions=(("Provisioning", PROVISIONING), ("Delay", DELAY), ("Distance", DISTANCE)),
        resamples=RESAMPLES,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _environment() -> "Environment":
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        message = f"report: expected jinja2, it is not installed; {how_to_install('report')}"
        raise InputError(message) from None
    return Environment(
        loader=PackageLoader("testbed.arena.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
