"""Written maps are read back exactly, and any other file is read or refused."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latency_map import Asymmetry, DelayKind, DelayUnit, Survey, parse_survey
from latency_map.document import survey_to_document
from latency_map.writing import map_to_matrix

node_names = st.text(min_size=1, max_size=6).filter(lambda text: text == text.strip() and text.isprintable())
delays = st.one_of(st.floats(0, 1e9), st.integers(0, 4).map(float), st.just(math.nan), st.just(5e-324), st.just(-0.0))


def matrices(count, cells):
    return st.lists(cells, min_size=count * count, max_size=count * count).map(
        lambda flat: np.array(flat, dtype=float).reshape(count, count)
    )


@st.composite
def surveys(draw):
    names = draw(st.lists(node_names, min_size=1, max_size=6, unique=True))
    count = len(names)
    return Survey(
        names=tuple(names),
        rtt_ms=draw(matrices(count, delays)),
        estimated=draw(matrices(count, st.booleans())).astype(bool),
        measured_at_s=draw(st.none() | st.floats(0, 9e10)),
        origin=draw(st.text(max_size=20)),
        changes=tuple(draw(st.lists(st.text(max_size=20), max_size=3))),
    )


def parts(survey):
    """All that a survey holds, to the last bit."""
    bits = [survey.rtt_ms.tobytes(), survey.estimated.tobytes()]
    return [survey.names, bits, survey.measured_at_s, survey.origin, survey.changes]


@given(surveys())
def test_a_survey_in_the_native_format_is_read_back_exactly(survey):
    text = survey_to_document(survey)
    again = parse_survey(text).survey
    assert parts(again) == parts(survey)
    assert survey_to_document(again) == text


@given(surveys(), st.sampled_from((Asymmetry.MAX, Asymmetry.MEAN)))
def test_a_map_written_as_a_matrix_is_read_back_exactly(survey, asymmetry):
    sound = np.where(np.eye(len(survey), dtype=bool), 0.0, survey.rtt_ms)
    latencies = Survey(names=survey.names, rtt_ms=sound).to_map(asymmetry)
    assert parse_survey(map_to_matrix(latencies)).survey.to_map() == latencies


@given(surveys())
def test_the_unit_of_a_file_changes_the_figures_and_nothing_else(survey):
    rows = [[f"n{index}" for index in range(len(survey))], *survey.rtt_ms.tolist()]
    corner, *cells = ["", *rows[0]], *rows[1:]
    text = ",".join(corner) + "\n"
    for name, row in zip(rows[0], cells, strict=True):
        text += name + "," + ",".join("" if math.isnan(cell) else repr(cell / 1e4) for cell in row) + "\n"
    read = {unit: parse_survey(text, unit=unit, kind=DelayKind.RTT).survey.rtt_ms for unit in DelayUnit}
    np.testing.assert_allclose(read[DelayUnit.MS], read[DelayUnit.US] * 1e3, rtol=1e-15, atol=1e-300)
    np.testing.assert_allclose(read[DelayUnit.S], read[DelayUnit.MS] * 1e3, rtol=1e-15, atol=1e-300)
