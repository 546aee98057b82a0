"""Rights as small as can be: by the API server's record all that deploy/k3s grants is used, and nothing was refused."""

import json
import subprocess
import time

import pytest
from accounts import Right, connect_as, controller_as, controller_rights, controller_roles, refused, rights_of, unused
from audited_requests import requests_of
from controlled_world import until
from ordered_application import Application
from ordered_application import until as until_seen

from gesscale.kubernetes.api.errors import ApiError
from gesscale.kubernetes.api.events import REFRESH_S, EventDraft, Events, EventType, Incident
from gesscale.kubernetes.api.resources import CONFIG_MAPS
from testbed.kubernetes.images import HOST
from testbed.kubernetes.kubectl import FEW_RIGHTS_SETTINGS, create_namespace, driver_account

MAP = Right(group="", target="configmaps", names=("map",), verbs=("get",))
(_, ROLE, _) = json.loads(driver_account("taxi", "driver"))["items"]
DRIVER = rights_of(ROLE["rules"])
SPARK_DEFAULTS = [
    Right(group="", target="configmaps", verbs=("create", "deletecollection")),
    Right(group="", target="services", verbs=("deletecollection",)),
    Right(group="", target="persistentvolumeclaims", verbs=("list", "deletecollection")),
]

GRACE_S = 150
"""How long a driver may take to stop in order; on two busy cores Spark's own stop is slow."""

pytestmark = pytest.mark.real


@pytest.fixture
def account(world):
    """A controller's account of that name in a namespace of that name, with the rights of deploy/k3s."""
    world.cluster.in_control_plane(("true",))  # a foreign cluster keeps its records to itself
    name = f"{world.namespace}-controller"
    create_namespace(world.cluster.run_kubectl, name)
    world.cluster.run_kubectl("create", "-f", "-", stdin=controller_roles(name, name))
    yield name
    world.cluster.run_kubectl("delete", "clusterrole,clusterrolebinding", name, "--wait=false")
    world.cluster.run_kubectl("delete", "namespace", name, "--wait=false")


def grant_as_told(world, sentence):
    """Run the commands that a message ends with."""
    command = sentence[sentence.index("kubectl -n ") :].partition(" (failed")[0]
    wrapper = world.folder / "kubectl"
    wrapper.write_text(f'#!/bin/sh\nexec {world.cluster.kubectl} --kubeconfig {world.cluster.kubeconfig} "$@"\n')
    wrapper.chmod(0o755)
    environment = {"PATH": f"{world.folder}:/usr/bin:/bin", "HOME": str(world.folder)}
    subprocess.run(("sh", "-c", command), env=environment, timeout=60, check=True)


def test_the_controller_uses_exactly_its_rights(world, account, tmp_path):
    near, mid, _ = world.nodes
    world.add("op")
    with controller_as(world.cluster, account, account, tmp_path) as controller:
        until(lambda: "kubectl -n" in json.dumps(world.status("op")), "the commands are named")
        grant_as_told(world, world.status("op")["lastDecision"]["message"])
        until(lambda: sorted(world.pods_of("op")) == [near, mid], "executors by the granted map")
        until(lambda: "SuccessfulRescale" in world.event_reasons("op"), "the end of scaling")
        assert controller.health().missing_rights == ()
    repeat_an_event(world, account, tmp_path)
    asked = requests_of(world.cluster.files, account, account)
    assert unused(controller_rights(), asked, own_namespace=account) == []
    assert unused([MAP], asked, own_namespace=world.namespace) == []
    assert refused(asked) == [f"get configmaps {world.namespace}/map"]  # before it was granted


def repeat_an_event(world, account, folder):
    """Have an event come again after the interval within which its count is kept back."""
    connection = connect_as(world.cluster, account, account, folder)
    clock_s = time.time()
    events = Events(connection, "one", now_s=lambda: clock_s)
    again = EventDraft(EventType.NORMAL, Incident.SCALING_REPORT, "the same again")
    for _ in range(2):
        events.publish(world.get("op"), again)
        clock_s += REFRESH_S + 1
    connection.close()
    assert not events._last_failure


def test_the_controller_reads_only_granted_config_maps(world, account, tmp_path):
    connection = connect_as(world.cluster, account, account, tmp_path)
    with pytest.raises(ApiError) as found:
        connection.get(CONFIG_MAPS, "map", namespace=world.namespace)
    assert found.value.status == 403
    connection.close()


# The example's drivers are pods in client mode; their address is known when they run.
START = """
import os, sys
os.environ["PYSPARK_SUBMIT_ARGS"] = os.environ["SUBMIT"].replace("POD_IP", os.environ["POD_IP"])
exec(compile(open(sys.argv[1] + "/program.py").read(), "program.py", "exec"))
"""


class InPod(Application):
    """An application as in deploy/k3s/example: its driver is a pod in client mode, with the example's rights."""

    rights = DRIVER
    labels = {"spark-role": "driver", "gesscale.dev/autoscaler": "taxi"}  # noqa: RUF012  a constant

    def submit(self, node):
        self.grant()
        (self.folder / "start.py").write_text(START)
        settings = self.settings() | {
            "spark.driver.host": "POD_IP",
            "spark.driver.bindAddress": "POD_IP",
            "spark.kubernetes.driver.pod.name": "driver",
        }
        words = ["--master k8s://https://kubernetes.default.svc"]
        words += [f"--conf '{name}={value}'" for name, value in settings.items()]
        (container,) = self.pod["spec"]["containers"]
        address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
        arguments = {"name": "SUBMIT", "value": " ".join([*words, "pyspark-shell"])}
        driver = {
            **container,
            "image": HOST,
            "args": ["python", str(self.folder / "start.py"), str(self.folder)],
            "env": [*container["env"], address, arguments],
        }
        spec = {
            **self.pod["spec"],
            "containers": [driver],
            "serviceAccountName": "driver",
            "nodeSelector": {"kubernetes.io/hostname": node},
            "terminationGracePeriodSeconds": GRACE_S,
        }
        metadata = {"name": "driver", "labels": self.labels}
        self.kubectl(
            "create", "-f", "-",
            stdin=json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}),
        )  # fmt: skip
        until_seen("the driver pod has an address", lambda: self._driver_address() is not None, self)


class BySparksDefaults(Application):
    """An application in cluster mode whose owner sets nothing for the sake of fewer rights."""

    rights = (*DRIVER, *SPARK_DEFAULTS)

    def settings(self):
        kept = super().settings()
        return {name: value for name, value in kept.items() if name not in FEW_RIGHTS_SETTINGS}

    def grant(self):
        super().grant()
        for right in SPARK_DEFAULTS:
            name, verbs = right.target, ",".join(right.verbs)
            self.kubectl("create", "role", name, f"--verb={verbs}", f"--resource={name}")
            self.kubectl("create", "rolebinding", name, f"--role={name}", f"--serviceaccount={self.namespace}:driver")


@pytest.mark.long
@pytest.mark.parametrize("kind", [InPod, BySparksDefaults])
def test_a_driver_uses_exactly_its_rights(defined, tmp_path, kind):
    defined.in_control_plane(("true",))
    near, mid, far = defined.node_names
    application = kind(defined, tmp_path)
    try:
        first = application.order(near)
        application.submit(far)
        until_seen("the first executor has worked", lambda: application.has_applied(first, near), application)
        application.apply(near, mid)
        withdraw_one_that_waits(application, mid, near)
        with application.log_followed() as log:
            application.kubectl("delete", "pod", "driver", f"--timeout={GRACE_S + 30}s", timeout_s=GRACE_S + 60)
        asked = requests_of(defined.files, application.namespace, "driver")
    finally:
        defined.run_kubectl("delete", "namespace", application.namespace, "--wait=false")
    assert refused(asked) == []
    never_used = unused(application.rights, asked, own_namespace=application.namespace)
    assert never_used == [], log.read_text()[-5000:]


def withdraw_one_that_waits(application, stays, full):
    """Order an executor to a node that takes none, and then not any more."""
    application.apply(stays)
    application.cluster.run_kubectl("cordon", full)
    try:
        application.order(stays, full)
        waits = lambda: (None, "Pending") in application.pods().values()  # noqa: E731  a condition
        until_seen("a pod waits for the node", waits, application)
        application.order(stays)
        until_seen("it is withdrawn", lambda: len(application.pods()) == 1, application)
    finally:
        application.cluster.run_kubectl("uncordon", full)
