"""What `testbed nexmark` refuses before it brings up nodes."""

import pytest
from refusals import codes


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("rides", "--kafka"), "expected one of q1, q3, q5, q11, got 'rides'"),
        (("q5", "--kafka", "--most-rows-per-s", "1000000"), "expected at most 135000 events"),
        (("q5", "--kafka", "--seconds", "59"), "--seconds"),
    ],
)
def test_what_cannot_be_played_is_wrong_usage(gesscale, words, complaint):
    code, out, err = gesscale("testbed", "nexmark", *words)
    assert (code, out) == (2, "")
    assert complaint in err


def test_without_the_jars_of_kafka_one_line_says_how_to_get_them(gesscale, tmp_path, monkeypatch):
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
    assert "kafka_2.13;4.3.1: not found" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "reports").exists()
