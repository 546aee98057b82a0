"""``gesscale`` as a process of its own, for tests of signals, pipes and exits."""

import sys

# A shell's background job, which a test run may be, ignores SIGINT and hands that down.
TAKES_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
COMMAND = (sys.executable, "-c", f"{TAKES_CTRL_C}from gesscale.cli.start import main; main()")
