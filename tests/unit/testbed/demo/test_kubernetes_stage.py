"""What the demo on Kubernetes reads of its controller, and how it runs a module as a file."""

import subprocess
import sys

from testbed.live.kubernetes import KubernetesStage, driver_file
from testbed.live.scenario import KUBE3


def test_the_address_of_the_page_is_what_the_controller_logs(tmp_path):
    stage = KubernetesStage(cluster=None, scenario=KUBE3, folder=tmp_path)
    log = tmp_path / "controller.log"
    log.write_text("")
    assert stage.page_url == ""
    said = "controller a_1 at https://10.0.0.1:6443, namespace streams; page, probes and metrics at"
    log.write_text(f"2026-01-01 00:00:00,000 INFO gesscale.controller: {said} http://127.0.0.1:43210\nmore\n")
    assert stage.page_url == "http://127.0.0.1:43210"


def test_a_file_runs_a_package_with_its_arguments_as_python_m_does(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "__main__.py").write_text("import sys\nprint(__name__, *sys.argv[1:])\n")
    (tmp_path / "driver.py").write_text(driver_file("package"))
    command = (sys.executable, str(tmp_path / "driver.py"), "stream", "--linger")
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said == "__main__ stream --linger\n"
