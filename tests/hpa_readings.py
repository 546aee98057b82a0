"""Readings for HPA policies, and what these conclude of them."""

from dataclasses import replace

from edge import known, observe, operator, reading

from gesscale.model.observation import Batch
from gesscale.policies import policy_named
from gesscale.settings.analyze import AnalyzeSettings
from testbed.baselines.hpa import HpaCpuSettings, HpaVargaSettings
from testbed.baselines.shared.hpa import Recommendations

WIDE = 1000


def op(name="op", *upstream, most=WIDE, **limits):
    return operator(name, upstream=upstream, max_replicas=most, **limits)


def placed(replicas):
    return [f"n{index:03}" for index in range(replicas)]


def lagging(replicas, slope, *, name="op", throughput=100_000.0, start=1e6, at_s=1000.0, **changes):
    """Return a reading whose lag grows by `slope` rows/s over its six batches, which are late if it is saturated."""
    nodes = tuple(placed(replicas))
    batches = tuple(
        Batch(
            batch_id=index,
            ended_at_s=at_s - 10.0 * (5 - index),
            rows=int(10 * throughput),
            seconds=10.0 if changes.get("saturated_share", 0.0) > 0.5 else 9.0,
            nodes=nodes,
            trigger_s=10.0,
            backlog_rows=start + slope * 10.0 * index,
        )
        for index in range(6)
    )
    return replace(
        reading(nodes, name=name, throughput=throughput, at_s=at_s, backlog=batches[-1].backlog_rows),
        batches=batches,
        **changes,
    )


def analyses(name, flow, *readings, memos=None, missing_readings=(), **settings):
    groups = {"hpa-cpu": ("hpa_cpu", HpaCpuSettings), "hpa-varga": ("hpa_varga", HpaVargaSettings)}
    field, group = groups[name]
    policy = policy_named(name, flow, AnalyzeSettings(**{field: group(**settings)}))
    return policy.analyze(observe(*readings, missing_readings=missing_readings), known(memos=memos or {}))


def asked_before(*asked, policy="hpa-cpu"):
    return Recommendations(policy=policy, at_s=asked[-1][0], proposals=asked).model_dump_json()
