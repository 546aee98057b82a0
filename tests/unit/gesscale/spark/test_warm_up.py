"""The warm-up's jar is what its source makes, and its daemon survives what it cannot import."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gesscale.spark.warm_up import JAR
from gesscale.spark.warm_up.build import build
from gesscale.spark.warm_up.daemon import import_all


def is_jdk_17() -> bool:
    compiler = shutil.which("javac")
    if compiler is None:
        return False
    said = subprocess.run((compiler, "-version"), capture_output=True, text=True, check=False)
    return (said.stdout + said.stderr).startswith("javac 17")


@pytest.mark.skipif(not is_jdk_17(), reason="the same bytes come from javac 17 only, and there is none")
def test_the_jar_is_what_its_source_makes(tmp_path: Path) -> None:
    build(tmp_path / "again.jar")
    assert (tmp_path / "again.jar").read_bytes() == JAR.read_bytes()


def test_a_module_that_cannot_be_imported_is_said_and_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    import_all(["no_such_module", "json"])
    said = capfd.readouterr()
    assert said.out == ""  # the daemon's port goes there
    assert "no_such_module is not warm" in said.err
    assert "json" not in said.err
