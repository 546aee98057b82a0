"""``gesscale run``, ``once`` and ``recommend`` against a working driver and broken ones."""

import json
import re

import pytest
from edge import ACTING, FakeCluster, only_decision
from refusals import codes
from werkzeug import Response

from gesscale.errors import ClusterError


def test_recommend_names_the_nearest_node_and_never_acts(gesscale, site):
    site.serve_overload()
    code, out, _ = gesscale("recommend", "-c", site.config, *ACTING, "--output", "json")
    decision = only_decision(out)
    assert code == 0
    # Round trips from hub and near, the larger of the two: mid 50 ms, far 200 ms, edge 300 ms.
    assert decision["plan"]["change"] == {"add": ["mid"], "remove": []}
    assert decision["plan"]["nd_max_ms"] == 50.0
    assert decision["outcome"]["status"] == "NotAllowed"
    assert not decision["acted"]
    assert site.cluster.orders == []


def test_once_acts_where_the_mode_is_act(gesscale, site):
    site.serve_overload()
    code, out, _ = gesscale("once", "-c", site.config, *ACTING, "--output", "json")
    assert code == 0
    assert only_decision(out)["acted"]
    assert site.cluster.orders == [("op", ("hub", "mid", "near"))]


def test_the_table_is_not_truncated_and_begins_with_the_sentence(gesscale, site, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    site.answer(lambda: Response("broken", status=500))
    code, out, _ = gesscale("recommend", "-c", site.config)
    assert code == 1
    assert "…" not in out
    assert "MetricsMissing" in out  # words are whole, however narrow the terminal
    assert "op: replicas unknown (MetricsMissing)" in " ".join(out.split())


def test_overloaded_without_a_free_node_exits_3(gesscale, site):
    site.cluster.nodes = {name: site.cluster.nodes[name] for name in ("hub", "near")}
    site.serve_overload()
    code, out, _ = gesscale("once", "-c", site.config, *ACTING, "--output", "json")
    assert (code, only_decision(out)["reason"]) == (3, "NoCandidateNode")


def test_a_failed_change_exits_1(gesscale, site, monkeypatch):
    def refuse(*_):
        message = "no answer"
        raise ClusterError(message)

    monkeypatch.setattr(FakeCluster, "apply", refuse)
    site.serve_overload()
    code, out, _ = gesscale("once", "-c", site.config, *ACTING, "--output", "json")
    outcome = only_decision(out)["outcome"]
    assert (code, outcome["status"], outcome["detail"]) == (1, "Failed", "no answer")


LIES = {
    "500": lambda site: site.answer(lambda: Response("broken", status=500)),
    "nan": lambda site: site.serve(seconds=float("nan")),
    "nowhere": lambda site: site.serve(hosts=()),
    "hangs": lambda site: site.hang(),
}


@pytest.mark.parametrize("lie", LIES)
def test_unusable_metrics_are_a_decision_without_a_change(gesscale, site, lie):
    LIES[lie](site)
    impatient = ("--set", "monitor.timeout=300ms")
    code, out, _ = gesscale("once", "-c", site.config, *ACTING, *impatient, "--output", "json")
    decision = only_decision(out)
    assert (code, decision["reason"]) == (1, "MetricsMissing")  # no operator could be read
    assert decision["analysis"]["detail"]
    assert decision["plan"]["placement"] == ["hub", "near"]
    assert site.cluster.orders == []


WRONG_SETTINGS = {
    "workflow.operators.op.driver_node=hubb": "node-not-in-latency-map",
    "latency_map.file=none.csv": None,
    "monitor.perod=30s": "setting-unknown",
    "execute.mode=act": "cluster-required",
}


@pytest.mark.parametrize("setting", WRONG_SETTINGS)
def test_a_wrong_setting_exits_2_before_anything_is_begun(gesscale, site, setting):
    first = next(iter(WRONG_SETTINGS))
    others = (("recommend", "-c"), ("run", "--steps", "1", "-c")) if setting == first else ()
    for command in (("config", "validate"), *others):
        code, out, err = gesscale(*command, site.config, "--set", setting)
        assert (code, out) == (2, "")
        assert codes(err) == [WRONG_SETTINGS[setting]] or "latency_map.file" in err
    assert not site.knowledge.exists()


def test_run_writes_the_decisions_of_each_step_as_a_line_of_json(gesscale, site):
    site.serve_overload()
    code, out, err = gesscale("run", "-c", site.config, "--steps", 2, "--set", "monitor.period=1s", "-o", "json")
    assert code == 0
    assert [json.loads(line)["decisions"][0]["operator"] for line in out.splitlines()] == ["op", "op"]
    assert err.splitlines()[-1].endswith("stopped after 2 steps")
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ INFO gesscale.run: op: ", err, re.MULTILINE)


def test_quiet_prints_only_problems(gesscale, site):
    site.serve_overload()
    doubtful = ("--set", "monitor.stale_after=30s")
    code, out, err = gesscale("--quiet", "recommend", "-c", site.config, *doubtful)
    assert code == 0
    assert "op: " in out
    assert codes(err) == ["stale-after-below-period"]
    assert err.count("\n") == 1
    assert codes(gesscale("-q", "recommend", "-c", "nowhere.yaml")[2]) == ["settings-file-unreadable"]
    _, _, err = gesscale("config", "validate", site.config)
    assert "op" in err  # it holds for one command
