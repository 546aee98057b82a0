"""The part of a plan for one node as a POSIX shell script, which needs only sh and tc.

Names and addresses of a plan enter a script only through `command_line`, as words of a command, or as a `comment`.
"""

from collections.abc import Sequence
from enum import StrEnum

from gesscale.common.shell import command_line, comment
from latency_map.emulate.plan import ROOT, AddedDelay, NodePlan, delay_commands, root_command, undo_commands


class ScriptAction(StrEnum):
    """Action of a script."""

    APPLY = "apply"
    UNDO = "undo"


def script_name(action: ScriptAction, node: str) -> str:
    """Return the file name of the script of a node."""
    return f"{action.value}-{node}.sh"


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
        A name or an address has a character that no argument of a command can have.
    """
    if action is ScriptAction.UNDO:
        return begin_script(plan, (_UNDO_TITLE,)) + _UNDO
    host = plan.host
    title = (
        f"Delays of node {host.name} ({host.address}, {host.device}) to {len(plan.delays)} others. This node adds one",
        "half of each round trip to its packets, the other node the other half; packets to other addresses are",
        "not delayed. The script can be run again: it replaces the delays that it set. To remove them, run",
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
    """Describe one class."""
    return f"to {delay.to.name} {delay.to.address}: {delay.one_way_us / 1000:g} ms of {delay.rtt_ms:g} ms round trip"


def begin_script(plan: NodePlan, title: Sequence[str]) -> str:
    """Return the head of every script: a title, and functions that check the owner of the root qdisc."""
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


_UNDO_TITLE = "Removes the delays that the apply script of gesscale set on this node, and nothing else."

_COMMON = """\
set -eu
PATH=$PATH:/usr/sbin:/sbin
set -- {names}
node=$1 device=$2 address=$3
timer=/run/gesscale-delays-$node-$device.pid

log() {{ printf '%s\\n' "gesscale: $node: $*" >&2; }}

remove_delays() {{ {undo}; }}

# Owner of the root qdisc of the device, by its handle: 0: is the default of the kernel, which it restores
# when another one is removed; {root} is that of gesscale; any other belongs to another program.
owner() {{
  present=$(tc qdisc show dev "$device" root) || {{ echo unknown; return; }}
  case $present in
    "" | "qdisc "*" 0: root"*) echo kernel ;;
    "qdisc htb {root} root"*) echo gesscale ;;
    *) echo other ;;
  esac
}}

cancel_timer() {{
  [ -f "$timer" ] || return 0
  pid=$(cat "$timer")
  if grep -q gesscale-timer "/proc/$pid/cmdline" 2>/dev/null; then kill -TERM "-$pid" || :; fi
  rm -f "$timer" "$timer.log"
}}
"""

_APPLY = """
main() {{
  whose=$(owner)
  if [ "$whose" = unknown ]; then log "cannot read the qdisc of $device, see above; nothing was changed"; exit 1; fi
  if [ "$whose" = other ]; then
    log "expected no qdisc of another program on $device, got: $(tc qdisc show dev "$device" root)"
    log "nothing was changed; if it is not needed, remove it first: tc qdisc del dev $device root"
    exit 1
  fi
  cancel_timer
  if [ "$(owner)" = gesscale ]; then remove_delays; fi  # read again: the timer may just have removed them
  trap 'give_up $?' EXIT
  trap 'exit 1' HUP INT TERM
{deadline}  {root}
{delays}
  trap - EXIT HUP INT TERM
  log "delays to {count} nodes are set on $device{until}"
}}

give_up() {{
  whose=$(owner)
  if [ "$whose" = gesscale ]; then remove_delays; fi
  cancel_timer
  log "a command failed, see above; no delays are left on $device. If tc reports an unknown kind of qdisc, the kernel"
  log "lacks sch_netem, sch_htb or cls_u32: install its extra modules (linux-modules-extra, kmod-sched-core, ...)"
  exit "$1"
}}

main
"""

_DEADLINE = """\
  # Removed after {seconds} s, even if this connection is lost.
  command -v setsid >/dev/null || {{ log "setsid not found, which the timer needs; install util-linux"; exit 1; }}
  : >"$timer"
  # The timer writes its process id, in a new session; $() waits until it closes its output.
  : "$(setsid sh -c 'timer=$1 seconds=$2; shift 2; echo $$ >"$timer"; exec >&2; sleep "$seconds"
    for try in 1 2 3 4 5 6; do "$@" && exec rm -f "$timer" "$timer.log"; sleep 5; done' \\
    gesscale-timer "$timer" {arguments} </dev/null 2>"$timer.log" &)"
  [ -s "$timer" ] || {{ log "the timer that removes the delays did not start: $(cat "$timer.log")"; exit 1; }}
"""

_UNDO = """
main() {
  cancel_timer
  whose=$(owner)
  case $whose in
    gesscale) remove_delays; log "delays are removed from $device" ;;
    kernel) log "no delays were set on $device" ;;
    unknown) log "cannot read the qdisc of $device, see above"; exit 1 ;;
    other) log "not changed, the qdisc is of another program: $(tc qdisc show dev "$device" root)" ;;
  esac
}

main
"""
