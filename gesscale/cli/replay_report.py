"""Implementation of ``gesscale replay``: decisions of a policy in a recorded run, as tables and documents."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from gesscale.assembly import open_latencies, recall_knowledge
from gesscale.cli.output import stderr_console, table, warn_of_omitted_lines
from gesscale.common import API_VERSION
from gesscale.errors import InputError, SettingsError
from gesscale.model.decision import Change
from gesscale.model.document import decision_document
from gesscale.model.model_text import model_lines
from gesscale.monitor.record_files import SETTINGS, Recording, read_recording, settings_file
from gesscale.monitor.replay import RecordedWorld
from gesscale.policies.guarded import GuardedPolicy
from gesscale.replay import Agreement, ReplayedDecision, replay_policy
from gesscale.settings import Settings, load_settings
from gesscale.settings.loading import policy_override
from latency_map import LatencyMap

NOTE = (
    "Batches and placements follow that policy: each decision responds to the recorded situation; its consequences are "
    "not simulated."
)


def replay_record(record: Path, settings: Settings) -> tuple[Recording, Sequence[ReplayedDecision]]:
    """Return the recording, and the decisions of the settings' policy at each instant."""
    monitor = settings.monitor
    recording = read_recording(record, settings.workflow.operators)
    world = RecordedWorld(
        recording=recording,
        delays=_delays(settings),
        window_s=monitor.window_s,
        history_s=monitor.history_s,
        stale_after_s=monitor.stale_after_s,
        as_read=_reads_alike(record, settings),
    )
    instants_s, workflow = recording.instants_s(monitor.period_s), settings.workflow.build()
    replayed = replay_policy(
        GuardedPolicy(settings.analyze.build(workflow)),
        world,
        recall_knowledge(settings, math.nextafter(instants_s[0], -math.inf)),
        workflow,
        instants_s=instants_s,
        rescale_timeout_s=settings.plan.rescale_timeout_s,
        excluded_nodes=frozenset(settings.plan.exclude_nodes),
        node_prices=settings.plan.node_prices,
    )
    return recording, replayed


def settings_of(record: Path, config: Path | None, overrides: Sequence[str]) -> Settings:
    """Return the settings of the record or of another file, with the overrides of the command line."""
    file = config or settings_file(record)
    return load_settings(file, overrides, trusted=config is not None)


def _delays(settings: Settings) -> LatencyMap:
    if settings.latency_map.source == "file" and (delays := open_latencies(settings).current(0.0).map):
        return delays
    raise InputError("replay-needs-map-file", source=settings.latency_map.source)


def _reads_alike(record: Path, used: Settings) -> bool:
    """Return whether the live loop had the same windows, so that its figures hold for these settings."""
    try:
        live = load_settings(record / SETTINGS, [policy_override(used.analyze.policy)], {}, trusted=False).monitor
    except SettingsError:
        return False
    names = ("window_s", "history_s", "stale_after_s")
    return all(getattr(live, name) == getattr(used.monitor, name) for name in names)


def is_notable(each: ReplayedDecision) -> bool:
    """Return whether either decision has a change, or the two disagree."""
    live = each.live is not None and each.live.plan.change is not None
    return live or each.decision.plan.change is not None or each.agrees is False


def tables(
    policy: str, shown: Sequence[ReplayedDecision], replayed: Sequence[ReplayedDecision], found: Agreement
) -> list[Table]:
    """Return the tables of the shown decisions, of the differences, of the models, and of the agreement."""
    title = f"What {policy} would have decided in each recorded situation ({len(shown)} of {len(replayed)} decisions)"
    columns = ["operator", "at, s", "replicas", "live", policy, "MST, rows/s", "agrees"]
    found_tables = [table(title, columns, [_row(each) for each in shown])]
    differing = [each for each in shown if each.agrees is False]
    if differing:
        columns = ["operator", "at, s", "why live", f"why {policy}"]
        found_tables.append(table("Where they differ", columns, [_reasons(each) for each in differing]))
    models = {each.decision.operator: each.decision.analysis.model for each in replayed if each.decision.analysis.model}
    if models:
        lines = [(operator, line) for operator, model in models.items() for line in model_lines(model)]
        found_tables.append(table("Model after the last decision", ("operator", "model"), lines))
    rows = [(words, figure) for words, figure in _figures(found).values()]
    return [*found_tables, table("Agreement", ("which", "decisions"), rows)]


def _row(each: ReplayedDecision) -> tuple[object, ...]:
    decision, live = each.decision, each.live
    plan, verdict = decision.plan, decision.analysis.verdict.value
    undone = "" if live is None or live.acted else live.outcome.status.value
    return (
        decision.operator,
        f"{each.since_start_s:.0f}",
        len(live.plan.before if live else plan.placement) or None,
        _concluded(live.plan.reason.value, live.plan.change, undone) if live else None,
        f"{verdict}: {_concluded(plan.reason.value, plan.change)}",
        plan.mst.mid if plan.mst else None,
        {True: "yes", False: "no", None: None}[each.agrees],
    )


def _reasons(each: ReplayedDecision) -> tuple[object, ...]:
    decision, live = each.decision, each.live
    why = decision.plan.detail or decision.analysis.detail
    return decision.operator, f"{each.since_start_s:.0f}", live.plan.detail if live else None, why


def _concluded(reason: str, change: Change | None, undone: str = "") -> str:
    if change is None:
        return reason
    nodes = [*(f"+{node}" for node in change.add), *(f"-{node}" for node in change.remove)]
    return " ".join([reason, *nodes, *([f"({undone})"] if undone else [])])


def _figures(found: Agreement) -> Mapping[str, tuple[str, int]]:
    return {
        "compared": ("compared with live decisions", found.compared),
        "same_change": ("with the same change", found.same_change),
        "same_reason": ("with the same reason", found.same_reason),
        "live_changes": ("with a change live", found.live_changes),
        "replayed_changes": ("with a change in the replay", found.replayed_changes),
        "new_proposals": ("of these, new in their step", found.new_proposals),
    }


def _first_difference(each: ReplayedDecision | None) -> str | None:
    if each is None or each.live is None:
        return None
    live, plan = each.live.plan, each.decision.plan
    return (
        f"{each.since_start_s:.0f} s, operator {plan.operator}: live {_concluded(live.reason.value, live.change)}, "
        f"here {_concluded(plan.reason.value, plan.change)}"
    )


def print_notes(recording: Recording, found: Agreement, *, everything: bool) -> None:
    """Print notes about the tables on stderr."""
    if (first := _first_difference(found.first_difference)) is not None:
        stderr_console.print(f"first difference after {first}")
    stderr_console.print(f"recorded policy: {_live_policy(recording) or 'none'}. {NOTE}")
    if not everything:
        stderr_console.print("only decisions with a change or a difference are shown; --all shows every decision")
    warn_of_omitted_lines(recording.problems)


def _live_policy(recording: Recording) -> str:
    return ", ".join(sorted({each.decision.policy for each in recording.decisions}))


def document(
    record: Path, policy: str, recording: Recording, replayed: Sequence[ReplayedDecision], found: Agreement
) -> Mapping[str, Any]:
    """Return the document for JSON and YAML."""
    return {
        "apiVersion": API_VERSION,
        "record": str(record),
        "policy": policy,
        "livePolicy": _live_policy(recording) or None,
        "note": NOTE,
        "summary": {
            **{name: figure for name, (_, figure) in _figures(found).items()},
            "first_difference": _first_difference(found.first_difference),
        },
        "problems": [each.as_json() for each in recording.problems],
        "steps": [
            {
                "at_s": each.decision.at_s,
                "since_start_s": each.since_start_s,
                "operator": each.decision.operator,
                "agrees": each.agrees,
                "same_reason": each.same_reason,
                "live": each.live_document,
                "decision": decision_document(each.decision),
            }
            for each in replayed
        ],
    }
