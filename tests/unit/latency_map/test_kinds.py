"""Each function with a choice takes the member or its value, with the same meaning, and refuses everything else."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from latency_map import (
    Asymmetry,
    DelayKind,
    DelayUnit,
    LatencyMap,
    LatencyMapError,
    MapFormat,
    Method,
    min_nd_max_subset,
    parse_survey,
    read_map,
)
from latency_map.emulate.script import ScriptAction, script_name
from latency_map.kinds import Fill, ProbeMethod, Symmetrise
from latency_map.measure.probes import choose_method, make_probe
from latency_map.plausibility import find_implausible
from latency_map.quality.check import check
from latency_map.quality.repair import Repair, repair

MATRIX = ",a,b\na,0,5\nb,7,0\n"
NAMES = ("a", "b")
LEANING = [[0, 5], [7, 0]]
SURVEY = parse_survey(MATRIX, unit=DelayUnit.MS, kind=DelayKind.RTT).survey
LEVEL = LatencyMap(names=NAMES, rtt_ms=[[0, 5], [5, 0]])
GIVEN: dict[str, Any] = {"unit": DelayUnit.MS, "kind": DelayKind.RTT}


def parsed(**options):
    return parse_survey(MATRIX, **{**GIVEN, **options}).survey.rtt_ms.tolist()


def built(**options):
    values = [[0, 5], [5, 0]] if "asymmetry" not in options else LEANING
    return LatencyMap.from_delays(NAMES, values, **{**GIVEN, **options})


def repaired(**options):
    return repair(SURVEY, Repair(**options)).survey.rtt_ms.tolist()


@dataclass(frozen=True)
class Function:
    choices: type[StrEnum]
    call: Callable[[Any], object]


FUNCTIONS = {
    "parse_survey unit": Function(DelayUnit, lambda unit: parsed(unit=unit)),
    "parse_survey kind": Function(DelayKind, lambda kind: parsed(kind=kind)),
    "parse_survey map_format": Function(MapFormat, lambda chosen: parsed(map_format=chosen)),
    "from_delays unit": Function(DelayUnit, lambda unit: built(unit=unit)),
    "from_delays kind": Function(DelayKind, lambda kind: built(kind=kind)),
    "from_delays asymmetry": Function(Asymmetry, lambda rule: built(asymmetry=rule)),
    "to_map": Function(Asymmetry, SURVEY.to_map),
    "check": Function(Asymmetry, lambda rule: check(SURVEY, asymmetry=rule)),
    "choose": Function(Method, lambda method: min_nd_max_subset(LEVEL, 2, method=method)),
    "repair symmetrise": Function(Symmetrise, lambda rule: repaired(symmetrise=rule)),
    "repair fill": Function(Fill, lambda fill: repaired(fill=fill)),
    "find_implausible": Function(DelayUnit, lambda unit: find_implausible(SURVEY, unit=unit)),
    "choose_method": Function(ProbeMethod, lambda method: choose_method(method, report=lambda _: None)),
    "make_probe": Function(ProbeMethod, lambda method: make_probe(method, port=9, timeout_s=1).__name__),
    "script_name": Function(ScriptAction, lambda action: script_name(action, "a")),
}


def outcome(function, given_choice):
    """The result, or the codes of the refusal."""
    try:
        return function.call(given_choice)
    except LatencyMapError as error:
        return tuple(problem.code for problem in error.problems)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_member_and_its_value_mean_the_same(function):
    for member in function.choices:
        assert outcome(function, member.value) == outcome(function, member), member
        assert outcome(function, member) != ("map-choice-invalid",)


WRONG = st.one_of(
    st.text(max_size=9), st.integers(), st.booleans(), st.binary(max_size=3), st.lists(st.text(), max_size=2)
)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@given(st.one_of(WRONG, st.sampled_from(["oneway", "ONE-WAY", "MS", "ms ", "maximum", "", "rtt_ms", 0, ()])))
def test_everything_else_is_refused(function, wrong):
    if isinstance(wrong, str) and wrong in list(function.choices):
        return
    with refused("map-choice-invalid", LatencyMapError, choice=function.choices.__name__):
        function.call(wrong)


def test_the_figures_of_a_value_are_those_of_its_member(tmp_path):
    # one way 5 ms there and 7 ms back are a round trip of 12 ms
    assert parsed(kind="one-way") == [[0, 12], [12, 0]]
    assert LatencyMap.from_delays(NAMES, LEANING, unit="s", kind="rtt", asymmetry="mean").delay_ms("a", "b") == 6000
    (tmp_path / "map.csv").write_text(MATRIX)
    assert read_map(tmp_path / "map.csv", "ms", "rtt", "max").delay_ms("a", "b") == 7
    with refused("map-directions-differ", LatencyMapError):
        read_map(tmp_path / "map.csv", "ms", "rtt", "refuse")
