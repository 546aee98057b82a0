"""``testbed apply``: the delays of a latency map on real nodes, by ssh or by a DaemonSet, and checked."""

from pathlib import Path

import typer

from gesscale.cli.ending import end_as_ctrl_c_does
from gesscale.cli.latency_map.planning import parse_time_s, plan_for, print_left_out, read_hosts
from gesscale.cli.latency_map.reading import load_map, plain_errors
from gesscale.cli.output import Output, stderr_console
from gesscale.errors import ClusterError, InputError
from latency_map.emulate.hosts import Host
from latency_map.emulate.plan import EmulationPlan, NodePlan
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit
from testbed.emulation.apply import look_at, print_left, put_on, take_off
from testbed.emulation.daemonset import render_daemonset
from testbed.emulation.pairs import check_plan
from testbed.emulation.remote import Login
from testbed.emulation.report import emit_checks


def apply_map(
    *,
    file: Path | None,
    hosts: Path,
    ssh: bool,
    daemonset: bool,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    asymmetry: Asymmetry | None,
    device: str,
    measured: Path | None,
    rate_mbit: int,
    skip_missing: bool,
    pod_networks: bool,
    user: str | None,
    port: int | None,
    identity: Path | None,
    ssh_config: Path | None,
    sudo: bool | None,
    undo: bool,
    keep_for: str | None,
    check: bool,
    count: int,
    namespace: str,
    image: str,
    output: Output,
) -> None:
    """Delay what real nodes send to each other as a map says, and measure every pair; exits 3 beyond 2 ms or 5 %."""
    if ssh == daemonset:
        message = "expected one of --ssh (log in to the nodes) and --daemonset (write a manifest)"
        raise InputError(message)
    with plain_errors():
        login = Login(user=user, port=port, identity=identity, config=ssh_config, sudo=sudo)
        known = read_hosts(hosts, device, pod_networks=pod_networks)
        if undo:
            _undo(known, login, by_ssh=ssh)
            return
        if file is None:
            message = "expected the MAP whose delays are to be put on, got none; only --undo needs none"
            raise InputError(message)
        latencies = load_map(file, unit, kind, asymmetry)
        plan = plan_for(latencies, known, measured=measured, rate_mbit=rate_mbit, skip_missing=skip_missing)
    print_left_out(plan)
    undo_after_s = None if keep_for is None else parse_time_s(keep_for)
    if daemonset:
        if undo_after_s:
            message = (
                "--for: a DaemonSet delays its nodes until it is deleted; kubectl delete it when it is time"
            )
            raise InputError(message)
        typer.echo(render_daemonset(plan, namespace=namespace, image=image), nl=False)
        return
    _apply(plan, login, undo_after_s, check=check)
    if check:
        stderr_console.print(
            f"measuring {sum(len(node.delays) for node in plan.nodes) // 2} pairs, {count} echoes each"
        )
        emit_checks(f"{len(plan.nodes)} nodes", check_plan(plan, login, count=count), output)


def _apply(plan: EmulationPlan, login: Login, undo_after_s: int | None, *, check: bool) -> None:
    stderr_console.print(f"looking at {len(plan.nodes)} nodes")
    end_as_ctrl_c_does()  # what was changed is undone
    look_at(plan, login, tools=(*(("ping",) if check else ()), *(("setsid",) if undo_after_s else ())))
    put_on(plan, login, undo_after_s=undo_after_s)
    until = f" for {undo_after_s} s" if undo_after_s else " until --undo"
    stderr_console.print(f"{len(plan.nodes)} nodes delay what they send to each other{until}")


def _undo(hosts: tuple[Host, ...], login: Login, *, by_ssh: bool) -> None:
    if not by_ssh:
        message = "--undo: a DaemonSet is undone by deleting it: kubectl delete -f MANIFEST"
        raise InputError(message)
    left = take_off([NodePlan(host=host, delays=()) for host in hosts], login)
    if left:
        raise ClusterError(print_left(left))
    stderr_console.print(f"{len(hosts)} nodes: the delays are taken away")
