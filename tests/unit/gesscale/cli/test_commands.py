"""Rules for every command: help, example and options; and the command line as a whole."""

import shlex
import sys
from importlib.metadata import EntryPoint
from importlib.resources import files
from types import ModuleType

import pytest
from refusals import codes
from settings_keys import settings_keys
from typer.main import get_command

from gesscale.cli import app as root
from gesscale.cli.app import app


def commands(found, words=("gesscale",)):
    """Yield each command with the words that lead to it; of a group those below it."""
    if not hasattr(found, "commands"):
        yield words, found
    for name, each in getattr(found, "commands", {}).items():
        yield from commands(each, (*words, name))


LEAVES = dict(commands(get_command(app)))


def test_every_command_has_a_help_and_a_valid_example():
    for words, command in LEAVES.items():
        assert command.help, words
        assert command.epilog, words
        example = shlex.split(command.epilog.removeprefix("Example: ").partition(" | ")[0].partition(" > ")[0])
        named = example if example[0] == "gesscale" else ["gesscale", *example]
        assert tuple(named[: len(words)]) == words
        known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
        used = {word for word in example if word.startswith("-")}
        assert words[-1] == "agent" or used <= known, words  # the agent reads its options by itself


def test_the_help_of_a_flag_shows_no_type(gesscale):
    for words in (("run",), ("testbed", "kubernetes", "up"), ()):
        _, out, _ = gesscale(*words, "--help")
        assert "--help" in out
        assert "<bool>" not in out


def test_output_is_always_the_form_and_a_file_goes_to():
    for words, command in LEAVES.items():
        by_name = {name: param for param in command.params for name in param.opts}
        assert ("-o" in by_name) == ("--output" in by_name), words
        if "-o" in by_name:
            assert by_name["-o"].bare_type() in {"Output", "PlanForm"}, words
        if "--to" in by_name:
            assert by_name["--to"].bare_type() == "Path", words


def test_a_shell_completes_all_settings():
    written = files("gesscale.cli").joinpath("settings_keys.txt").read_text("utf-8")
    assert written == settings_keys(), "run: python tests/settings_keys.py > gesscale/cli/settings_keys.txt"


def test_a_broken_package_does_not_hide_the_others(monkeypatch):
    broken = ModuleType("broken_commands")
    monkeypatch.setitem(sys.modules, broken.__name__, broken)  # it has no app
    before = [*app.registered_commands]
    try:
        root._add_entry_point(EntryPoint("mine", "broken_commands:app", "gesscale.commands"))
        listed = get_command(app).commands
    finally:
        app.registered_commands[:] = before
    assert listed["mine"].help.startswith("Cannot be imported: ")
    assert "run" in listed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete_it(gesscale, monkeypatch, shell):
    # --show-completion finds out by itself which shell it runs in; this is what it then asks for.
    monkeypatch.setenv("_GESSCALE_COMPLETE", f"source_{shell}")
    code, out, _ = gesscale()
    assert code == 0
    assert "_GESSCALE_COMPLETE=complete_" in out


@pytest.mark.parametrize(("words", "named"), [
    (("recommend", "-c"), "-c"),
    (("recommend", "--nope"), "gesscale recommend"),
    (("nope",), "'nope'"),
    (("latency-map", "rank", "map.json"), "--members"),
])  # fmt: skip
def test_a_wrong_command_line_is_reported_in_one_line(gesscale, words, named):
    code, out, err = gesscale(*words)
    assert (code, out, codes(err)) == (2, "", ["usage-invalid"])
    assert named in err
    assert len(err.splitlines()) == 1
