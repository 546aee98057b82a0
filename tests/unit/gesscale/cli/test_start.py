import subprocess
import sys

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


def test_ctrl_c_while_the_commands_are_imported_ends_in_one_line():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
