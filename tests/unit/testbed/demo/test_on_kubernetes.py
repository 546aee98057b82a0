"""The decisions of the demo's controller, read from its page, and the record that they complete."""

import json

from page_world import growing, served, step_of
from recorded_steps import T0_S, decided
from refusals import refused

from gesscale.model.document import as_document
from gesscale.model.observation import Batch
from gesscale.service.recorded import read_record
from latency_map import write_csv
from testbed.cluster.topology import read_topology
from testbed.demo.on_kubernetes import read_decisions, write_decisions
from testbed.live.kubernetes import KubernetesApplication
from testbed.live.scenario import KUBE3


def test_the_decisions_of_the_controller_complete_a_record(tmp_path):
    topology = read_topology(KUBE3.topology)
    name = KUBE3.operators[0].name
    with served() as world:
        world.add(step_of({name: decided(T0_S - 10)}, name="streams/nearest"))
        world.add(step_of({name: growing(T0_S)}, name="streams/nearest"))
        decisions = read_decisions(world.url)
    assert [(each["operator"], each["at_s"]) for each in decisions] == [(name, T0_S - 10), (name, T0_S)]
    # as the demo itself has written them by then
    batch = Batch(batch_id=0, ended_at_s=T0_S - 15, rows=9, seconds=1.0, nodes=("near",), trigger_s=2.0)
    (tmp_path / "batches.jsonl").write_text(json.dumps({"operator": name, **as_document(batch)}) + "\n")
    write_csv(topology.map, tmp_path / "latency.csv")
    write_decisions(decisions, KUBE3, topology, "edge-a", tmp_path)
    document, faults = read_record(tmp_path)
    assert faults == ()
    assert [point["add"] for point in document["points"]["workflow"]] == [[], ["mid"]]
    (workflow,) = document["run"]["workflows"]
    assert workflow["operators"][0]["driver_node"] == "edge-a"
    assert set(document["nodes"]["workflow"]["names"]) == set(topology.map.names)


def test_a_controller_that_does_not_answer_is_named():
    with served() as world:
        pass
    with refused("controller-page-unreadable", source=f"{world.url}/api/run?"):
        read_decisions(world.url)


def test_the_address_of_the_page_is_read_from_the_log(tmp_path):
    application = KubernetesApplication(cluster=None, scenario=KUBE3, folder=tmp_path)
    log = tmp_path / "controller.log"
    log.write_text("")
    assert application.page_url == ""
    log.write_text("INFO gesscale.controller: api at https://10.0.0.1:443\npage at http://127.0.0.1:43210\nmore\n")
    assert application.page_url == "http://127.0.0.1:43210"
