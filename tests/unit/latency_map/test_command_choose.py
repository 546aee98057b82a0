"""``gesscale latency-map choose``, ``nearest`` and ``farthest`` as a user runs them."""

import json

import pytest
from typer.testing import CliRunner

from gesscale.cli.latency_map import app
from gesscale.errors import InputError

# d knows a (40) and c (7) but not b
MATRIX = "rtt_ms,a,b,c,d\na,0,2,9,40\nb,2,0,5,\nc,9,5,0,7\nd,40,,7,0\n"
NODES = """
- {name: a, weight: 2, zone: eu, arch: arm64, free_cpus: 3800m, free_memory: 1843Mi}
- {name: b, weight: 1, zone: eu, arch: arm64, free_cpus: 500m, free_memory: 3Gi}
- {name: c, weight: 4, zone: us, arch: amd64, free_cpus: 4, free_memory: 3Gi}
- {name: d, weight: 4, zone: us, arch: arm64, ready: false, remark: kubelet stopped}
- {name: e}
"""
D_IS_OUT = {"node": "d", "reason": "NotReady", "detail": "kubelet stopped"}
E_IS_OUT = {"node": "e", "reason": "DelayUnknown", "detail": "the latency map does not have this node"}


@pytest.fixture
def run(tmp_path):
    file = tmp_path / "map.csv"
    file.write_text(MATRIX)
    (tmp_path / "nodes.yaml").write_text(NODES)

    def invoke(command, *options):
        given = [str(tmp_path / option) if option.endswith(".yaml") else option for option in options]
        return CliRunner().invoke(app, [command, str(file), "--unit", "ms", "--kind", "rtt", *given])

    return invoke


def as_json(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_map_that_check_calls_unusable_is_warned_of(run):
    # Four nodes are six pairs; b - d is not known.
    result = run("choose", "--size", "2")
    assert result.exit_code == 0
    assert "is not usable for decisions as it is: 1 of 6 pairs have no delay" in result.stderr


def test_nearest_ranks_all_other_nodes_unless_told(run):
    document = as_json(run("nearest", "--members", "a, b", "--output", "json"))
    no_delay = {"node": "d", "reason": "DelayUnknown", "detail": "the latency map has no round trip to b"}
    assert document == {
        "ranked": [{"node": "c", "distance_ms": 9.0, "mean_ms": 7.0}],
        "rejections": [no_delay],
    }
    answer = as_json(run("nearest", "--members", "c", "--candidates", "a,d", "--output", "json"))
    assert [item["node"] for item in answer["ranked"]] == ["d", "a"]


def test_nearest_leaves_out_what_may_not_be_added(run):
    options = ("--nodes", "nodes.yaml", "--apart", "zone", "--output", "json")
    document = as_json(run("nearest", "--members", "a", *options))
    assert [item["node"] for item in document["ranked"]] == ["c"]
    with_a = {"node": "b", "reason": "AntiAffinity", "detail": "it may not be with a"}
    assert document["rejections"] == [with_a, D_IS_OUT, E_IS_OUT]


def test_farthest_ranks_the_members_unless_told(run):
    document = as_json(run("farthest", "--members", "a,b,c", "--output", "json"))
    assert [item["node"] for item in document["ranked"]] == ["c", "a", "b"]  # 9 (mean 7), 9 (5.5), 5
    answer = as_json(run("farthest", "--members", "a,b,c", "--candidates", "b,a", "--output", "json"))
    assert [item["node"] for item in answer["ranked"]] == ["a", "b"]


def test_farthest_says_which_members_it_cannot_rank(run):
    document = as_json(run("farthest", "--members", "a,b,d", "--output", "json"))
    assert [item["node"] for item in document["ranked"]] == ["a"]
    assert [item["node"] for item in document["rejections"]] == ["b", "d"]


def test_choose_writes_nodes_and_how_certain_they_are(run):
    document = as_json(run("choose", "--size", "2", "--keep", "c", "--exclude", "b", "--output", "json"))
    assert document == {
        "nodes": ["c", "d"],
        "nd_max_ms": 7.0,
        "optimal": True,
        "gap_ms": 0.0,
        "method": "exact",
        "holds": None,
        "rejections": [{"node": "b", "reason": "Excluded", "detail": "excluded by name"}],
        "if_moved": None,
    }
    assert "NDmax 9 ms round trip, optimal (exact)" in run("choose", "--size", "3").stdout


def test_nodes_that_are_not_fit_are_rejected_with_a_reason(run):
    options = ("--nodes", "nodes.yaml", "--arch", "arm64", "--cpu", "1", "--memory", "1Gi")
    result = run("choose", "--size", "1", *options, "--output", "json")
    document = as_json(result)
    assert document["nodes"] == ["a"]
    reasons = {item["node"]: item["reason"] for item in document["rejections"]}
    assert reasons == {"b": "NoRoom", "c": "WrongArchitecture", "d": "NotReady", "e": "WrongArchitecture"}


def test_nodes_are_chosen_for_what_they_hold_together(run):
    # of a (2), b (1) and c (4): c alone holds 4; b and c hold 5 within 5 ms, a and c hold 6 within 9 ms
    for capacity, nodes, holds in (("4", ["c"], 4), ("4.5", ["b", "c"], 5), ("5.5", ["a", "c"], 6)):
        options = ("--capacity", capacity, "--nodes", "nodes.yaml", "--output", "json")
        document = as_json(run("choose", *options))
        assert (document["nodes"], document["holds"]) == (nodes, holds)


def test_nodes_are_chosen_apart_by_zone_or_by_name(run):
    for apart in (["--apart", "zone"], ["--apart", "a,b"], ["--apart", "b,a", "--apart", "c,d"]):
        document = as_json(run("choose", "--size", "2", "--nodes", "nodes.yaml", *apart, "--output", "json"))
        assert document["nodes"] == ["b", "c"]  # not a and b, which lie 2 apart


def test_what_runs_stays_and_what_moving_would_save_is_said(run):
    result = run("choose", "--size", "2", "--running", "a,c", "--output", "json")
    document = as_json(result)
    assert document["nodes"] == ["a", "c"]
    assert document["if_moved"] == {"nodes": ["a", "b"], "saves_ms": 7.0}  # 9 - 2
    assert "what runs stays; moving would save 7 ms: a, b" in result.stderr


def test_running_nodes_that_break_a_rule_stay_and_that_is_said(run):
    result = run("choose", "--size", "3", "--running", "a,b", "--apart", "b,a", "--output", "json")
    assert as_json(result)["nodes"] == ["a", "b", "c"]
    assert "a, b are to be apart, but they are kept and stay together" in result.stderr


def test_a_choice_that_is_not_possible_ends_with_exit_code_3_and_says_which_nodes_are_out(gesscale, tmp_path):
    (tmp_path / "map.csv").write_text(MATRIX)
    (tmp_path / "nodes.yaml").write_text(NODES)
    words = ("latency-map", "choose", tmp_path / "map.csv", "--unit", "ms", "--kind", "rtt", "--size", "4")
    code, out, err = gesscale(*words, "--nodes", tmp_path / "nodes.yaml")
    assert (code, out) == (3, "")
    assert "not feasible: " in err
    assert "d is out: NotReady, kubelet stopped" in err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("nearest --members a --candidates zz", "got 'zz'"),
        ("farthest --members a,zz", "got 'zz'"),
        ("choose", "either --size or --capacity"),
        ("nearest --members ,", "--members: "),
        ("choose --size 2 --keep a --exclude a", "--exclude: "),
        ("choose --size 2 --candidates ,", "--candidates: "),
        ("choose --size 1 --running a,b", "--size: expected at least 2"),
        ("choose --capacity 2", "--capacity: expected --nodes"),
        ("choose --capacity nan --nodes nodes.yaml", "size of more than 0"),
        ("choose --size 2 --apart rack --nodes nodes.yaml", "got 'rack'"),
        ("choose --size 2 --arch arm64 --cpu 1", "--arch, --cpu: expected --nodes"),
        ("choose --size 2 --cpu much --nodes nodes.yaml", "--cpu: "),
        ("choose --size 2 --nodes missing.yaml", "missing.yaml: No such file"),
        ("choose --size 2 --nodes nodes.yaml --pods nodes.yaml", "together with the output of kubectl"),
    ],
)
def test_wrong_input_is_an_input_error_in_one_line(run, command, message):
    error = run(*command.split()).exception
    assert isinstance(error, InputError)
    assert message in str(error)
    assert "\n" not in str(error)
