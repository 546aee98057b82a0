from pathlib import Path

import pytest
from refusals import refused

from gesscale.errors import InputError
from testbed.simulator.spark.constants import FOLDER, read_physics

GOOD = """
about: A test.
figures:
  service_ms_per_row: {value: 0.5, origin: made up}
  fixed_s: {value: 0.2, origin: made up}
  driver_round_trips: {value: 4, origin: made up}
"""


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_bundled_figure_has_an_origin(file: Path) -> None:
    text = file.read_text()
    assert text.count("    value:") == text.count("    origin:") > 10
    assert read_physics(file.stem).service_ms_per_row > 0


@pytest.mark.parametrize(
    ("change", "code", "fields"),
    [
        (("fixed_s", "fixd_s"), "constant-unknown", {"constant": "fixd_s"}),
        (("  fixed_s: {value: 0.2, origin: made up}\n", ""), "field-required", {"place": "fixed_s"}),
        (("value: 0.2", "value: -0.2"), "field-invalid", {"place": "fixed_s"}),
        (("value: 0.2", "value: .nan"), "field-invalid", {"place": "figures.fixed_s.value.int"}),
        (("value: 0.2, origin: made up", "value: 0.2"), "field-required", {"place": "figures.fixed_s.origin"}),
        (
            ("  fixed_s: {", "  cold_min_s: {value: 2, origin: x}\n  fixed_s: {"),
            "constants-range-reversed",
            {"low": 2, "high": 0},
        ),
        (
            (
                "  fixed_s: {",
                "  tasks_by_speed: {value: 1, origin: x}\n  partitions: {value: 3, origin: x}\n  fixed_s: {",
            ),
            "constants-exclusive",
            {"one": "tasks_by_speed"},
        ),
    ],
)
def test_an_unusable_file_names_the_problem(
    tmp_path: Path, change: tuple[str, str], code: str, fields: dict[str, object]
) -> None:
    assert change[0] in GOOD
    file = tmp_path / "own.yaml"
    file.write_text(GOOD.replace(*change))
    with refused(code, InputError, **fields):
        read_physics(file)


def test_a_file_that_is_not_yaml_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(GOOD.replace("about: A test.", "about: [A"))
    with pytest.raises(InputError):
        read_physics(file)
