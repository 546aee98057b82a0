"""Custom policies: the guide's runs everywhere, as a file and as a package; broken ones end in one line."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from guide_policy import COMMANDS, NAME, block, install_policy, write_policy
from refusals import codes

ROOT = Path(__file__).parents[4]
RECORD = ROOT / "tests" / "data" / "records" / "day_of_gesscale"
ACTING = ("--set", "execute.mode=act", "--set", "execute.cluster=fake")


@pytest.fixture
def guide(site, monkeypatch):
    """The site with the guide's policy next to its settings, a record, and the shell in its folder."""
    write_policy(site.folder)
    shutil.copytree(RECORD, site.folder / "record")
    monkeypatch.chdir(site.folder)
    return site


ELSEWHERE = """
import json, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from gesscale.cli.start import main

outcomes = []
for words in json.load(sys.stdin):
    sys.argv = ["gesscale", *words]
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    outcomes.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(outcomes))
"""


def elsewhere(packages, *commands):
    """Run ``gesscale`` with a folder of packages: each command's exit code, stdout and stderr.

    They run in a process of their own, one after the other: what packages bring is found when modules are imported.
    """
    found = os.pathsep.join(filter(None, (str(packages), str(ROOT), os.environ.get("PYTHONPATH", ""))))
    ended = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        input=json.dumps([[str(word) for word in words] for words in commands]),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": found},
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize("words", [words for words in COMMANDS if NAME in " ".join(words)], ids=" ".join)
def test_every_command_of_the_guide_works(gesscale, guide, words):
    guide.serve_overload()
    guide.write_settings(monitor={"period": "1s"})
    code, out, printed = gesscale(*words, *(("--steps", 1) if words[0] == "run" else ()))
    assert code == 0, printed
    assert "steady" in out + printed or "%" in printed


def test_its_settings_are_those_of_the_settings_file(gesscale, guide):
    guide.write_settings(**yaml.safe_load(block("yaml")))
    _, out, _ = gesscale("policies", "show", NAME, "-o", "json")
    assert {row["key"]: row["default"] for row in json.loads(out)["settings"]} == {
        "analyze.stabilization_window": "–",
        "analyze.steady.high_share": "0.8",
        "analyze.steady.low_share": "0.3",
        "analyze.steady.calm": "5m",
    }
    code, _, printed = gesscale("config", "validate", guide.config)
    assert code == 0, printed
    code, _, printed = gesscale("config", "validate", guide.config, "--set", "analyze.steady.clam=1m")
    assert code == 2
    assert codes(printed) == ["setting-unknown"]
    assert "analyze.steady.clam" in printed
    code, _, printed = gesscale("config", "validate", guide.config, "--set", "analyze.steady.low_share=0.7")
    assert code == 2
    assert codes(printed) == ["settings-out-of-order"]
    assert "analyze.steady" in printed


def test_a_file_is_looked_for_beside_the_settings(gesscale, guide, monkeypatch, tmp_path_factory):
    guide.write_settings(**yaml.safe_load(block("yaml")))
    guide.serve()
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    code, out, printed = gesscale("recommend", "-c", guide.config, "-o", "json")
    assert code == 0, printed
    (decision,) = json.loads(out)["decisions"]
    assert decision["policy"] == "steady"


def test_what_it_remembers_decides_in_the_next_process(gesscale, guide):
    guide.serve(seconds=0.25)  # a tenth of the time in batches
    calm = ("--set", "analyze.steady.calm=1ms")
    asked = ("once", "-c", guide.config, *ACTING, "--policy", NAME, *calm)
    assert gesscale(*asked)[0] == 0
    assert guide.cluster.orders == []
    assert gesscale(*asked)[0] == 0
    assert guide.cluster.orders == [("op", ("hub",))]  # hub has the driver


@pytest.mark.usefixtures("guide")
def test_an_experiment_of_the_arena_passes_its_settings(gesscale):
    def changes(calm):
        experiment = {
            "name": "mine",
            "policies": ["static", NAME],
            "workloads": ["load.csv"],
            "seeds": 1,
            "nodes": {"topology": "edge8"},
            "rules": {"steady": {"calm": calm}},
        }
        Path("load.csv").write_text("t_s,rows_per_s\n0,100\n300,500\n600,200\n900,200\n", "utf-8")
        Path("mine.yaml").write_text(yaml.safe_dump(experiment), "utf-8")
        code, out, printed = gesscale("arena", "run", "--experiment", "mine.yaml", "--jobs", 1, "--output", "json")
        assert code == 0, printed
        return [run["reconfigurations"] for run in json.loads(out)["runs"] if "steady" in run["policy"]]

    by_default, hasty = changes("5m"), changes("1ms")
    assert 0 < by_default[0] < hasty[0]


def test_the_code_of_a_record_does_not_run_unless_it_is_named(gesscale, guide):
    given = yaml.safe_load((guide.folder / "record" / "gesscale.yaml").read_text())
    given["analyze"] = {"policy": "theirs.py:POLICY", "steady": {"high_share": 0.5}}
    (guide.folder / "record" / "gesscale.yaml").write_text(yaml.safe_dump(given))
    (guide.folder / "record" / "theirs.py").write_text("raise SystemExit('it ran')", "utf-8")
    code, _, printed = gesscale("replay", "record")
    assert code == 2
    assert codes(printed) == ["custom-policy-not-allowed"]
    assert "record/theirs.py:POLICY" in printed
    code, _, printed = gesscale("replay", "record", "--policy", "static")
    assert code == 0, printed
    code, out, printed = gesscale("replay", "record", "--policy", NAME, "-o", "json")
    assert code == 0, printed
    assert json.loads(out)["steps"][0]["decision"]["policy"] == "steady"


# What is wrong with a file

BROKEN = {
    "it raises": ("1 / 0", "policy-import-failed"),
    "it raises a long error": ("raise ValueError('a\\n\\x1b[31m' * 1000)", "policy-import-failed"),
    "the name is missing": ("POLICIES = ()", "policy-object-missing"),
    "it is no policy": ("POLICY = 7", "policy-object-invalid"),
    "it takes no workflow": ("def POLICY(): pass", "policy-creation-failed"),
    "it returns no policy": ("def POLICY(workflow, options): return 7", "policy-incomplete"),
}
POLICY = """
from pydantic import Field
from gesscale.fields import Duration, SettingsGroup
from gesscale.policies import PolicyInfo
from gesscale.policies.static import StaticPolicy

class Mine(SettingsGroup):
{body}

POLICY = PolicyInfo(name="{name}", summary="s", source="s", build=StaticPolicy, settings=Mine)
"""
TWICE = {
    "the name is taken": ("hpa-cpu", "    wait: int = 1", "policy-settings-name-taken"),
    "no default": ("mine", "    wait: int", "policy-settings-without-defaults"),
    "the name has a space": ("m n", "    wait: int = 1", "policy-name-invalid"),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [*BROKEN.values(), *((POLICY.format(name=name, body=body), expected) for name, body, expected in TWICE.values())],
    ids=[*BROKEN, *TWICE],
)
def test_a_broken_policy_ends_in_one_line(gesscale, site, text, expected):
    (site.folder / "mine.py").write_text(text, "utf-8")
    site.write_settings(analyze={"policy": "mine.py:POLICY"})
    code, out, printed = gesscale("config", "validate", site.config)
    assert (code, out) == (2, "")
    assert codes(printed) == [expected]
    assert printed.count("\n") == 1
    assert len(printed) < 600
    assert "\x1b" not in printed


# As a package


def test_packages_add_policies_and_a_broken_one_is_skipped(site, tmp_path):
    packages = tmp_path / "installed"
    packages.mkdir()
    install_policy(packages, "steady = steady:POLICY\nmine = nowhere:POLICY")
    site.serve_overload()
    asked = ("recommend", "-c", site.config, "--policy")
    (_, advice, _), (_, docs, _), (_, listing, noted), (code, _, printed) = elsewhere(
        packages,
        (*asked, "steady", "--set", "analyze.steady.high_share=0.5", "-o", "json"),
        ("config", "docs"),
        ("policies", "list", "-o", "json"),
        (*asked, "mine"),
    )
    (decision,) = json.loads(advice)["decisions"]
    assert decision["policy"] == "steady"
    assert decision["plan"]["change"] == {"add": ["mid"], "remove": []}
    assert "| `analyze.steady.calm` | duration | `5m` |" in docs
    names = {item["name"] for item in json.loads(listing)["policies"]}
    assert ("steady" in names, "mine" in names) == (True, False)
    assert codes(noted) == ["policy-import-failed"]
    assert code == 2
    assert "policy-import-failed" in printed
    assert "'mine' (nowhere:POLICY)" in printed
