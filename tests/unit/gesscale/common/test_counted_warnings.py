import logging

from hypothesis import given
from hypothesis import strategies as st
from refusals import logged_codes

from gesscale.common.counted_warnings import _MAX_KEYS, CountedWarnings

LOG = logging.getLogger("gesscale.counted")


def test_changing_figures_are_one_warning_and_powers_of_ten_are_logged(caplog):
    counted = CountedWarnings(LOG)
    for number in range(250):
        counted.warn("source-rows-differ", source="rides", rows=number, counted=2 * number)
    assert logged_codes(caplog.text) == ["source-rows-differ"] * 3  # the 1st, 10th and 100th
    assert [record.getMessage().count("times=") for record in caplog.records] == [0, 1, 1]
    assert counted.by_code() == {"source-rows-differ": 250}


def test_another_source_is_another_warning(caplog):
    counted = CountedWarnings(LOG)
    for source in ("rides", "zones", "rides"):
        counted.warn("source-offset-missing", source=source)
    assert logged_codes(caplog.text) == ["source-offset-missing"] * 2
    assert counted.by_code() == {"source-offset-missing": 3}


def test_no_number_of_warnings_hides_a_later_one(caplog):
    counted = CountedWarnings(LOG)
    for number in range(3 * _MAX_KEYS):
        counted.warn("restart-unsupported", order=str(number))
    caplog.clear()
    assert counted.warn("batch-cap-missing", operator="op") == 1
    assert logged_codes(caplog.text) == ["batch-cap-missing"]
    assert len(counted._counts) <= _MAX_KEYS + 2


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers()), max_size=60))
def test_every_warning_is_counted_by_its_code(reported):
    counted = CountedWarnings(LOG)
    for code, figure in reported:
        counted.warn(code, figure_now=figure)
    assert counted.by_code() == {code: sum(each == code for each, _ in reported) for code, _ in reported}
