"""Files of physics."""

from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from gesscale.errors import InputError
from testbed.simulator.figures import read_figures
from testbed.simulator.flink.physics import FOLDER, FlinkPhysics, read_physics

BUNDLED = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("name", BUNDLED)
def test_every_bundled_figure_says_how_well_it_is_known(name: str) -> None:
    figures = read_figures(name, FOLDER).figures
    assert set(figures) == {field.name for field in fields(FlinkPhysics)}
    known = ("Measured. ", "Published. ", "Inferred. ", "Assumed. ", "As in taxi-nearest.yaml.")
    assert [key for key, figure in figures.items() if not figure.origin.startswith(known)] == []


def _changed(tmp_path: Path, name: str, value: float | str | None) -> Path:
    document = yaml.safe_load((FOLDER / "word-count.yaml").read_text(encoding="utf-8"))
    if value is None:
        del document["figures"][name]
    else:
        document["figures"][name] = {"value": value, "origin": "made up"}
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("restart_s", None, "missing are restart_s"),
        ("speed", 3, "there is no constant 'speed'"),
        ("service_s", 0, "service_s: expected greater than 0, got 0"),
        ("noise", -0.1, "noise: expected greater than or equal to 0"),
        ("exclusive_buffers", 1.5, "exclusive_buffers: expected a whole number, got 1.5"),
        ("restart_whole_job", 2, "restart_whole_job: expected true or false"),
        ("cold_share", 1, "cold_share: expected less than 1"),
        ("restart_s", "long", "value"),
    ],
)
def test_a_wrong_figure_is_named(tmp_path: Path, name: str, value: float | str | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_physics(_changed(tmp_path, name, value))
