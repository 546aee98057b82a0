"""Renders the part of a plan for one node as a POSIX shell script, which needs only sh and tc.

Names and addresses of a plan enter a script only through `command_line`, as words of a command, or as a `comment`.
"""

from collections.abc import Sequence
from enum import StrEnum
from importlib.resources import files

from gesscale.common.shell import command_line, comment
from latency_map.emulate.plan import ROOT, AddedDelay, NodePlan, delay_commands, root_command, undo_commands
from latency_map.kinds import member


class ScriptAction(StrEnum):
    """Action of a script."""

    APPLY = "apply"
    UNDO = "undo"


def script_name(action: ScriptAction, node: str) -> str:
    """Return the file name of the script of a node."""
    return f"{member(ScriptAction, action)}-{node}.sh"


def render_script(plan: NodePlan, action: ScriptAction, *, undo_after_s: int | None = None) -> str:
    """Return the script of a node.

    The apply script first removes the delays of an earlier run, so it can be run again. If one of its commands fails,
    it removes the delays that it set. It refuses a device with a root qdisc of another program. Both scripts start only
    after the shell has read them to the end, so a truncated one does nothing.

    Parameters
    ----------
    undo_after_s
        Seconds after which the node removes the delays; None for never. The next apply or undo cancels that.

    Raises
    ------
    InputError
        If a name or an address contains a character that a command-line argument cannot contain.
    """
    if member(ScriptAction, action) is ScriptAction.UNDO:
        return f"{script_header(plan, (_UNDO_TITLE,))}\n{_template('undo')}"
    host = plan.host
    title = (
        f"Delays of node {host.name} ({host.address}, {host.device}) to {len(plan.delays)} others. This node adds one",
        "half of each round trip to its packets, the other node the other half; packets to other addresses are",
        "not delayed. The script can be run again: it replaces the delays that it set. To remove them, run",
        f"{script_name(ScriptAction.UNDO, host.name)}.",
    )
    body = "".join(_delay_lines(plan, delay) for delay in plan.delays)
    apply = _template("apply").format(
        root=command_line(root_command(plan)),
        delays=body,
        deadline=_deadline(plan, undo_after_s) if undo_after_s else "",
        count=len(plan.delays),
        until=f", for {undo_after_s:d} s" if undo_after_s else "",
    )
    return f"{script_header(plan, title)}\n{apply}"


def script_header(plan: NodePlan, title: Sequence[str]) -> str:
    """Return the beginning of a script: a title, and functions that check the owner of the root qdisc."""
    host = plan.host
    common = _template("common").format(
        names=command_line((host.name, host.device, host.address)), undo=command_line(undo_commands(plan)[0]), root=ROOT
    )
    return "".join(f"{line}\n" for line in ("#!/bin/sh", *map(comment, title))) + common


def _delay_lines(plan: NodePlan, delay: AddedDelay) -> str:
    commands = "".join(f"  {command_line(command)}\n" for command in delay_commands(plan, delay))
    share = f"{delay.one_way_us / 1000:g} ms of {delay.rtt_ms:g} ms round trip"
    return f"\n  {comment(f'to {delay.to.name} {delay.to.address}: {share}')}\n{commands}"


def _deadline(plan: NodePlan, undo_after_s: int) -> str:
    return _template("deadline").format(
        seconds=f"{undo_after_s:d}", arguments=command_line((f"{undo_after_s:d}", *undo_commands(plan)[0]))
    )


def _template(name: str) -> str:
    """Return a part of a script; all but ``undo.sh`` are for `str.format`, with braces of the shell written twice."""
    return (files("latency_map.emulate") / f"{name}.sh").read_text("utf-8")


_UNDO_TITLE = "Removes the delays that the apply script of gesscale set on this node, and nothing else."
