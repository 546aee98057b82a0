"""Start of a command: imports of help and completion, and Ctrl-C during imports."""

import json
import subprocess
import sys

from typer.main import get_command

from gesscale.cli.app import app

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
    command(*path, "--help")
for words in typed:
    command(_GESSCALE_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(words.count(" ")))
"""
TYPED = {
    "gesscale re": "recommend",
    "gesscale latency-map ch": "choose",
    "gesscale policies show ge": "gesscale",
    "gesscale recommend --policy d": "daedalus",
    "gesscale recommend --p": "--policy",
    "gesscale recommend --set monitor.p": "monitor.period=",
    "gesscale arena run --workload kanis-c": "kanis-cosine",
    "gesscale arena league --pr": "--price",
    "gesscale testbed kubernetes d": "demo",
}
# Stands for a Ctrl-C that falls into the second in which the commands are still being imported.
INTERRUPTED_IMPORT = """
import sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "gesscale.cli.app":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from gesscale.cli.start import main
main()
"""


def paths(command, words=()):
    yield words
    for name, each in getattr(command, "commands", {}).items():
        yield from paths(each, (*words, name))


def test_help_and_completion_import_nothing_heavy():
    asked = [words for words in paths(get_command(app)) if len(words) < 3]
    done = subprocess.run(
        [sys.executable, "-c", QUICK, json.dumps(asked), json.dumps([*TYPED])],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.lower().count("usage: ") == len(asked)
    assert {*TYPED.values()} <= {*done.stdout.splitlines()}


def test_ctrl_c_while_the_commands_are_imported_ends_in_one_line():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
