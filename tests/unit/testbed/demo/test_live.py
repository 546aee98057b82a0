"""What is shown while a run goes on: each operator's own course."""

import io
from dataclasses import replace

from edge import reading
from rich.console import Console

from gesscale.model.decision import Analysis, Decision, Outcome, OutcomeStatus, Plan, Reason, Verdict
from testbed.live.view import LiveView


def decision(operator, *, load, add=()):
    analysis = Analysis(
        operator=operator,
        verdict=Verdict.MORE if add else Verdict.SAME,
        reason=Reason.OVERLOADED if add else Reason.WITHIN_TARGET,
        reading=replace(reading(("hub",), name=operator), input_rows_per_s=load),
    )
    plan = Plan(
        operator=operator,
        reason=analysis.reason,
        before=("hub",),
        placement=("hub", *add),
    )
    outcome = Outcome(status=OutcomeStatus.APPLIED if add else OutcomeStatus.NOTHING_TO_DO, added=add)
    return Decision(
        at_s=1000.0, operator=operator, policy="gesscale", analysis=analysis, plan=plan, outcome=outcome
    )


def shown(*decisions, terminal):
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=120, height=60)
    view = LiveView(console, 240.0, 4.0)
    with view.showing():
        for number, each in enumerate(decisions):
            view.show(each, 10.0 * number)
    return file.getvalue()


def test_elsewhere_each_decision_is_a_line():
    lines = shown(
        decision("clean", load=250.0), decision("nearest", load=240.0, add=("near",)), terminal=False
    ).splitlines()
    assert [line.split()[3] for line in lines] == ["clean", "nearest"]
    assert "load   250 rows/s" in lines[0]
    assert "+near" in lines[1]


def test_a_terminal_shows_the_newest_of_every_operator():
    text = shown(
        decision("clean", load=250.0),
        decision("nearest", load=240.0, add=("near",)),
        decision("clean", load=255.0),
        terminal=True,
    )
    last = text[text.rindex("the day at") :]
    assert "255 rows/s" in last
    assert "240 rows/s" in last
    assert "▲ " in last
