"""The controller's Deployment, also in the overlays."""

import pytest
from typer.main import get_command

from gesscale.cli.app import app

NAME = "gesscale-controller"


@pytest.fixture
def deployment(render, look):
    return lambda folder: look.find(render(folder), "Deployment", NAME)


def pod(deployment):
    return deployment["spec"]["template"]["spec"]


def test_a_standby_runs_except_on_small_clusters(deployment):
    assert deployment(".")["spec"]["replicas"] == 2
    assert deployment("overlays/raspberry-pi")["spec"]["replicas"] == 1
    assert deployment("overlays/single-node")["spec"]["replicas"] == 1


def test_probes_and_service_use_the_listening_port(deployment, render, look):
    (container,) = pod(deployment("."))["containers"]
    (port,) = container["ports"]
    assert f"--listen=0.0.0.0:{port['containerPort']}" in container["args"]
    paths = {kind: container[kind]["httpGet"] for kind in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert {got["port"] for got in paths.values()} == {port["name"]}
    assert paths["startupProbe"]["path"] == paths["livenessProbe"]["path"] == "/healthz"
    assert paths["readinessProbe"]["path"] == "/readyz"
    (served,) = look.find(render("."), "Service", NAME)["spec"]["ports"]
    assert served["targetPort"] == port["name"]
    assert served["port"] == port["containerPort"]


def test_its_account_is_the_one_that_the_roles_are_bound_to(deployment, render):
    account = pod(deployment("."))["serviceAccountName"]
    bindings = [each for each in render(".") if each["kind"] in {"RoleBinding", "ClusterRoleBinding"}]
    assert len(bindings) == 2
    for binding in bindings:
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": "gesscale"}]


def test_the_command_line_knows_its_arguments(deployment):
    (container,) = pod(deployment("."))["containers"]
    program, command, *arguments = [*container["command"], *container["args"]]
    assert program == "gesscale"
    with get_command(app).get_command(None, command).make_context(command, arguments) as context:
        options = context.params
    assert options["kubernetes"] is True
