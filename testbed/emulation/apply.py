"""The delays of a plan put onto real nodes, all of them or none, and taken away again."""

from collections.abc import Sequence

from gesscale.errors import ClusterError
from latency_map.emulate.plan import EmulationPlan, NodePlan
from latency_map.emulate.preflight import preflight_problems, render_preflight
from latency_map.emulate.script import ScriptAction, render_script
from testbed.emulation.remote import AT_ONCE, Login, ScriptResult, run_scripts

_LOOK_S = 40.0
_CHANGE_S = 120.0


def look_at(plan: EmulationPlan, login: Login, *, tools: Sequence[str] = ()) -> None:
    """Ask every node whether it can be delayed; changes nothing.

    Parameters
    ----------
    tools
        The commands that it must have besides ``tc`` and ``ip``.

    Raises
    ------
    ClusterError
        One cannot be reached or cannot be delayed; the message has a line for every problem of every node.
    """
    nodes = {node.host.name: node for node in plan.nodes}
    answers = run_scripts(
        [node.host for node in plan.nodes],
        lambda host: render_preflight(nodes[host.name], tools=tools),
        login,
        timeout_s=_LOOK_S,
    )
    problems = [f"{answer.host.name}: {problem}" for answer in answers for problem in _problems(answer)]
    if problems:
        message = "nothing was changed, as not every node can be delayed:\n  " + "\n  ".join(problems)
        raise ClusterError(message)


def put_on(plan: EmulationPlan, login: Login, *, undo_after_s: int | None = None) -> None:
    """Put the delays onto all nodes; where one fails, take them off those that have them already.

    Parameters
    ----------
    undo_after_s
        When each node takes its delays away by itself, seconds; None for never.

    Raises
    ------
    ClusterError
        One node failed, or it was interrupted; the message says which, and which nodes may still be delayed, if any.
    """
    begun: list[NodePlan] = []
    failed: list[ScriptResult] = []
    try:
        for start in range(0, len(plan.nodes), AT_ONCE):
            batch = plan.nodes[start : start + AT_ONCE]
            begun.extend(batch)
            answers = _run(batch, ScriptAction.APPLY, login, undo_after_s)
            failed = [answer for answer in answers if not answer.ok]
            if failed:
                break
    except KeyboardInterrupt as error:
        left = take_off(begun, login)
        message = f"interrupted while nodes were changed: {print_left(left, undo_after_s)}"
        raise ClusterError(message) from error
    if failed:
        left = take_off(begun, login)
        lines = "".join(f"\n  {answer.host.name}: {answer.problem}" for answer in failed)
        message = f"not every node could be delayed:{lines}\n{print_left(left, undo_after_s)}"
        raise ClusterError(message)


def take_off(nodes: Sequence[NodePlan], login: Login) -> tuple[ScriptResult, ...]:
    """Take the delays off nodes; return the answers of those where that failed."""
    return tuple(answer for answer in _run(nodes, ScriptAction.UNDO, login) if not answer.ok)


def print_left(left: Sequence[ScriptResult], undo_after_s: int | None = None) -> str:
    """Say which nodes may still be delayed after `take_off`, and what to do.

    Parameters
    ----------
    left
        What `take_off` returned.
    undo_after_s
        When they take the delays away by themselves, seconds; None for never.
    """
    if not left:
        return "no node is delayed"
    lines = "".join(f"\n  {answer.host.name}: {answer.problem}" for answer in left)
    by_itself = f"; if so, they end by themselves within {undo_after_s} s" if undo_after_s else ""
    return f"these nodes may still be delayed{by_itself}; run the command again with --undo:{lines}"


def _run(
    nodes: Sequence[NodePlan], action: ScriptAction, login: Login, undo_after_s: int | None = None
) -> tuple[ScriptResult, ...]:
    by_name = {node.host.name: node for node in nodes}
    return run_scripts(
        [node.host for node in nodes],
        lambda host: render_script(by_name[host.name], action, undo_after_s=undo_after_s),
        login,
        timeout_s=_CHANGE_S,
    )


def _problems(answer: ScriptResult) -> tuple[str, ...]:
    if answer.ok:
        return preflight_problems(answer.output)
    hint = "; log in as root, or let the user run sudo without a password" if "sudo" in answer.problem else ""
    return (answer.problem + hint,)
