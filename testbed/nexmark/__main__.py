"""Run ``python -m testbed.nexmark``."""

from gesscale.cli.process_exit import run
from testbed.nexmark.cli import app

if __name__ == "__main__":
    run(app)
