import json
from pathlib import Path

import pytest
from refusals import logged_codes, refused

from gesscale.errors import InputError
from gesscale.spark import place
from gesscale.spark.kubernetes_api import ApiServer
from gesscale.spark.scheduler import TEMPLATE_SETTING
from gesscale.spark.session_setup import DEFAULTS, read_base_template, submit_settings
from gesscale.wire import AUTOSCALERS_PATH

PATH = f"{AUTOSCALERS_PATH.format(namespace='streams')}/taxi"
ORDER = {"id": "7-3", "term": 7, "placement": ["a", "b"], "at": "2026-11-21T20:58:08Z"}


class Builder:
    """The part of a session builder that `place` uses."""

    def __init__(self, **settings):
        self._options = {f"spark.{name.replace('_', '.')}": value for name, value in settings.items()}

    def config(self, name, value):
        self._options[name] = value
        return self

    def __getitem__(self, name):
        return self._options.get(name)


@pytest.fixture(autouse=True)
def _no_arguments(monkeypatch):
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


@pytest.fixture
def server(httpserver):
    return ApiServer(url=httpserver.url_for("").rstrip("/"), namespace="streams", timeout_s=2.0)


def template(builder):
    return json.loads(Path(builder[TEMPLATE_SETTING]).read_text())


def test_an_older_spark_places_nothing_and_says_so(caplog, monkeypatch):
    monkeypatch.setattr("pyspark.__version__", "3.5.9")
    builder = place(Builder(master="k8s://x"), autoscaler="taxi")
    assert builder._options == {"spark.master": "k8s://x"}
    assert logged_codes(caplog.text) == ["spark-version-advice-only"]


def test_outside_kubernetes_nothing_is_changed(caplog):
    builder = place(Builder(master="local[2]"), autoscaler="taxi")
    assert builder._options == {"spark.master": "local[2]"}
    assert logged_codes(caplog.text) == ["driver-outside-kubernetes"]


def test_a_restarted_driver_returns_to_its_placement(httpserver, server):
    httpserver.expect_request(PATH).respond_with_json(
        {"metadata": {"uid": "u"}, "spec": {"minReplicas": 1}, "status": {"order": ORDER}}
    )
    builder = place(Builder(master="k8s://x"), autoscaler="taxi", server=server)
    assert builder["spark.executor.instances"] == "2"
    assert builder["spark.gesscale.order"] == "7-3"
    assert builder["spark.gesscale.namespace"] == "streams"
    assert builder["spark.decommission.enabled"] == "true"
    assert template(builder)["metadata"]["annotations"] == {"gesscale.dev/order": "7-3"}


def test_the_users_settings_are_kept(httpserver, server, tmp_path):
    httpserver.expect_request(PATH).respond_with_json({"metadata": {"uid": "u"}, "spec": {}})
    own = tmp_path / "pod.yaml"
    own.write_text("spec: {tolerations: [{operator: Exists}]}")
    builder = Builder(master="k8s://x", executor_maxNumFailures="5", kubernetes_executor_podTemplateFile=str(own))
    place(builder, autoscaler="taxi", server=server)
    assert builder["spark.executor.maxNumFailures"] == "5"
    assert builder["spark.executor.failuresValidityInterval"] == "1h"
    assert DEFAULTS.items() <= {**builder._options, "spark.executor.maxNumFailures": "1000000"}.items()
    assert template(builder)["spec"]["tolerations"] == [{"operator": "Exists"}]
    assert own.read_text() == "spec: {tolerations: [{operator: Exists}]}"


@pytest.mark.parametrize("status", [404, 403, 500])
def test_without_the_resource_executors_start_anywhere(httpserver, server, caplog, status):
    httpserver.expect_request(PATH).respond_with_json({"message": "no"}, status=status)
    builder = place(Builder(master="k8s://x", executor_instances="3"), autoscaler="taxi", server=server)
    assert builder["spark.executor.instances"] == "3"
    assert template(builder)["spec"]["affinity"]["nodeAffinity"] == {}
    assert logged_codes(caplog.text) == ["first-placement-unknown"]


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"dynamicAllocation_enabled": "true"}, "dynamic-allocation-enabled"),
        ({"kubernetes_allocation_pods_allocator": "statefulset"}, "pods-allocator-unsupported"),
        ({"kubernetes_executor_podTemplateFile": "s3a://bucket/pod.yaml"}, "pod-template-remote"),
    ],
)
def test_incompatible_settings_are_rejected(settings, code):
    with refused(code, InputError):
        place(Builder(master="k8s://x", **settings), autoscaler="taxi")


@pytest.mark.parametrize(("text", "code"), [("a: [", "pod-template-unreadable"), ("- a", "pod-template-invalid")])
def test_an_unreadable_template_is_rejected(tmp_path, text, code):
    (tmp_path / "pod.yaml").write_text(text)
    with refused(code, InputError):
        read_base_template((tmp_path / "pod.yaml").as_uri())


def test_the_first_order_of_a_controller_is_awaited(httpserver, server):
    fresh = {"spec": {"mode": "Act"}}
    for document in (fresh, fresh, {**fresh, "status": {"order": ORDER}}):
        httpserver.expect_ordered_request(PATH).respond_with_json(document)
    builder = place(Builder(master="k8s://x"), "taxi", "streams", server=server)
    assert (builder["spark.gesscale.order"], builder["spark.executor.instances"]) == ("7-3", "2")


@pytest.mark.parametrize(
    "document",
    [
        {"spec": {}},  # the mode is Recommend
        {"spec": {"mode": "Act", "pause": {"reason": "cabling"}}},
    ],
)
def test_without_a_future_order_the_job_starts_at_once(httpserver, server, document):
    httpserver.expect_oneshot_request(PATH).respond_with_json(document)  # a second request would be an error
    builder = place(Builder(master="k8s://x"), "taxi", "streams", server=server)
    assert builder["spark.executor.instances"] == "1"


def test_without_a_controller_the_job_starts_after_a_while(httpserver, server):
    httpserver.expect_request(PATH).respond_with_json({"spec": {"mode": "Act", "minReplicas": 2}})
    builder = place(Builder(master="k8s://x"), "taxi", "streams", server=server, first_order_timeout_s=0.2)
    assert builder["spark.executor.instances"] == "2"


def test_direct_settings_override_a_properties_file(tmp_path):
    file = tmp_path / "spark.conf"
    file.write_text("# both\nspark.master   k8s://https://x:6443\nspark.a=b c\n\nspark.d : e\nspark.f\n")
    assert submit_settings(f"--properties-file {file} --conf spark.d=z pyspark-shell") == {
        "spark.master": "k8s://https://x:6443",
        "spark.a": "b c",
        "spark.d": "z",
    }
    assert submit_settings("--properties-file /nowhere pyspark-shell") == {}
