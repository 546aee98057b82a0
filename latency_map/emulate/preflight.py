"""What a node is asked before anything on it is changed, as a shell script, and how its answer is read."""

from collections.abc import Sequence

from latency_map.emulate.plan import NodePlan
from latency_map.emulate.script import begin_script
from latency_map.shell import command_line

_PROBLEM = "problem: "
_DONE = "preflight done"


def render_preflight(plan: NodePlan, *, tools: Sequence[str] = ()) -> str:
    """Write a shell script that prints what keeps a node from being delayed, and changes nothing.

    What the kernel has is tried in a network namespace that lives as long as the trial; where the node makes
    none, its modules are looked at.

    Parameters
    ----------
    plan
        The node's delays.
    tools
        The commands that it must have in addition to ``tc`` and ``ip``.

    Returns
    -------
    str
        The script, for `preflight_problems` to read the output of.

    Raises
    ------
    LatencyMapError
        A name or an address holds a character that no argument of a command can hold.
    """
    body = _PREFLIGHT.format(
        problem=_PROBLEM,
        done=_DONE,
        tools=command_line(("tc", "ip", *tools)),
        netem=int(any(delay.one_way_us for delay in plan.delays)),
    )
    return begin_script(plan, ("What keeps this node from being delayed; changes nothing.",)) + body


def preflight_problems(output: str) -> tuple[str, ...]:
    """Return what a node found in its way, from the output of its preflight script; empty where nothing."""
    lines = output.splitlines()
    problems = tuple(line.removeprefix(_PROBLEM) for line in lines if line.startswith(_PROBLEM))
    return problems if _DONE in lines else (*problems, "its preflight was cut short")


_PREFLIGHT = """
problem() {{ printf '%s\\n' "{problem}$*"; }}

kernel_has() {{ # MODULE COMMANDS: they are tried in a network namespace that ends with the trial
  if unshare -n true 2>/dev/null; then unshare -n sh -euc "$2" >/dev/null 2>&1
  else grep -q "^$1 " /proc/modules || modprobe -n -q "$1" 2>/dev/null; fi
}}

need() {{ # KIND MODULE COMMANDS
  kernel_has "$2" "$3" || problem "no $1 in its kernel: install its extra modules, which hold $2"
}}

main() {{
  if [ "$(id -u)" != 0 ]; then problem "not root there: log in as root, or use sudo"; echo "{done}"; exit 0; fi
  for tool in {tools}; do
    command -v "$tool" >/dev/null || problem "no $tool there: install it (Debian: iproute2, iputils-ping, util-linux)"
  done
  if ! command -v tc >/dev/null || ! command -v ip >/dev/null; then echo "{done}"; exit 0; fi
  if ! ip link show dev "$device" >/dev/null 2>&1; then
    problem "no network device $device there: name it by --device or in the hosts' column device"
  elif ! ip -o address show dev "$device" | grep -qF " $address/"; then
    problem "$device does not hold the address $address: correct one of them in the hosts"
  else
    shown=$(tc qdisc show dev "$device" root 2>&1) || :
    case $(owner 2>/dev/null) in
      other) problem "another program set the queueing discipline of $device: $shown" ;;
      unknown) problem "its tc does not show the queueing discipline of $device: $shown" ;;
    esac
  fi
  need htb sch_htb "tc qdisc add dev lo root htb"
  need u32 cls_u32 "tc qdisc add dev lo root handle 1: htb
    tc filter add dev lo parent 1: protocol ip prio 1 u32 match ip dst 127.0.0.1/32 flowid 1:1"
  if [ {netem} = 1 ]; then need netem sch_netem "tc qdisc add dev lo root netem delay 1ms"; fi
  echo "{done}"
}}

main
"""
