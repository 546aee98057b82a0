"""The names of the package are imported when they are asked for; the agent asks for none."""

import subprocess
import sys

import pytest

import latency_map


@pytest.mark.parametrize("name", latency_map.__all__)
def test_a_public_name_is_imported_when_it_is_asked_for(name):
    assert getattr(latency_map, name) is not None


def test_the_agent_imports_no_numpy():
    code = "import sys, latency_map.measure.agent; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
