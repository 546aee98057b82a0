"""What holds for every command: its line in the list, its example, its options; and how little a list imports."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from settings_keys import settings_keys
from typer.main import get_command

from gesscale.cli import latency_map
from gesscale.cli.app import COMMANDS, app
from testbed import cli as testbed
from testbed.arena import cli as arena

ROOT: Any = get_command(app)


def is_group(command: Any) -> bool:
    return hasattr(command, "list_commands")


def commands(found: Any, path: tuple[str, ...] = ("gesscale",)) -> Iterator[tuple[str, Any]]:
    """Yield a command and all below it, with the words that lead to each."""
    yield " ".join(path), found
    if is_group(found):
        for name in found.list_commands(None):
            yield from commands(found.get_command(None, name), (*path, name))


ALL = dict(commands(ROOT))
LEAVES = {path: command for path, command in ALL.items() if not is_group(command)}
TABLES = {
    "": COMMANDS,
    "latency-map": latency_map.COMMANDS,
    "arena": arena.COMMANDS,
    "testbed": testbed.COMMANDS,
}


def command_of(words: list[str]) -> Any:
    """Return the command that a command line is for."""
    found = ROOT.get_command(None, "testbed") if words[0] == "testbed" else ROOT
    for word in words[1:]:
        if not is_group(found):
            break
        found = found.get_command(None, word)
    return found


@pytest.mark.parametrize(
    ("group", "name"),
    [(group, name) for group, table in TABLES.items() for name in table if table[name].help],
)
def test_a_command_is_listed_by_the_first_sentence_of_its_help(group, name):
    loaded = command_of(["gesscale", *filter(None, [group]), name])
    assert " ".join(loaded.help.split()).startswith(TABLES[group][name].help)


@pytest.mark.parametrize("path", LEAVES)
def test_a_command_shows_an_example_of_itself_with_options_that_it_has(path):
    command = LEAVES[path]
    assert command.epilog, path
    example = shlex.split(command.epilog.removeprefix("Example: ").partition(" | ")[0].partition(" > ")[0])
    assert command_of(example).callback is command.callback
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    used = {word for word in example if word.startswith("-")}
    assert path.endswith("latency-map agent") or used <= known  # the agent reads its options by itself


@pytest.mark.parametrize("path", LEAVES)
def test_output_is_always_the_form_and_a_file_goes_to(path):
    by_name = {name: param for param in LEAVES[path].params for name in param.opts}
    assert ("-o" in by_name) == ("--output" in by_name)
    if "-o" in by_name:
        assert by_name["-o"].bare_type() in {"Output", "PlanForm", "ObjectForm"}
    if "--to" in by_name:
        assert by_name["--to"].bare_type() == "Path"


QUICK = """
import json, os, sys
from gesscale.cli.start import main
paths, typed = map(json.loads, sys.argv[1:])
HEAVY = {"kubernetes", "matplotlib", "networkx", "numpy", "pandas", "pyarrow", "pyspark", "scipy"}
def command(*words, **environment):
    os.environ.update(environment)
    sys.argv = ["gesscale", *words]
    try:
        main()
    except SystemExit:
        pass
    for name in environment:
        del os.environ[name]
    heavy = HEAVY & {*sys.modules}
    assert not heavy, (words, environment, heavy)
command("--version")
for path in paths:
    command(*path.split(), "--help")
for words in typed:
    command(_GESSCALE_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(words.count(" ")))
"""
TYPED = [
    "gesscale re",
    "gesscale latency-map ch",
    "gesscale policies show ge",
    "gesscale recommend --policy d",
    "gesscale recommend --p",
    "gesscale recommend --set monitor.p",
    "gesscale arena run --workload kanis-c",
    "gesscale arena league --pr",
    "gesscale testbed kubernetes d",
]


def test_help_and_completion_import_nothing_heavy():
    paths = [path.removeprefix("gesscale").strip() for path in ALL]
    done = subprocess.run(
        [sys.executable, "-c", QUICK, json.dumps(paths), json.dumps(TYPED)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.lower().count("usage: ") == len(paths)
    completed = done.stdout.splitlines()
    words = {
        "recommend",
        "choose",
        "gesscale2",
        "daedalus",
        "--policy",
        "monitor.period=",
        "kanis-cosine",
        "--price",
        "demo",
    }
    assert words <= {*completed}


def test_the_names_of_settings_that_a_shell_completes_are_all_there_are():
    written = files("gesscale.cli").joinpath("settings_keys.txt").read_text("utf-8")
    assert written == settings_keys(), "run: python tests/settings_keys.py > gesscale/cli/settings_keys.txt"
