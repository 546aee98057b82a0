from pathlib import Path

import pytest

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
    ("change", "message"),
    [
        (("fixed_s", "fixd_s"), "there is no constant 'fixd_s'; there are batch_noise"),
        (("  fixed_s: {value: 0.2, origin: made up}\n", ""), "fixed_s: it is required"),
        (("value: 0.2", "value: -0.2"), "fixed_s: expected greater than or equal to 0, got -0.2"),
        (("value: 0.2", "value: .nan"), "fixed_s"),
        (("value: 0.2, origin: made up", "value: 0.2"), "fixed_s.origin: it is required"),
        (("about: A test.", "about: [A"), "expected YAML"),
        (("  fixed_s: {", "  cold_least_s: {value: 2, origin: x}\n  fixed_s: {"), "cold_least_s <= cold_most_s"),
    ],
)
def test_a_file_that_cannot_be_used_says_what_is_wrong(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in GOOD
    file = tmp_path / "own.yaml"
    file.write_text(GOOD.replace(*change))
    with pytest.raises(InputError, match=message):
        read_physics(file)
