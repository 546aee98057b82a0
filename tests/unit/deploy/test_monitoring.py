"""Configuration and rules of Prometheus by promtool, and that every metric they use is exported."""

import json
import re
import subprocess

import pytest
import yaml
from model_summaries import both_laws

from gesscale.loop import PHASES
from gesscale.model.decision import MapStatus, Reason
from gesscale.service.metrics import ApiFigures, OperatorFigures, ScalerMetrics, StepFigures
from perfmodel import Estimate

METRIC = re.compile(r"\bgesscale_[a-z_]+")
VARIABLES = {
    "$__rate_interval": "5m", "$namespace": ".*", "$workflow": ".*", "$operator": ".*", "${datasource}": "",
}  # fmt: skip


@pytest.fixture
def folder(look):
    return look.k3s / "monitoring"


@pytest.fixture
def dashboard(folder):
    return json.loads((folder / "grafana" / "gesscale.json").read_text())


def expressions(dashboard):
    return [target["expr"] for panel in dashboard["panels"] if panel["type"] != "row" for target in panel["targets"]]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_the_rules_are_sound_and_fire_when_they_must(promtool, folder):
    rules = folder / "prometheus"
    checked = run(promtool, "check", "rules", rules / "rules.yaml")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    tested = run(promtool, "test", "rules", rules / "rules_test.yaml")
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_prometheus_takes_the_scrape_configuration(promtool, folder, tmp_path):
    source = folder / "prometheus"
    (tmp_path / "rules.yaml").write_text((source / "rules.yaml").read_text())
    config = tmp_path / "prometheus.yaml"
    config.write_text((source / "prometheus.yaml").read_text())
    checked = run(promtool, "check", "config", config)
    if "kubernetes_sd_configs not found" in checked.stderr:
        # Debian's Prometheus lacks the Kubernetes discovery: check the rest of the job without it.
        whole = yaml.safe_load(config.read_text())
        for job in whole["scrape_configs"]:
            job.pop("kubernetes_sd_configs", None)
        config.write_text(yaml.safe_dump(whole))
        checked = run(promtool, "check", "config", config)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_rules_of_the_operator_are_equal(folder, look):
    plain = yaml.safe_load((folder / "prometheus" / "rules.yaml").read_text())
    wrapped = yaml.safe_load((look.k3s / "components/prometheus-operator/rules.yaml").read_text())
    assert wrapped["spec"] == plain, "write it again: the command stands in its second line"


def test_scrapes_and_monitors_use_the_listening_ports(folder, look, render):
    jobs = {
        job["job_name"]: job
        for job in yaml.safe_load((folder / "prometheus" / "prometheus.yaml").read_text())["scrape_configs"]
    }
    services = {
        each["metadata"]["name"]: each["spec"]["ports"][0]["port"] for each in render(".") if each["kind"] == "Service"
    }
    for job in ("gesscale-controller", "gesscale-latency-agent"):
        (place,) = jobs[job]["dns_sd_configs"]
        (name,) = place["names"]
        service, namespace, *_ = name.split(".")
        assert namespace == "gesscale"
        assert services.pop(service) == place["port"]
    assert services == {}
    (selector,) = jobs["gesscale-driver"]["kubernetes_sd_configs"][0]["selectors"]
    for driver in ("clean", "nearest"):
        labels = look.find(render("example"), "StatefulSet", driver)["spec"]["template"]["metadata"]["labels"]
        assert labels["spark-role"] == "driver"
        assert "gesscale.dev/autoscaler" in labels
    assert selector["label"] == "spark-role=driver,gesscale.dev/autoscaler"


def test_every_panel_has_a_valid_query(promtool, dashboard, tmp_path):
    rules = []
    for number, expression in enumerate(expressions(dashboard)):
        asked = re.sub("|".join(map(re.escape, VARIABLES)), lambda found: VARIABLES[found[0]], expression)
        rules.append({"record": f"panel:{number}", "expr": asked})
    path = tmp_path / "panels.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    checked = run(promtool, "check", "rules", path)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.fixture(scope="module")
def exported():
    """Names and labels of every series that the controller, the drivers and the agents serve."""
    from gesscale.spark.metrics import operator_metrics
    from gesscale.spark.records import QuerySettings
    from latency_map.measure.gauges import PREFIX

    asked = ApiFigures(requests={("get", "nodes", "200"): 1}, stale_s={"nodes": 0.0}, missing_rights=0)
    metrics = ScalerMetrics("1", lambda: asked)
    metrics.lead(True)
    figures = OperatorFigures(
        min_replicas=1, max_replicas=4, ordered_replicas=3, running_replicas=2, working_replicas=2,
        input_rows_per_s=1.0,
        throughput_rows_per_s=1.0, backlog_rows=1.0, mst=Estimate(low=1.0, mid=2.0, high=3.0), nd_max_s=0.1,
        saturated_share=0.5, order_pending_s=1.0, model=both_laws(), growth_blocked_by=Reason.DELAY_EATS_GAIN,
    )  # fmt: skip
    step = StepFigures(at_s=1.0, operators={"o": figures}, latency_map=MapStatus(age_s=1.0))
    metrics.step_done("n", "w", step, ())
    with metrics.measure_phase(PHASES[0]):
        pass
    metrics.rescale_took(1.0)
    families = list(metrics.registry.collect())
    settings = QuerySettings(app="a", operator="o", cap_rows=None, cap_rows_per_replica=None, trigger_s=None)
    names = set()
    for family in families:
        names |= {family.name, *(sample.name for sample in family.samples)}
        if family.type == "counter":
            names.add(f"{family.name}_total")
    names |= {family.name for family in operator_metrics(settings, [], None, 0, {})}
    return names | {f"{PREFIX}rtt_seconds"}


def test_rules_and_panels_use_exported_metrics_only(folder, dashboard, exported):
    rules = yaml.safe_load((folder / "prometheus" / "rules.yaml").read_text())
    asked = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    asked += expressions(dashboard)
    named = {name for expression in asked for name in METRIC.findall(expression)}
    assert named <= exported
    assert len(named) > 15
