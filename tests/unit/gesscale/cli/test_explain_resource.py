"""``gesscale explain --kubernetes`` with a scripted API server."""

import json
from pathlib import Path

import pytest
import typer
import yaml
from click.testing import Result
from model_summaries import both_laws
from recorded_steps import T0_S, after, ordered, overloaded
from scripted_api import as_json, refusal, scripted_api
from typer.testing import CliRunner

from gesscale.cli.explain import explain
from gesscale.common.errors import Problem
from gesscale.errors import ClusterError, InputError
from gesscale.kubernetes.reporting.status import new_status

STATUS = new_status({}, after(overloaded(model=both_laws()), ordered()), T0_S)
RESOURCE = {"metadata": {"namespace": "streams", "name": "op"}, "status": STATUS}


@pytest.fixture
def api():
    with scripted_api() as script:
        yield script


@pytest.fixture
def kubeconfig(api, tmp_path: Path) -> Path:
    file = tmp_path / "kubeconfig"
    context = {"cluster": "edge", "user": "me", "namespace": "streams"}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": context}],
        "clusters": [{"name": "edge", "cluster": {"server": api.url}}],
        "users": [{"name": "me", "user": {"token": "secret"}}],
    }
    file.write_text(yaml.safe_dump(document))
    return file


def run(kubeconfig: Path, *arguments: object) -> Result:
    app = typer.Typer()
    app.command()(explain)
    given = ["--kubernetes", "--kubeconfig", kubeconfig, *arguments]
    return CliRunner(env={"COLUMNS": "150"}).invoke(app, [str(each) for each in given])


def test_the_status_of_a_resource_is_explained(api, kubeconfig: Path) -> None:
    api.answers(as_json(RESOURCE))
    result = run(kubeconfig, "op")
    assert result.exit_code == 0, result.exception
    assert api.requests[0].path == "/apis/gesscale.dev/v1alpha1/namespaces/streams/streamautoscalers/op"
    assert "port-forward" in result.stderr
    for words in (
        "streams/op: 20",  # and the rest of the instant
        "replicas 2 -> 3 (Overloaded, +mid): saturated",
        "More, Overloaded",
        "812 rows/s",
        "hub, near: NDmax 10 ms",
        "hub, mid, near",
        "Ordered",
        "2 -> 3",
        "batch-time decides; held-out error 4.0 % over 3 placements; fitted",
        "eq1: alpha 2000 rows/s (1800 to 2200)",
        "pair_trips 2 (not identified)",
    ):
        assert words in result.stdout


def test_all_resources_are_written_as_they_stand(api, kubeconfig: Path) -> None:
    other = {"metadata": {"namespace": "streams", "name": "clean"}}
    api.answers(as_json({"items": [RESOURCE, other], "metadata": {}}))
    written = json.loads(run(kubeconfig, "--output", "json").stdout)["streamautoscalers"]
    assert [each["metadata"]["name"] for each in written] == ["clean", "op"]
    assert written[1] == RESOURCE
    assert "streams/clean: " in run(kubeconfig).stdout


def test_a_missing_resource_and_a_forbidden_request_are_errors(api, kubeconfig: Path) -> None:
    api.answers(refusal(404, "NotFound", "no"))
    missing = run(kubeconfig, "nobody").exception
    assert isinstance(missing, InputError)
    assert missing.problem == Problem("resource-missing", {"namespace": "streams", "name": "nobody"})
    api.answers(refusal(403, "Forbidden", "no"))
    assert isinstance(run(kubeconfig, "op").exception, ClusterError)
