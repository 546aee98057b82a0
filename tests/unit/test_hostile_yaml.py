"""Whatever YAML a file, a variable or an option holds, it ends in one line that names it; never in a traceback."""

from pathlib import Path

import pytest

from gesscale.common.text import truncated_repr
from gesscale.errors import GesscaleError
from gesscale.kubernetes.api.credentials import connect
from gesscale.settings import load_settings
from gesscale.spark.session_setup import read_base_template
from latency_map.errors import LatencyMapError
from testbed.arena.experiments.experiment import read_experiment
from testbed.baselines.rules.settings import read_rules
from testbed.cluster.topology import read_topology
from testbed.simulator.figures import read_figures

# One of each way out of the parser; tests/unit/gesscale/common/test_yaml_text.py has all of them.
HOSTILE = ("2001-99-99", "!!python/object/apply:os.system [id]", "[" * 3000, "name: a\nname: b", "{\x00", "\t")
ENDLESS = Path("/dev/zero")
READERS = {
    "settings": lambda file: load_settings(file, (), {}),
    "variable": lambda file: load_settings(None, (), {"GESSCALE_MONITOR__PERIOD": file.read_text()}),
    "option": lambda file: load_settings(None, (f"monitor.period={file.read_text()}",), {}),
    "rules": read_rules,
    "figures": lambda file: read_figures(file, file.parent),
    "experiment": read_experiment,
    "topology": lambda file: read_topology(str(file)),
    "kubeconfig": connect,
    "pod template": lambda file: read_base_template(str(file)),
}


@pytest.mark.parametrize("text", HOSTILE, ids=truncated_repr)
@pytest.mark.parametrize("reader", READERS)
def test_hostile_yaml_ends_in_one_line(tmp_path: Path, reader: str, text: str) -> None:
    file = tmp_path / "hostile.yaml"
    file.write_text(text)
    with pytest.raises((GesscaleError, LatencyMapError)) as caught:
        READERS[reader](file)
    first, *faults = str(caught.value).splitlines()
    assert not faults or (first == "the settings cannot be used:" and len(faults) <= 21)
    assert len(str(caught.value)) < 4000


def test_many_faults_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "gesscale.yaml"
    file.write_text("".join(f"unknown{number}: 1\n" for number in range(5000)))
    with pytest.raises(GesscaleError) as caught:
        load_settings(file, (), {})
    last = caught.value.problems[-1]
    # 5000 and the two groups that are missing, less the 20 shown.
    assert (last.code, last.fields["count"]) == ("problems-omitted", 4982)


@pytest.mark.skipif(not ENDLESS.exists(), reason="this system has none")
def test_an_endless_file_is_not_read_to_its_end() -> None:
    with pytest.raises(GesscaleError, match="/dev/zero"):
        load_settings(ENDLESS, (), {})
