"""Any JSON in a StreamAutoscaler is either refused or valid; nothing else is raised."""

import copy
import random

import pytest
from kube import EPOCH_S, order
from refusals import refused

from gesscale.errors import InputError
from gesscale.kubernetes.controller.workflow_controller import restored_state
from gesscale.kubernetes.order_store import order_of
from gesscale.kubernetes.resource.autoscaler import read_autoscaler
from gesscale.kubernetes.resource.translate import driver_selector, external_driver, group_into_workflows
from gesscale.spark.orders import OrderReader
from gesscale.spark.session_setup import first_placement

NASTY = (
    None, True, 0, -1, 2**63, 10**400, 10**4200, 1e308, 5e-324, float("inf"), float("nan"), "", "a\nb", "\x00",
    "\ud800", "x" * 300, "٣", "9" * 5000, "9" * 30 + "E", "1ms", "0.001ms", "999999h999999h", "87600h", "Never",
    "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "2001-99-99T00:00:00Z", "http://[::1", "http://x:99999",
    [], {}, [None], [[]], {"": ""}, ["a", "a"], ["a\nb"], [{}] * 1000,
)  # fmt: skip
SPEC = {
    "workflow": "rides",
    "upstream": ["clean"],
    "driver": {"selector": {"matchLabels": {"app": "taxi"}}, "port": 9108},
    "minReplicas": 1,
    "maxReplicas": 4,
    "batchCap": {"rows": 5000},
    "nodePool": {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["edge"]}]},
    "executor": {"requests": {"cpu": "500m", "memory": "1Gi"}, "architectures": ["arm64"], "excludeNodes": ["n9"]},
    "kafka": {"bootstrap": "kafka:9092", "topic": "rides"},
    "latencyMap": {"source": "Agents", "agentsDns": "agents:9109", "refresh": "5m", "maxAge": "24h"},
    "monitor": {"period": "1m", "window": "1m", "history": "5m", "staleAfter": "3m", "timeout": "5s"},
    "policy": {
        "name": "rules",
        "settings": {
            "seed": 1,
            "rules": [
                {
                    "operator": "*",
                    "action": "scale-out",
                    "by": {"percent": 50},
                    "when": [{"metric": "lag", "above": 5, "for": "1m"}],
                }
            ],
        },
    },
    "reconfiguration": {"strategy": "Live", "rescaleTimeout": "5m"},
    "mode": "Act",
    "pause": {"until": "2026-11-21T21:00:00Z", "reason": "backup"},
    "override": {"replicas": 2, "until": "2026-11-21T21:00:00Z"},
}
STATUS = {
    "history": [{**order(2, "a"), "reason": "Overloaded", "before": 2, "downtimeSeconds": 4.5}],
    "order": order(1, "a", "b"),
    "memory": {
        "readings": [
            {
                "replicas": 1,
                "ndMaxMs": 5.0,
                "rowsPerSecond": 500.0,
                "saturated": True,
                "batchRows": 9000.0,
                "tasks": 4,
                "weight": 1.5,
                "atSeconds": EPOCH_S - 60,
            }
        ],
        "memo": "a memo",
    },
}
RESOURCE = {
    "metadata": {"name": "near", "namespace": "taxi", "uid": "u", "generation": 1, "resourceVersion": "5"},
    "spec": SPEC,
    "status": STATUS,
}
CLEAN = {"metadata": {"name": "clean", "namespace": "taxi"}, "spec": {"workflow": "rides"}}


def places(value, path=()):
    """Yield the path of every value, including the document."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


def replaced(path, value, within=RESOURCE):
    """Return a resource with another value at one place."""
    if not path:
        return value
    whole = copy.deepcopy(within)
    group = whole
    for key in path[:-1]:
        group = group[key]
    group[path[-1]] = copy.deepcopy(value)
    return whole


def steer(documents):
    """Process resources as a controller does before it reads the cluster."""
    found = group_into_workflows(documents)
    for each in found.workflows.values():
        built = each.build({})
        assert (each.monitor.period_s, each.rescale_timeout_s) >= (1.0, 0.001)
        assert each.latency_map.source
        assert each.directives(built).keys() == built.operators.keys()
        each.policy_settings.build(built)
        for resource in each.resources.values():
            driver_selector(resource)
            external_driver(resource)
    for fault in found.faults.values():
        assert fault.message.isprintable()
        assert len(fault.message) < 4000
    return found


def test_the_unchanged_resource_is_valid():
    sound = copy.deepcopy(RESOURCE)
    clean = {**CLEAN, "spec": {**sound["spec"], "upstream": [], "override": None, "pause": None}}
    assert steer([sound, clean]).faults == {}


@pytest.mark.parametrize("path", list(places(RESOURCE)), ids=lambda path: ".".join(map(str, path)) or "all")
def test_an_invalid_value_anywhere_is_refused_or_ignored(path):
    for value in NASTY:
        document = replaced(path, value)
        steer([document, CLEAN])
        first_placement(document)
        assert str(OrderReader().read(document)).isprintable()
        order_of(document)
        status = document.get("status") if isinstance(document, dict) else None
        restored_state({"near": status}, EPOCH_S)


def test_several_invalid_values_are_refused_or_ignored():
    drawn = random.Random(1)
    every = [path for path in places(RESOURCE) if path and path[0] in {"metadata", "spec"}]
    for _ in range(300):
        document = copy.deepcopy(RESOURCE)
        # Longer paths first, so that members are replaced before their group.
        for path in sorted(drawn.sample(every, 3), key=len, reverse=True):
            document = replaced(path, drawn.choice(NASTY), document)
        steer([document, CLEAN])


@pytest.mark.parametrize("name", ["../etc", "a/b", "A", "a\nb", "a" * 64, ""])
@pytest.mark.parametrize("key", ["name", "namespace"])
def test_invalid_names_are_refused(key, name):
    # They become file names and label values.
    metadata = {"name": "near", "namespace": "taxi", key: name}
    with refused("setting-invalid", InputError, place=f"metadata.{key}"):
        read_autoscaler({"metadata": metadata, "spec": {}})
