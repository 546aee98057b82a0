"""All of deploy/k3s as rendered by kubectl: complete, restricted, consistent."""

import os
from importlib.metadata import version

import pytest

INSTALLED = (".", "overlays/raspberry-pi", "overlays/single-node")
ALL = (*INSTALLED, "example")


@pytest.mark.parametrize("folder", ALL)
def test_every_namespace_is_restricted(render, folder):
    for each in render(folder):
        if each["kind"] == "Namespace":
            assert each["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


@pytest.mark.parametrize("folder", ALL)
def test_every_pod_keeps_the_restricted_standard(render, look, folder):
    for name, pod in look.pods(render(folder)):
        context = pod["spec"]["securityContext"]
        assert context["runAsNonRoot"] is True, name
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod["spec"].keys(), name
        assert not [volume for volume in pod["spec"].get("volumes", []) if "hostPath" in volume], name
        for container in look.containers(pod):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, (name, container["name"])


@pytest.mark.parametrize("folder", ALL)
def test_every_container_has_requests_and_a_memory_limit(render, look, folder):
    for name, pod in look.pods(render(folder)):
        for container in look.containers(pod):
            resources = container["resources"]
            assert resources["requests"].keys() == {"cpu", "memory"}, name
            assert "memory" in resources["limits"], name


@pytest.mark.parametrize("folder", INSTALLED)
def test_controller_and_agent_are_limited_to_one_core(render, look, folder):
    # One thread of Python uses one core: a lower limit would throttle a step or a measurement.
    limits = {
        name: container["resources"]["limits"].get("cpu")
        for name, pod in look.pods(render(folder))
        for container in look.containers(pod)
    }
    assert limits == {"gesscale-controller": "1", "latency-agent": "1"}


@pytest.mark.parametrize("folder", ALL)
def test_images_are_never_pulled(render, look, folder):
    for name, pod in look.pods(render(folder)):
        for container in look.containers(pod):
            assert container["image"].startswith("localhost/gesscale-"), name
            assert container["image"].endswith(f":{version('gesscale')}"), name
            assert container["imagePullPolicy"] == "IfNotPresent", name


@pytest.mark.parametrize("folder", ALL)
def test_services_and_policies_choose_pods_that_exist(render, look, folder):
    objects = render(folder)
    labels = [pod["metadata"]["labels"] for _, pod in look.pods(objects)]
    labels.append({"spark-role": "executor"})  # set by Spark at run time
    for each in objects:
        if each["kind"] == "Service":
            wanted = each["spec"]["selector"]
        elif each["kind"] == "NetworkPolicy":
            if each["metadata"]["namespace"] == "gesscale" and folder == "example":
                continue
            wanted = each["spec"]["podSelector"].get("matchLabels", {})
        else:
            continue
        assert any(wanted.items() <= have.items() for have in labels), each["metadata"]["name"]


def test_the_executors_image_is_pulled_onto_every_node(look, kustomize, tmp_path):
    component = os.path.relpath(look.k3s / "components/executor-image", tmp_path)
    images = "images: [{name: spark-executor, newName: r/taxi, newTag: '1'}]"
    (tmp_path / "kustomization.yaml").write_text(f"namespace: taxi\ncomponents: [{component}]\n{images}\n")
    (waiting,) = kustomize(tmp_path)
    (container,) = look.containers(waiting["spec"]["template"])
    assert (waiting["kind"], waiting["metadata"]["namespace"], container["image"]) == ("DaemonSet", "taxi", "r/taxi:1")
