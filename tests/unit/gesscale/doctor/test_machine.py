import pytest
from refusals import refused

from gesscale.doctor.machine import check_machine, java_program


def java(folder, monkeypatch, script):
    (folder / "bin").mkdir()
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(folder))


def check_of_java():
    return {each.check: each for each in check_machine()}["java"]


def test_a_missing_java_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with refused("java-missing", searched="PATH"):
        java_program()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with refused("java-missing", searched=f"JAVA_HOME={tmp_path}"):
        java_program()
    assert check_of_java().problem.code == "java-missing"


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("echo 'openjdk version \"21.0.1\"' >&2", None),
        ("echo 'java version \"1.8.0_402\"' >&2", "java-too-old"),
        ("echo nonsense; exit 1", "java-unusable"),
    ],
)
def test_the_release_of_java_is_read(tmp_path, monkeypatch, script, code):
    java(tmp_path, monkeypatch, script)
    found = check_of_java()
    assert (found.problem.code if found.problem else None) == code
    assert found.result == ("failed" if code else "ok")


@pytest.mark.parametrize(
    ("version", "code"), [("4.3.0", None), ("3.5.9", "spark-version-advice-only"), ("3.4.4", "spark-version-untried")]
)
def test_the_version_of_spark_is_a_warning_at_most(monkeypatch, version, code):
    monkeypatch.setattr("gesscale.doctor.machine.version", lambda _: version)
    (found,) = [each for each in check_machine() if each.check == "spark"]
    assert (found.problem.code if found.problem else None) == code
    assert found.result == ("warning" if code else "ok")
