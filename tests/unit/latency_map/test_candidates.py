"""Which nodes can be chosen at all, and why the others cannot."""

import math

import pytest

from latency_map import DelayKind, DelayUnit, LatencyMap
from latency_map.choose.candidates import Candidate, CandidateRejection, Needs, Unfit, same_label, screen

GIB = 2.0**30


@pytest.fixture
def lan() -> LatencyMap:
    """Nodes a, b, c one apart; d knows only a."""
    nan = math.nan
    values = [[0, 1, 1, 1], [1, 0, 1, nan], [1, 1, 0, nan], [1, nan, nan, 0]]
    return LatencyMap.from_delays("abcd", values, unit=DelayUnit.MS, kind=DelayKind.RTT)


@pytest.mark.parametrize(
    ("fields", "options", "reason", "detail"),
    [
        ({}, {"exclude": ["b"]}, Unfit.EXCLUDED, "excluded by name"),
        ({"ready": False}, {}, Unfit.NOT_READY, "it is not ready"),
        ({"ready": False, "remark": "kubelet stopped"}, {}, Unfit.NOT_READY, "kubelet stopped"),
        ({"schedulable": False}, {}, Unfit.CORDONED, "it takes no new work"),
        (
            {"arch": "amd64"},
            {"needs": Needs(arch="arm64")},
            Unfit.WRONG_ARCHITECTURE,
            "expected arm64, got amd64",
        ),
        (
            {},
            {"needs": Needs(arch="arm64")},
            Unfit.WRONG_ARCHITECTURE,
            "expected arm64, got a node where that is not known",
        ),
        ({"free_cpus": 0.5}, {"needs": Needs(cpus=1)}, Unfit.NO_ROOM, "expected 1 CPU free, got 0.5"),
        (
            {"free_cpus": 4, "free_memory_bytes": GIB / 2},
            {"needs": Needs(cpus=1, memory_bytes=GIB)},
            Unfit.NO_ROOM,
            "expected 1024 MiB free, got 512",
        ),
        (
            {},
            {"needs": Needs(cpus=1)},
            Unfit.NO_ROOM,
            "expected 1 CPU free, got a node where that is not known",
        ),
        ({}, {"keep": ["a"], "apart": ["xa", "ab"]}, Unfit.ANTI_AFFINITY, "it may not be with a"),
        ({}, {"keep": ["d"]}, Unfit.DELAY_UNKNOWN, "the latency map has no round trip to d"),
        (
            {"name": "z"},
            {"keep": ["a"]},
            Unfit.DELAY_UNKNOWN,
            "the latency map does not have this node",
        ),
    ],
)
def test_a_node_that_cannot_be_chosen_is_out_for_a_reason(lan, fields, options, reason, detail):
    candidate = Candidate(**{"name": "b", **fields})
    rejection = CandidateRejection(node=candidate.name, reason=reason, detail=detail)
    assert screen([candidate], lan, **options) == ((), (rejection,))


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({}, {}),
        ({"remark": "just rebooted"}, {}),
        ({"arch": "arm64"}, {"needs": Needs(arch="arm64")}),
        ({"free_cpus": 1, "free_memory_bytes": GIB}, {"needs": Needs(cpus=1, memory_bytes=GIB)}),
        ({"free_cpus": 0}, {"needs": Needs(memory_bytes=0)}),
        ({}, {"keep": ["a"], "exclude": ["c"], "apart": ["bc", "ac"]}),
    ],
)
def test_a_node_that_meets_what_is_asked_can_be_chosen(lan, fields, options):
    candidate = Candidate(name="b", **fields)
    assert screen([candidate], lan, **options) == ((candidate,), ())


def test_a_node_that_is_kept_is_not_barred_by_itself(lan):
    (usable, _) = screen([Candidate(name="a"), Candidate(name="b")], lan, keep=["a"], apart=["ab"])
    assert [node.name for node in usable] == ["a"]


def test_nodes_of_one_label_are_a_group_and_nodes_without_it_are_in_none():
    zones = {"b": "eu", "c": "us", "a": "eu"}
    nodes = [Candidate(name=name, labels={"zone": zone}) for name, zone in zones.items()]
    assert same_label([*nodes, Candidate(name="d")], "zone") == (("a", "b"), ("c",))
    assert same_label(nodes, "rack") == ()
