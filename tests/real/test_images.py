"""The images of controller and agent, built and run."""

import json

import pytest
from images import ROOT, VERSION, archived, buildah, built, in_image

pytestmark = [pytest.mark.real, pytest.mark.timeout(1500)]


def test_the_controllers_image_runs_gesscale_as_nobody():
    assert in_image("controller", "gesscale", "--version") == f"gesscale {VERSION}"
    assert in_image("controller", "id", "-u") == "65532"


def test_the_controllers_image_reads_every_source_that_a_resource_may_name():
    wanted = (
        "import kubernetes, confluent_kafka, ping3, prometheus_api_client, gesscale.kubernetes.controller"
    )
    in_image("controller", "python", "-c", wanted)


def test_the_agents_image_holds_what_the_agent_needs_and_no_more():
    assert "--peers-dns" in in_image("agent", "python", "-m", "latency_map.measure.agent", "--help")
    assert in_image("agent", "id", "-u") == "65532"
    assert (
        in_image("agent", "python", "-c", "from importlib.util import find_spec as f; print(f('scipy'))")
        == "None"
    )


@pytest.mark.parametrize(("target", "megabytes"), [("agent", 220), ("controller", 600)])
def test_images_stay_small_enough_for_an_sd_card(target, megabytes):
    # 186 MB and 515 MB when written; a fifth more means that something slipped in.
    assert archived(target).stat().st_size < megabytes * 1e6


@pytest.mark.parametrize("target", ["agent", "controller"])
def test_nothing_of_the_builder_is_left_in_an_image(target):
    found = in_image(
        target, "sh", "-c", "cat /etc/pip.conf 2>/dev/null; ls /tools /build /root/.cache 2>/dev/null; exit 0"
    )
    assert found == ""
    settings = json.loads(buildah("inspect", "--type", "image", built(target)))["OCIv1"]["config"]
    assert str(ROOT) not in json.dumps(settings)
    assert settings["User"] == "65532:65532"
