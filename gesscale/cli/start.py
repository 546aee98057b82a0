"""Where ``gesscale`` begins: the rest is imported under a guard, so that Ctrl-C ends in one line then too."""

import sys


def main() -> None:
    """Run ``gesscale``."""
    try:
        from gesscale.cli.app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    run()
