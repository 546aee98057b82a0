"""What the API server gives: StreamAutoscalers, their statuses, orders."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edge import known, observe, reading
from edge import workflow as small_workflow

from fuzz.target import OF_THE_LOOP, Form, RefusedError, Target, files
from fuzz.targets.maps import NOW_S
from gesscale.common.errors import Problem
from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.kubernetes.controller.workflow_controller import restored_state
from gesscale.kubernetes.order_store import OrderKnowledge, order_of
from gesscale.kubernetes.reporting.report import report_fault
from gesscale.kubernetes.resource.order import past_orders
from gesscale.kubernetes.resource.translate import FaultReason, ResourceFault, group_into_workflows
from gesscale.options import PolicyOptions
from gesscale.policies import policy_named
from gesscale.spark.orders import OrderReader

_FAULT = ResourceFault(reason=FaultReason.SPEC_INVALID, problems=(Problem("invalid"),))


def _json(data: bytes) -> Any:
    """Return what the client of the API server would: it never hands on what is no JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RefusedError from error


def _autoscalers(data: bytes, folder: Path) -> None:
    del folder
    documents = _json(data)
    if not isinstance(documents, list) or not all(isinstance(each, dict) for each in documents):
        raise RefusedError
    grouped = group_into_workflows(documents)
    for steered in grouped.workflows.values():
        built = steered.build({})
        steered.directives(built)
        steered.policy_settings.build(built)
        _ = steered.monitor, steered.latency_map, steered.rescale_timeout_s
    for fault in grouped.faults.values():
        report_fault({}, fault, 1, NOW_S)
    if not grouped.workflows:
        raise RefusedError


def _status(data: bytes, folder: Path) -> None:
    del folder
    status = _json(data)
    if not isinstance(status, dict):
        raise RefusedError
    legacy = restored_state({"op": status}, NOW_S).known
    order = order_of({"status": status})
    stored = () if order is None else (order, *past_orders(status))
    orders = OrderKnowledge(MemoryKnowledge(known=legacy), lambda: {"op": stored})
    recalled = orders.recall(NOW_S)
    report_fault(status, _FAULT, 1, NOW_S)
    observation = observe(reading(("hub", "near"), at_s=NOW_S, throughput=190, offered=250, saturated=1.0))
    policy_named("gesscale-2021", small_workflow(), PolicyOptions()).analyze(
        observation, known(readings=recalled.readings, orders=recalled.orders)
    )
    if not (recalled.readings or recalled.orders):
        raise RefusedError


def _order(data: bytes, folder: Path) -> None:
    del folder
    value = _json(data)
    book = OrderReader()
    for number in (1, 2):
        book.read({"metadata": {"uid": f"u{number}"}, "status": {"order": value}})
    order = order_of({"status": {"order": value}})
    if order is None:
        raise RefusedError
    _ = order.at_s


def _orders() -> Sequence[bytes]:
    found = [json.loads(sample)["order"] for sample in files("statuses/*")()]
    found.append({**found[0], "strategy": "Restart", "id": "12-345", "term": 12, "later": {"wave": 2, "of": 5.5}})
    found.append({**found[0], "placement": [f"edge{number}" for number in range(1, 9)], "note": "by hand", "tries": 1})
    return [json.dumps(order).encode() for order in found]


TARGETS = (
    Target(name="autoscalers", form=Form.JSON, samples=files("autoscalers/*"), call=_autoscalers, errors=OF_THE_LOOP),
    Target(name="status", form=Form.JSON, samples=files("statuses/*"), call=_status, errors=OF_THE_LOOP),
    Target(name="order", form=Form.JSON, samples=_orders, call=_order, errors=OF_THE_LOOP),
)
