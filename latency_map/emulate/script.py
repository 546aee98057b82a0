"""A node's part of a plan as a POSIX shell script, which needs nothing but sh and tc.

What a plan names enters a script only through `command_line`, as words of a command, or as a `comment`.
"""

from collections.abc import Sequence
from enum import StrEnum

from gesscale.common.shell import command_line, comment
from latency_map.emulate.plan import ROOT, AddedDelay, NodePlan, delay_commands, root_command, undo_commands


class ScriptAction(StrEnum):
    """What a script does."""

    APPLY = "apply"
    UNDO = "undo"


def script_name(action: ScriptAction, node: str) -> str:
    """Return the file name of a node's script."""
    return f"{action.value}-{node}.sh"


def render_script(plan: NodePlan, action: ScriptAction, *, undo_after_s: int | None = None) -> str:
    """Write what a node runs as a shell script.

    The script that applies first removes what an earlier run of it made, so that it may be run again. If one
    of its commands fails, it removes what it made. It refuses a device whose root discipline another program
    set. Either script begins only once it was read to its end, so that one that arrives cut does nothing.

    Parameters
    ----------
    undo_after_s
        When the node takes them away by itself, seconds; None for never. The next apply or undo calls
        that off.

    Raises
    ------
    LatencyMapError
        A name or an address holds a character that no argument of a command can hold.
    """
    if action is ScriptAction.UNDO:
        return begin_script(plan, (_UNDO_TITLE,)) + _UNDO
    host = plan.host
    title = (
        f"Delays of node {host.name} ({host.address}, {host.device}) to {len(plan.delays)} others. Half of a round",
        "trip is added where a packet leaves, the other half by the other node; packets to other addresses",
        "pass as before. It may be run again: it replaces what it made. What takes it away again is",
        f"{script_name(ScriptAction.UNDO, host.name)}.",
    )
    body = "".join(_delay_lines(plan, delay) for delay in plan.delays)
    apply = _APPLY.format(
        root=command_line(root_command(plan)),
        delays=body,
        deadline=_deadline(plan, undo_after_s) if undo_after_s else "",
        count=len(plan.delays),
        until=f", for {undo_after_s:d} s" if undo_after_s else "",
    )
    return begin_script(plan, title) + apply


def explain_delay(delay: AddedDelay) -> str:
    """Say what one class is for, in a few words."""
    return f"to {delay.to.name} {delay.to.address}: {delay.one_way_us / 1000:g} ms of {delay.rtt_ms:g} ms round trip"


def begin_script(plan: NodePlan, title: Sequence[str]) -> str:
    """Return the head of every script: what it is for, and functions that tell whose the root discipline is."""
    host = plan.host
    common = _COMMON.format(
        names=command_line((host.name, host.device, host.address)), undo=command_line(undo_commands(plan)[0]), root=ROOT
    )
    return "".join(f"{line}\n" for line in ("#!/bin/sh", *map(comment, title))) + common


def _delay_lines(plan: NodePlan, delay: AddedDelay) -> str:
    commands = "".join(f"  {command_line(command)}\n" for command in delay_commands(plan, delay))
    return f"\n  {comment(explain_delay(delay))}\n{commands}"


def _deadline(plan: NodePlan, undo_after_s: int) -> str:
    return _DEADLINE.format(
        seconds=f"{undo_after_s:d}", arguments=command_line((f"{undo_after_s:d}", *undo_commands(plan)[0]))
    )


_UNDO_TITLE = "Takes away the delays that gesscale's apply script made on this node, and nothing else."

_COMMON = """\
set -eu
PATH=$PATH:/usr/sbin:/sbin
set -- {names}
node=$1 device=$2 address=$3
timer=/run/gesscale-delays-$node-$device.pid

say() {{ printf '%s\\n' "gesscale: $node: $*" >&2; }}

remove_delays() {{ {undo}; }}

# Whose the root discipline of the device is, by its handle: 0: is the kernel's own, which comes back by
# itself when ours goes; {root} is ours; another program set any other.
owner() {{
  present=$(tc qdisc show dev "$device" root) || {{ echo unknown; return; }}
  case $present in
    "" | "qdisc "*" 0: root"*) echo kernel ;;
    "qdisc htb {root} root"*) echo gesscale ;;
    *) echo other ;;
  esac
}}

call_off_timer() {{
  [ -f "$timer" ] || return 0
  pid=$(cat "$timer")
  if grep -q gesscale-timer "/proc/$pid/cmdline" 2>/dev/null; then kill -TERM "-$pid" || :; fi
  rm -f "$timer" "$timer.log"
}}
"""

_APPLY = """
main() {{
  whose=$(owner)
  if [ "$whose" = unknown ]; then say "cannot tell what is on $device, see above; nothing was changed"; exit 1; fi
  if [ "$whose" = other ]; then
    say "expected no queueing discipline of another program on $device, got: $(tc qdisc show dev "$device" root)"
    say "nothing was changed; remove it first if it may go: tc qdisc del dev $device root"
    exit 1
  fi
  call_off_timer
  if [ "$(owner)" = gesscale ]; then remove_delays; fi  # asked again: the timer may just have done it
  trap 'give_up $?' EXIT
  trap 'exit 1' HUP INT TERM
{deadline}  {root}
{delays}
  trap - EXIT HUP INT TERM
  say "delays to {count} nodes are in place on $device{until}"
}}

give_up() {{
  whose=$(owner)
  if [ "$whose" = gesscale ]; then remove_delays; fi
  call_off_timer
  say "a command failed, see above; no delays are left on $device. If tc does not know a kind of qdisc, the kernel"
  say "lacks sch_netem, sch_htb or cls_u32: install its extra modules (linux-modules-extra, kmod-sched-core, ...)"
  exit "$1"
}}

main
"""

_DEADLINE = """\
  # Undone after {seconds} s, whatever becomes of the connection.
  command -v setsid >/dev/null || {{ say "no setsid here, which ending by itself needs: util-linux"; exit 1; }}
  : >"$timer"
  # It writes its own number, in a session of its own; $() waits until it has, which its closed output tells.
  : "$(setsid sh -c 'timer=$1 seconds=$2; shift 2; echo $$ >"$timer"; exec >&2; sleep "$seconds"
    for try in 1 2 3 4 5 6; do "$@" && exec rm -f "$timer" "$timer.log"; sleep 5; done' \\
    gesscale-timer "$timer" {arguments} </dev/null 2>"$timer.log" &)"
  [ -s "$timer" ] || {{ say "the timer that ends the delays did not start: $(cat "$timer.log")"; exit 1; }}
"""

_UNDO = """
main() {
  call_off_timer
  whose=$(owner)
  case $whose in
    gesscale) remove_delays; say "delays are taken away from $device" ;;
    kernel) say "no delays were on $device" ;;
    unknown) say "cannot tell what is on $device, see above"; exit 1 ;;
    other) say "left alone, another program set it: $(tc qdisc show dev "$device" root)" ;;
  esac
}

main
"""
