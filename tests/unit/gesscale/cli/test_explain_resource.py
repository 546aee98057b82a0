"""``gesscale explain --kubernetes`` with a scripted API server."""

import json
from pathlib import Path

import pytest
import typer
import yaml
from click.testing import Result
from model_summaries import both_laws
from page_world import growing, served, step_of
from recorded_steps import T0_S, after, order, ordered, overloaded
from refusals import codes
from scripted_api import Answer, as_json, refusal, scripted_api
from typer.testing import CliRunner

from gesscale.cli import explain_resource
from gesscale.cli.explain import explain
from gesscale.kubernetes.reporting.status import new_status
from gesscale.kubernetes.resource.status import NodePoolStatus, RejectedStatus
from testbed.free_port import free_port

POOL = NodePoolStatus(
    candidates=1, rejected=(RejectedStatus(reason="NoRoom", count=2, message="edge: 512 MiB are free"),)
)
STATUS = new_status({}, after(overloaded(model=both_laws()), ordered(), node_pool=POOL), T0_S)
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


@pytest.fixture
def no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nothing on the default address."""
    monkeypatch.setattr(explain_resource, "_PAGE", f"http://127.0.0.1:{free_port()}")


def items(*resources: object) -> Answer:
    return as_json({"items": list(resources), "metadata": {}})


LEASE = {"spec": {"holderIdentity": "gesscale-controller-5f7_0a1b"}}


@pytest.mark.usefixtures("no_page")
def test_without_the_page_the_status_is_explained(api, kubeconfig: Path) -> None:
    api.answers(items(RESOURCE), as_json(LEASE), as_json({"metadata": {}}))
    result = run(kubeconfig, "op")
    assert result.exit_code == 0, result.exception
    assert [each.path for each in api.requests] == [
        "/apis/gesscale.dev/v1alpha1/namespaces/streams/streamautoscalers",
        "/apis/coordination.k8s.io/v1/namespaces/gesscale/leases/gesscale-controller",
        "/api/v1/namespaces/gesscale/pods/gesscale-controller-5f7",
    ]
    assert result.stderr.count("kubectl -n gesscale port-forward gesscale-controller-5f7 8080") == 1
    for words in (
        "streams/op: replicas 2 -> 3 (Overloaded, +mid): saturated",
        "812 rows/s",
        "hub, near: NDmax 10 ms",
        "hub, mid, near",
        "Ordered",
        "ineligible edge",
        "NoRoom: 512 MiB are free; 1 others too",
        "Ready",
    ):
        assert words in result.stdout


@pytest.mark.usefixtures("no_page")
def test_without_a_pod_that_leads_there_is_no_page_to_forward(api, kubeconfig: Path) -> None:
    for others in (
        (refusal(404, "NotFound", "no"),),
        (refusal(403, "Forbidden", "no"),),
        (as_json(LEASE), refusal(404, "NotFound", "the holder is no pod")),
    ):
        api.answers(items(RESOURCE), *others)
        assert "port-forward" not in run(kubeconfig, "op").stderr


def test_the_page_has_the_decisions_with_all_figures(api, kubeconfig: Path) -> None:
    api.answers(items(RESOURCE))
    with served() as world:
        for before_s in (20, 10, 0):
            world.add(step_of({"op": growing(T0_S - before_s)}, name="streams/op"))
        result = run(kubeconfig, "op", "--page", world.url, "-n", 2)
        document = json.loads(run(kubeconfig, "--page", world.url, "-n", 2, "-o", "json").stdout)
    assert result.exit_code == 0, result.exception
    # The two newest decisions, each with what it was compared with and the nodes that lost.
    assert result.stdout.count("op: replicas 2 -> 3 (Overloaded, +mid)") == 2
    assert result.stdout.count("Farther: NDmax 200 ms") == 2
    assert "rows wait up to 61 s, late by 16 s" in result.stdout
    assert "port-forward" not in result.stderr
    assert [each["at_s"] for each in document["decisions"]] == [T0_S, T0_S - 10]


def test_the_page_of_another_cluster_is_not_taken_for_this_one(
    api, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.answers(items(RESOURCE), refusal(404, "NotFound", "no"))
    with served() as world:
        monkeypatch.setattr(explain_resource, "_PAGE", world.url)
        world.add(step_of({"op": growing(T0_S - 3600)}, name="streams/op"))
        assert json.loads(run(kubeconfig, "op", "-o", "json").stdout)["decisions"] == []
        world.add(step_of({"op": growing(T0_S)}, name="streams/op"))
        api.answers(items(RESOURCE))
        assert len(json.loads(run(kubeconfig, "op", "-o", "json").stdout)["decisions"]) == 2


@pytest.mark.usefixtures("no_page")
def test_no_more_orders_are_shown_than_asked_for(api, kubeconfig: Path) -> None:
    history = [order(T0_S - 100 * each, 3.0).document() for each in (1, 2, 3)]
    status = STATUS | {"order": order().document(), "history": history}
    api.answers(items({**RESOURCE, "status": status}), as_json(LEASE))
    # 2027-01-15T08:00:00Z and 100 s earlier
    shown = run(kubeconfig, "op", "-n", 2).stdout
    assert [moment in shown for moment in ("08:00:00Z", "07:58:20Z", "07:56:40Z")] == [True, True, False]


@pytest.mark.usefixtures("no_page")
def test_all_resources_are_written_as_they_stand(api, kubeconfig: Path) -> None:
    other = {"metadata": {"namespace": "streams", "name": "clean"}}
    api.answers(items(RESOURCE, other))
    written = json.loads(run(kubeconfig, "--output", "json").stdout)["streamautoscalers"]
    assert [each["metadata"]["name"] for each in written] == ["clean", "op"]
    assert written[1] == RESOURCE


@pytest.mark.usefixtures("no_page")
@pytest.mark.parametrize(
    ("answer", "name", "code", "fields"),
    [
        (items(RESOURCE), "ob", "resource-missing", {"namespace": "streams", "name": "ob", "nearest": ["op"]}),
        (refusal(404, "NotFound", "no such kind"), "op", "kubernetes-kind-unknown", {"status": 404}),
        (refusal(404, "NotFound", "no such kind"), None, "kubernetes-kind-unknown", {"status": 404}),
        (refusal(403, "Forbidden", "no"), "op", "explain-forbidden", {"scope": "namespace streams", "cause": "no"}),
        (refusal(403, "Forbidden", "no"), None, "explain-forbidden", {"scope": "all namespaces", "cause": "no"}),
    ],
)
def test_what_is_missing_is_named(api, kubeconfig: Path, answer, name, code, fields) -> None:
    api.answers(answer)
    error = run(kubeconfig, *([name] if name else [])).exception
    assert error.code == code
    assert {key: error.fields[key] for key in fields} == fields


@pytest.mark.usefixtures("no_page")
def test_a_namespace_without_resources_is_a_warning(api, kubeconfig: Path) -> None:
    api.answers(items())
    result = run(kubeconfig, "--namespace", "empty")
    assert result.exit_code == 0
    assert codes(result.stderr) == ["resources-absent"]


def test_a_named_page_must_answer(api, kubeconfig: Path) -> None:
    api.answers(items(RESOURCE))
    error = run(kubeconfig, "op", "--page", f"http://127.0.0.1:{free_port()}").exception
    assert error.code == "controller-page-unreadable"
