"""Reads maps, each in a process of its own, and prints what each took; run by the tests of memory.

Every line of stdin is a JSON list: the way that the map comes, what it is, and how many nodes it may have. Every
line of stdout is what came of it, as JSON. What all readers import is imported once; the processes are forks.
"""

import json
import os
import resource
import sys
from itertools import count
from pathlib import Path

from gesscale.errors import MetricsUnavailableError
from gesscale.kubernetes.controller.latencies import ConfigMapLatencies, bounds_of
from gesscale.monitor.kept_latencies import Bounds
from gesscale.monitor.latencies import PrometheusLatencies
from latency_map import (
    Asymmetry,
    DelayKind,
    DelayUnit,
    LatencyMapError,
    MapForm,
    MapLimits,
    SideFiles,
    parse_survey,
    read_side_files,
    read_survey,
)
from latency_map.measure.gather import gather_agents, gather_samples
from latency_map.measure.gathering import GaugeSample

MEANING = {"unit": DelayUnit.MS, "kind": DelayKind.RTT}
RTT = "gesscale_latency_rtt_seconds"
MOST_ADDRESS_SPACE = 8 << 30


def read_file(path, nodes):
    forms = {"p2psim": MapForm.P2PSIM, "ping": MapForm.PING, "fping": MapForm.FPING}
    form = forms.get(Path(path).name.split(".")[1])
    side_files = SideFiles(probed_from="here") if form in (MapForm.PING, MapForm.FPING) else SideFiles()
    return read_survey(
        path, **MEANING, form=form, side_files=side_files, limits=MapLimits(nodes=nodes)
    ).survey


def read_beside(path, nodes):
    """Read a file that belongs to another one."""
    read_side_files(**{Path(path).name.split(".")[0]: path}, limits=MapLimits(nodes=nodes))


def read_config_map(path, nodes):
    """Read a ConfigMap as the controller of a cluster of so many nodes does."""
    source = ConfigMapLatencies(
        name="the map",
        fetch=lambda: Path(path).read_text("utf-8"),
        bounds=lambda: bounds_of(f"n{node}" for node in range(nodes)),
        **MEANING,
    )
    given = source.current(0.0)
    if given.map is None:
        raise LatencyMapError(given.standing.problem)


def ask_agents(urls, nodes):
    gathered = gather_agents(
        Path(urls).read_text("utf-8").split(), now_s=0.0, timeout_s=60, limits=MapLimits(nodes=nodes)
    )
    return gathered.survey


def ask_prometheus(url, nodes):
    """Ask a Prometheus server for a map, as the loop does."""
    source = PrometheusLatencies(
        url=url, timeout_s=60, asymmetry=Asymmetry.MAX, bounds=lambda: Bounds(limits=MapLimits(nodes=nodes))
    )
    try:
        return source.read(0.0).survey
    except MetricsUnavailableError as error:
        raise LatencyMapError(str(error)) from error


SAMPLES = {
    "pairs apart": lambda: ({"source": f"s{pair}", "target": f"t{pair}"} for pair in range(1200)),
    "nodes without an end": lambda: ({"source": f"n{node}", "target": "a"} for node in range(300_000)),
    "agents without an end": lambda: (
        {"source": "a", "target": "b", "instance": f"i{agent}"} for agent in range(300_000)
    ),
    "claims without an end": lambda: (
        {"source": f"n{pair % 990}", "target": f"n{pair // 990}", "job": job}
        for pair in range(500_000)
        for job in "xyz"
    ),
}


def take_samples(what, nodes):
    samples = (GaugeSample(name=RTT, labels=labels, value=0.001) for labels in SAMPLES[what]())
    return gather_samples(samples, fill_missing=True, limits=MapLimits(nodes=nodes)).survey


def take_samples_of_cluster(what, nodes):
    """Take samples as the controller of a cluster of so many nodes does; the samples may name only a few of them."""
    samples = (GaugeSample(name=RTT, labels=labels, value=0.001) for labels in SAMPLES[what]())
    bounds = bounds_of(["a", "b", *(f"n{node}" for node in range(nodes - 2))])
    return gather_samples(samples, fill_missing=True, limits=bounds.limits, nodes=bounds.nodes).survey


WAYS = {
    "file": read_file,
    "beside": read_beside,
    "config map": read_config_map,
    "agents": ask_agents,
    "prometheus": ask_prometheus,
    "samples": take_samples,
    "samples of a cluster": take_samples_of_cluster,
}


def warm_up():
    """Import all that readers import, and take what every process takes once."""
    import networkx  # noqa: F401
    import prometheus_api_client.prometheus_connect  # noqa: F401
    import scipy.sparse.csgraph  # noqa: F401

    few = (
        GaugeSample(name=RTT, labels={"source": f"n{a}", "target": f"n{b}"}, value=0.001)
        for a, b in zip(range(5), count(1))
    )
    gather_samples(few, fill_missing=True).survey.to_map()
    parse_survey('[{"from": "a", "to": "b", "delay": 1}]', **MEANING).survey.to_map()


def memory_bytes(key):
    """Return what this process takes (VmRSS) or took at most (VmHWM); getrusage counts the one that began it, too."""
    status = Path("/proc/self/status").read_text("ascii")
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith(key))


def read_and_tell(way, what, nodes):
    """Read a map, and print what that took."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESS_SPACE, MOST_ADDRESS_SPACE))
    warm_up()  # a fork has the memory, but not yet the pages of libraries
    before_bytes = memory_bytes("VmRSS")
    survey, said = None, ""
    try:
        survey = WAYS[way](what, nodes)
        if survey is not None:
            survey.to_map(Asymmetry.MAX)
    except (LatencyMapError, MemoryError) as error:
        said = str(error) or "MemoryError"
    report = {
        "took_bytes": memory_bytes("VmHWM") - before_bytes,
        "nodes": len(survey) if survey else 0,
        "spread": bool(survey and survey.spread),
        "said": said,
    }
    print(json.dumps(report), flush=True)  # noqa: T201 - for the test


def main():
    warm_up()
    for line in iter(sys.stdin.readline, ""):
        child = os.fork()
        if not child:
            read_and_tell(*json.loads(line))
            return
        _, status = os.waitpid(child, 0)
        if status:
            print(json.dumps({"died": os.waitstatus_to_exitcode(status)}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
