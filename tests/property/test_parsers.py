"""Every parser with nearly valid inputs, and with each input that once revealed a fault; see tests/fuzz."""

import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fuzz.mutants import mutants
from fuzz.target import FOUND
from fuzz.targets import TARGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thoroughness import examples

BY_NAME = {target.name: target for target in TARGETS}
FILES = [(folder.name, file) for folder in sorted(FOUND.iterdir()) for file in sorted(folder.iterdir())]


class LoggedErrors(logging.Handler):
    """Collects errors that were logged in place of being raised."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.errors.append(record.exc_info[1])


@contextmanager
def nothing_swallowed(allowed: tuple[type[Exception], ...]) -> Iterator[None]:
    handler = LoggedErrors()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
    assert [error for error in handler.errors if not isinstance(error, allowed)] == []


def is_accepted(target, data):
    """Whether a parser takes an input; an error other than those that it raises on purpose is the test's."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), nothing_swallowed(target.errors):
        warnings.simplefilter("ignore")
        try:
            target.call(data, Path(folder))
        except target.errors:
            return False
        return True


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_each_sample_is_accepted(target):
    assert [sample for sample in target.samples() if not is_accepted(target, sample)] == []


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@settings(
    max_examples=examples(150, few=8),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
@given(data=st.data())
def test_mutants_are_accepted_or_refused_on_purpose(target, data):
    is_accepted(target, data.draw(mutants(target.samples(), target.form)))


@pytest.mark.parametrize(("name", "file"), FILES, ids=[f"{name}/{file.name}" for name, file in FILES])
def test_each_fault_is_repaired(name, file):
    is_accepted(BY_NAME[name], file.read_bytes())
