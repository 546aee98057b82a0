"""Refusals of `testbed nexmark` before it starts any nodes."""

import pytest
from refusals import codes


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("rides", "--kafka"), "query-unknown"),
        (("q5", "--kafka", "--max-rows-per-s", "1000000"), "nexmark-overload"),
        (("q5", "--kafka", "--seconds", "59"), "usage-invalid"),
    ],
)
def test_wrong_usage_exits_2(gesscale, words, error):
    code, out, err = gesscale("testbed", "nexmark", *words)
    assert (code, out) == (2, "")
    assert codes(err) == [error]


def test_missing_jars_of_kafka_are_reported_in_one_line(gesscale, tmp_path, monkeypatch):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho ':: org.apache.kafka#kafka_2.13;4.3.1: not found ::'\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    code, out, err = gesscale("testbed", "nexmark", "q5", "--kafka")
    assert (code, out) == (1, "")
    assert codes(err) == ["kafka-jars-missing"]
    assert err.count("\n") == 1
    assert not (tmp_path / "reports").exists()
