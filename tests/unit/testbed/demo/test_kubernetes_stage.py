"""What the demo on Kubernetes reads of its controller."""

from testbed.demo.kubernetes.stage import KubernetesStage
from testbed.demo.scenario import KUBE3


def test_the_address_of_the_page_is_what_the_controller_logs(tmp_path):
    stage = KubernetesStage(cluster=None, scenario=KUBE3, folder=tmp_path)
    log = tmp_path / "controller.log"
    log.write_text("")
    assert stage.page_url == ""
    said = "controller a_1 at https://10.0.0.1:6443, namespace streams; page, probes and metrics at"
    log.write_text(f"2026-01-01 00:00:00,000 INFO gesscale.controller: {said} http://127.0.0.1:43210\nmore\n")
    assert stage.page_url == "http://127.0.0.1:43210"
