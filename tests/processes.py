"""``gesscale`` as a separate process, for tests of signals, pipes and exit codes."""

import sys

# A background job of a shell ignores SIGINT, and its child processes inherit that.
TAKES_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
COMMAND = (sys.executable, "-c", f"{TAKES_CTRL_C}from gesscale.cli.start import main; main()")
