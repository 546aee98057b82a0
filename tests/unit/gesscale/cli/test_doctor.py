import json

import pytest
from refusals import codes


def results(out):
    return {each["check"]: (each["result"], (each["problem"] or {}).get("code")) for each in json.loads(out)["checks"]}


def test_a_site_in_order(gesscale, site):
    site.serve()
    code, out, _ = gesscale("doctor", "-c", site.config, "-o", "json")
    found = results(out)
    assert code == 0, found
    assert {found[each] for each in ("python", "settings", "latency map", "operator op")} == {("ok", None)}


def test_a_driver_that_does_not_respond_fails_with_its_remedy(gesscale, site):
    site.server.expect_request("/batches").respond_with_data("no", status=500)
    code, out, err = gesscale("doctor", "-c", site.config)
    assert code == 3
    assert "operator op" in out
    assert "[metrics-" in err


def test_a_clock_that_is_off_is_a_warning(gesscale, site, monkeypatch):
    site.serve()
    monkeypatch.setattr("gesscale.clock.SystemClock.now_s", lambda _: __import__("time").time() - 30)
    _, out, _ = gesscale("doctor", "-c", site.config, "-o", "json")
    assert results(out)["operator op"] == ("warning", "driver-clock-off")


@pytest.mark.parametrize("text", ["workflow: {}", "nonsense: 1"])
def test_invalid_settings_fail(gesscale, site, text):
    site.config.write_text(text)
    code, out, _ = gesscale("doctor", "-c", site.config, "-o", "json")
    assert (code, results(out)["settings"][0]) == (3, "failed")


def test_without_settings_the_machine_is_checked(gesscale, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, out, _ = gesscale("doctor", "-o", "json")
    assert results(out)["settings"] == ("failed", "settings-file-not-found")


def test_a_cluster_without_credentials_fails(gesscale, tmp_path):
    code, out, _ = gesscale("doctor", "--kubernetes", "--kubeconfig", tmp_path / "none", "-o", "json")
    assert (code, results(out)["API server"]) == (3, ("failed", "kubeconfig-not-found"))


def test_the_nearest_settings_file_above_is_found(gesscale, site, monkeypatch):
    site.serve()
    below = site.folder / "jobs" / "taxi"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert gesscale("config", "validate")[0] == 0
    assert gesscale("recommend")[0] == 0
    monkeypatch.setattr("os.geteuid", lambda: 4_000_000_000)  # the file is of another user then
    if site.config.stat().st_uid != 0:
        assert codes(gesscale("recommend")[2]) == ["settings-file-not-found"]
