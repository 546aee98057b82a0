"""The Helm chart, generated from kustomize; `tests/real/test_release.py` renders it with Helm."""

import copy
import json
import re
import sys

import pytest
import yaml


@pytest.fixture(scope="module")
def chart(look):
    folder = str(look.root / "deploy" / "release")
    sys.path.insert(0, folder)
    try:
        import chart
    finally:
        sys.path.remove(folder)
    return chart


@pytest.fixture
def objects(render, look):
    monitors = look.root / "deploy" / "k3s" / "components" / "prometheus-operator" / "monitors.yaml"
    return [*render("."), *yaml.safe_load_all(monitors.read_text())]


@pytest.fixture
def files(chart, objects):
    options = {"controller.args": ["listen", "lease-namespace"]}
    made = chart.chart_files(objects, version="1.2.3", description="scales streams", options=options)
    return {path: content.decode() for path, content in made.items()}


def test_every_object_but_the_namespace_has_a_file_and_the_definition_is_no_template(files, objects):
    made = {path for path in files if path.startswith(("templates/", "crds/"))}
    # without the namespace, and with the notes and the check of the namespace
    assert len(made) == len(objects) - 1 + 2
    assert "templates/namespace-gesscale.yaml" not in made
    definition = files["crds/streamautoscalers.gesscale.dev.yaml"]
    assert "{{" not in definition
    assert yaml.safe_load(files["Chart.yaml"])["version"] == "1.2.3"


def test_values_are_those_of_the_base_and_each_has_a_schema(chart, files, render, look):
    values, schema = yaml.safe_load(files["values.yaml"]), json.loads(files["values.schema.json"])
    controller = look.find(render("."), "Deployment", "gesscale-controller")
    assert values["controller"]["replicas"] == controller["spec"]["replicas"]
    (container,) = controller["spec"]["template"]["spec"]["containers"]
    assert values["controller"]["resources"] == container["resources"]
    assert schema["additionalProperties"] is False
    assert values["serviceMonitor"] == {"enabled": False, "labels": {}}
    assert (values["controller"]["nodeSelector"], values["agent"]["imagePullSecrets"]) == ({}, [])
    assert values["controller"]["tolerations"] == controller["spec"]["template"]["spec"]["tolerations"]
    pattern = schema["properties"]["controller"]["properties"]["args"]["items"]["pattern"]
    for right in (*values["controller"]["args"], "--lease-namespace=edge"):
        assert re.search(pattern, right)
    for wrong in ("--listne=1", "--listen", "--kubernetes", "listen=1", "x --listen=1"):
        assert not re.search(pattern, wrong)
    for each in chart.CHART_VALUES:
        group, key = each.name.split(".")
        assert schema["properties"][group]["properties"][key]["description"] == each.about
        assert schema["properties"][group]["additionalProperties"] is False


def test_braces_of_an_object_stay_text(files):
    rules = files["templates/configmap-gesscale-prometheus.yaml"]
    # {{ $value }} of a rule: Helm writes the quoted text
    assert '{{ "{{" }} $value {{ "}}" }}' in rules
    own = re.sub(r'\{\{ "(\{\{|\}\})" \}\}', "", rules)
    assert re.findall(r"\{\{.*?\}\}", own) == ["{{- if .Values.monitoring.enabled }}", "{{- end }}"]


def test_a_value_without_its_field_is_an_error(chart, objects):
    objects = copy.deepcopy(objects)
    (deployment,) = (each for each in objects if each["kind"] == "Deployment")
    del deployment["spec"]["replicas"]
    with pytest.raises(LookupError, match=r"controller\.replicas: expected spec\.replicas in Deployment"):
        chart.chart_files(objects, version="1.2.3", description="scales streams")
