"""Sources of the images, and the entry point by which Spark starts executors."""

import json
import os
import re
import subprocess
import sys

import pytest


@pytest.fixture
def images(look):
    return look.root / "deploy" / "images"


DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.fixture
def pin(images, tmp_path):
    """Run pin.py on metadata in the form of buildx."""

    def run(*given):
        files = [tmp_path / f"{number}.json" for number, _ in enumerate(given)]
        for file, text in zip(files, given, strict=True):
            file.write_text(text if isinstance(text, str) else json.dumps(text))
        command = (sys.executable, images / "pin.py", *files)
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    return run


def pushed(name, digest=DIGEST):
    # Output of buildx 0.12 and later with --push --metadata-file, without the provenance.
    return {"image.name": name, "containerimage.digest": digest, "buildx.build.ref": "default/default/x"}


@pytest.mark.parametrize("folder", [".", "overlays/raspberry-pi", "overlays/single-node", "example"])
def test_images_that_were_pushed_are_run_by_their_digests(pin, look, kustomize, tmp_path, folder):
    place = "registry.local:5000/edge/gesscale"
    done = pin(*(pushed(f"{place}-{name}:0.1.0") for name in ("controller", "agent", "taxi")))
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"for executors: spark.kubernetes.container.image {place}-taxi@{DIGEST}\n"
    overlay, component = tmp_path / "overlay", tmp_path / "pinned"
    for at, text in (
        (component, done.stdout),
        (overlay, f"resources: [{os.path.relpath(look.k3s / folder, overlay)}]\ncomponents: [../pinned]\n"),
    ):
        at.mkdir()
        (at / "kustomization.yaml").write_text(text)
    used = {each["image"] for _, pod in look.pods(kustomize(overlay)) for each in look.containers(pod)}
    names = {"taxi"} if folder == "example" else {"controller", "agent"}
    assert used == {f"{place}-{name}@{DIGEST}" for name in names}


def test_no_image_runs_as_root(images):
    text = (images / "Dockerfile").read_text()
    for stage in ("agent", "taxi", "controller"):
        (body,) = re.findall(rf"^FROM python AS {stage}\n(.*?)(?=^FROM|\Z)", text, re.MULTILINE | re.DOTALL)
        assert re.search(r"^USER (?!0)\d+:(?!0)\d+$", body, re.MULTILINE), (
            stage
        )  # a number, since a name proves nothing


@pytest.fixture
def entry(images, tmp_path):
    """Run the entry point with a java and a spark-submit that record their arguments."""
    for path in (tmp_path / "java", tmp_path / "bin" / "spark-submit"):
        path.parent.mkdir(exist_ok=True)
        path.write_text('#!/bin/bash\nprintf "%s\\n" "${0##*/}" "$@"\n')
        path.chmod(0o755)

    def run(*arguments, **variables):
        environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SPARK_HOME": str(tmp_path), **variables}
        done = subprocess.run(
            (images / "entrypoint.sh", *arguments),
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return done.returncode, done.stdout.splitlines(), done.stderr

    return run


EXECUTOR = {
    "SPARK_EXECUTOR_MEMORY": "512m", "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.1:7078",
    "SPARK_EXECUTOR_ID": "3", "SPARK_EXECUTOR_CORES": "1", "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.2", "SPARK_RESOURCE_PROFILE_ID": "0", "SPARK_EXECUTOR_POD_NAME": "exec-3",
}  # fmt: skip


def test_an_executor_gets_its_options_in_order(entry):
    options = {f"SPARK_JAVA_OPT_{number}": f"-Dn{number}=a b{number}" for number in range(12)}
    code, printed, _ = entry("executor", **EXECUTOR, **options)
    assert code == 0
    assert printed[:13] == ["java", *(f"-Dn{number}=a b{number}" for number in range(12))]  # 10 comes after 9
    assert printed[13:15] == ["-Xms512m", "-Xmx512m"]
    given = dict(
        zip(printed[printed.index("--driver-url") :: 2], printed[printed.index("--driver-url") + 1 :: 2], strict=True)
    )
    assert given == {
        "--driver-url": EXECUTOR["SPARK_DRIVER_URL"], "--executor-id": "3", "--cores": "1", "--app-id": "spark-1",
        "--hostname": "10.0.0.2", "--resourceProfileId": "0", "--podName": "exec-3",
    }  # fmt: skip


@pytest.mark.parametrize(("node", "cores"), [("nuc1", "8"), ("pi4a", "2"), ("pi3a", "1"), ("nuc", "1")])
def test_an_executor_has_the_slots_of_its_node(entry, node, cores):
    _, printed, _ = entry("executor", **EXECUTOR, GESSCALE_SLOTS="nuc1=8 pi4a=2", SPARK_EXECUTOR_ATTRIBUTE_NODE=node)
    assert printed[printed.index("--cores") + 1] == cores


@pytest.mark.parametrize("slots", ["nuc1=much", "nuc1=0", "nuc1=", "nuc1=-1"])
def test_slots_that_are_no_number_are_refused(entry, slots):
    code, printed, errors = entry("executor", **EXECUTOR, GESSCALE_SLOTS=slots, SPARK_EXECUTOR_ATTRIBUTE_NODE="nuc1")
    assert (code, printed) == (64, [])
    assert slots in errors


def test_a_driver_of_spark_submit_runs_in_client_mode(entry):
    code, printed, _ = entry("driver", "--properties-file", "p", "job.py", SPARK_DRIVER_BIND_ADDRESS="10.0.0.1")
    assert code == 0
    assert printed == [
        "spark-submit", "--conf", "spark.driver.bindAddress=10.0.0.1", "--deploy-mode", "client",
        "--properties-file", "p", "job.py",
    ]  # fmt: skip
