"""The names of the package are imported when they are asked for; the agent asks for none."""

import ast
import subprocess
import sys
from pathlib import Path

import latency_map


def test_what_is_imported_when_asked_for_is_what_types_are_checked_by():
    tree = ast.parse(Path(latency_map.__file__).read_text(encoding="utf-8"))
    (checked,) = (node for node in tree.body if isinstance(node, ast.If))
    said = {alias.name: node.module for node in checked.body for alias in node.names}
    assert said == latency_map._MODULES
    assert sorted(said) == sorted(latency_map.__all__)
    assert all(
        getattr(latency_map, name).__module__.startswith("latency_map") for name in ("nearest", "Survey")
    )


def test_the_agent_imports_no_numpy():
    code = "import sys, latency_map.measure.agent; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
