"""The example workflow: chained topics, drivers with the right labels, executors admitted with their template."""

import shlex

import pytest
import yaml

from gesscale.kubernetes.resource.translate import group_into_workflows
from testbed.kubernetes.kubectl import driver_account

OPERATORS = ("clean", "nearest")


@pytest.fixture
def objects(render):
    return render("example")


@pytest.fixture
def settings(look):
    """The settings of spark.conf."""
    lines = (look.k3s / "example" / "spark" / "spark.conf").read_text().splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def driver(objects, look, name):
    pod = look.find(objects, "StatefulSet", name)["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    options = dict(
        argument.removeprefix("--").split("=", 1) for argument in container["args"] if argument.startswith("--")
    )
    return pod, container, options


def test_the_resources_form_one_valid_workflow(objects):
    found = group_into_workflows(each for each in objects if each["kind"] == "StreamAutoscaler")
    assert not found.faults
    (workflow,) = found.workflows.values()
    assert sorted(workflow.resources) == list(OPERATORS)


@pytest.mark.parametrize("name", OPERATORS)
def test_no_operator_may_have_more_replicas_than_its_topic_has_partitions(objects, look, name):
    properties = look.find(objects, "ConfigMap", next(n for n in config_maps(objects) if n.startswith("kafka-")))[
        "data"
    ]["server.properties"]
    (partitions,) = (
        int(line.partition("=")[2]) for line in properties.splitlines() if line.startswith("num.partitions=")
    )
    assert look.find(objects, "StreamAutoscaler", name)["spec"]["maxReplicas"] == partitions


def config_maps(objects):
    return [each["metadata"]["name"] for each in objects if each["kind"] == "ConfigMap"]


@pytest.mark.parametrize("name", OPERATORS)
def test_the_controller_finds_the_driver_and_its_metrics(objects, look, name):
    pod, container, options = driver(objects, look, name)
    labels = pod["metadata"]["labels"]
    assert labels["spark-role"] == "driver"
    assert labels["gesscale.dev/autoscaler"] == name
    (metrics,) = (port for port in container["ports"] if port["name"] == "metrics")
    assert metrics["containerPort"] == int(options["metrics-port"]) == 9108  # spec.driver.port's default


@pytest.mark.parametrize("name", OPERATORS)
def test_spark_has_its_pod_and_the_allowed_ports(objects, look, settings, name):
    pod, container, _ = driver(objects, look, name)
    (submit,) = (entry["value"] for entry in container["env"] if entry["name"] == "PYSPARK_SUBMIT_ARGS")
    words = shlex.split(submit)
    assert words[:2] == ["--properties-file", "/etc/spark/spark.conf"]
    assert words[-1] == "pyspark-shell"
    # Spark 4 gives executors the bind address of the driver, not its host.
    assert {"spark.driver.host=$(POD_IP)", "spark.driver.bindAddress=$(POD_IP)"} <= set(words)
    assert "spark.kubernetes.driver.pod.name=$(POD_NAME)" in words
    ports = {port["containerPort"] for port in container["ports"]}
    assert {int(settings["spark.driver.port"]), int(settings["spark.driver.blockManager.port"])} <= ports
    assert pod["spec"]["serviceAccountName"] == name


@pytest.mark.parametrize("name", OPERATORS)
def test_a_driver_has_minimal_rights(look, name):
    written = list(yaml.safe_load_all((look.k3s / "example" / name / "rbac.yaml").read_text()))
    for each in written:
        del each["metadata"]["labels"]
        assert each["metadata"].pop("namespace") == "taxi"
    assert written[2]["subjects"][0].pop("namespace") == "taxi"
    assert written == yaml.safe_load(driver_account(name, name))["items"]
