"""Every pair of real nodes measured with the ping command of one of the two, over ssh."""

from collections.abc import Sequence

from gesscale.errors import ClusterError
from latency_map.emulate.hosts import Host
from latency_map.emulate.plan import AddedDelay, EmulationPlan
from latency_map.formats.ping_text import ping_replies
from latency_map.shell import command_line
from testbed.cluster.check import PairCheck, judge
from testbed.emulation.remote import Login, run_scripts

_AT_ONCE = 3
_INTERVAL_S = 0.2
_STARTUP_S = 120.0


def check_plan(plan: EmulationPlan, login: Login, *, count: int) -> tuple[PairCheck, ...]:
    """Measure every pair of a plan, a few nodes at a time.

    Parameters
    ----------
    count
        Echoes per pair.

    Returns
    -------
    tuple of PairCheck
        Each pair once, in the order of the plan.

    Raises
    ------
    ClusterError
        A node cannot measure.
    """
    pairs = {
        node.host.name: [delay for delay in node.delays if delay.class_id > number]
        for number, node in enumerate(plan.nodes, start=1)
    }
    hosts = [node.host for node in plan.nodes if pairs[node.host.name]]
    slowest_s = max((delay.asked_ms for node in plan.nodes for delay in node.delays), default=0.0) / 1000
    answers = run_scripts(
        hosts,
        lambda host: render_pings(pairs[host.name], count=count),
        login,
        timeout_s=_STARTUP_S + len(plan.nodes) * (count * _INTERVAL_S + 2 * slowest_s + 10),
        as_root=False,
        at_once=_AT_ONCE,
    )
    checks: list[PairCheck] = []
    for answer in answers:
        if not answer.ok:
            message = f"cannot measure from node {answer.host.name!r}: {answer.problem}"
            raise ClusterError(message)
        checks.extend(_judge(answer.host, pairs[answer.host.name], answer.output, count))
    return tuple(checks)


def render_pings(delays: Sequence[AddedDelay], *, count: int) -> str:
    """Write a shell script that pings each node in turn."""
    lines = []
    for delay in delays:
        address, wait_s = delay.to.address, 2 + -(-2 * delay.asked_ms // 1000)
        command = ("ping", "-n", "-c", str(count), "-i", f"{_INTERVAL_S}", "-W", f"{wait_s:.0f}", address)
        lines.append(f"{command_line(command)} || :\n")
    return "main() {\n" + "".join(lines) + "}\nmain\n"


def _judge(host: Host, delays: Sequence[AddedDelay], output: str, count: int) -> list[PairCheck]:
    replies = ping_replies(output)
    checks = []
    for delay in delays:
        came = replies.get(delay.to.address, [])
        lost = [None] * max(0, count - len(came))
        checks.append(judge(delay.asked_ms, [*came, *lost], first=host.name, second=delay.to.name))
    return checks
