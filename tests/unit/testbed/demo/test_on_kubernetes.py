"""The record of the demo's controller, read from its page, and how the observer names its orders."""

import json

import pytest
from page_world import growing, served, step_of
from recorded_steps import T0_S, decided
from refusals import refused

from gesscale.model.document import as_document
from gesscale.model.observation import Batch
from gesscale.service.recorded import read_record, write_served
from testbed.demo.on_kubernetes import read_served
from testbed.live.kubernetes import KubernetesApplication
from testbed.live.kubernetes_observer import KubernetesObserver, SeenOrder
from testbed.live.scenario import KUBE5

NAME = "streams/nearest"


def test_what_the_page_serves_is_a_record(tmp_path):
    with served() as world:
        world.add(step_of({"nearest": decided(T0_S - 10)}, name=NAME))
        world.add(step_of({"nearest": growing(T0_S)}, name=NAME))
        write_served(read_served(world.url, NAME), tmp_path)
        with refused("controller-page-unreadable", source=world.url):
            read_served(world.url, "streams/other")
    # as the demo itself has written them by then
    batch = Batch(batch_id=0, ended_at_s=T0_S - 15, rows=9, seconds=1.0, nodes=("near",), trigger_s=2.0)
    (tmp_path / "batches.jsonl").write_text(json.dumps({"operator": "nearest", **as_document(batch)}) + "\n")
    document, faults = read_record(tmp_path)
    assert faults == ()
    assert [point["add"] for point in document["points"]["workflow"]] == [[], ["mid"]]
    (workflow,) = document["run"]["workflows"]
    assert workflow["operators"][0]["driver_node"] == "hub"
    assert set(document["nodes"]["workflow"]["names"]) == {"hub", "near", "mid", "far", "edge"}
    # The state lasts, so it is written once.
    assert len((tmp_path / "clusters.jsonl").read_text().splitlines()) == 1


def test_a_controller_that_does_not_answer_is_named():
    with served() as world:
        pass
    with refused("controller-page-unreadable", source=f"{world.url}/api/record?workflow=streams%2Fnearest"):
        read_served(world.url, NAME)


def test_the_address_of_the_page_is_read_from_the_log(tmp_path):
    application = KubernetesApplication(cluster=None, scenario=KUBE5, folder=tmp_path)
    log = tmp_path / "controller.log"
    log.write_text("")
    assert application.page_url == ""
    log.write_text("INFO gesscale.controller: api at https://10.0.0.1:443\npage at http://127.0.0.1:43210\nmore\n")
    assert application.page_url == "http://127.0.0.1:43210"


def test_a_change_has_the_reason_of_its_decision_and_the_first_tasks_of_its_order():
    observer = KubernetesObserver(application=None, log=print)
    observer.orders = {"0-1": SeenOrder(at_s=T0_S, placement=("hub", "mid", "near"))}
    observer.executors = {
        "2": {"order": "0-1", "first_task_at_s": T0_S + 8.0},
        "1": {"order": "0-0", "first_task_at_s": T0_S - 60.0},
        "3": {"order": "0-1"},
    }
    rescale = observer.rescale_of(growing(T0_S))
    assert (rescale.reason, rescale.nd_max_ms, rescale.added) == ("Overloaded", 50.0, ("mid",))
    assert rescale.first_task_s == pytest.approx((8.0,))
