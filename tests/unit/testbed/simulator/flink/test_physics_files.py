"""Files of physics."""

from dataclasses import fields

import pytest

from testbed.simulator.figures import read_figures
from testbed.simulator.flink.physics import FOLDER, FlinkPhysics

BUNDLED = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("name", BUNDLED)
def test_every_bundled_figure_states_its_quality(name: str) -> None:
    figures = read_figures(name, FOLDER).figures
    assert set(figures) == {field.name for field in fields(FlinkPhysics)}
    known = ("Measured. ", "Published. ", "Inferred. ", "Assumed. ", "As in taxi-nearest.yaml.")
    assert [key for key, figure in figures.items() if not figure.origin.startswith(known)] == []
