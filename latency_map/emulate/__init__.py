"""Delays made on purpose: the tc commands that give real links the round trips of a map.

`tc_plan` gives every node what to add to its outgoing packets, `render_script` writes it as a shell script.
"""

from latency_map.emulate.hosts import Host, check_hosts, number_hosts
from latency_map.emulate.hosts_file import parse_hosts
from latency_map.emulate.plan import AddedDelay, EmulationPlan, NodePlan, TooFast, half_us, tc_plan
from latency_map.emulate.script import ScriptAction, render_script
from latency_map.emulate.tc import apply_commands, undo_commands

__all__ = [
    "AddedDelay",
    "EmulationPlan",
    "Host",
    "NodePlan",
    "ScriptAction",
    "TooFast",
    "apply_commands",
    "check_hosts",
    "half_us",
    "number_hosts",
    "parse_hosts",
    "render_script",
    "tc_plan",
    "undo_commands",
]
