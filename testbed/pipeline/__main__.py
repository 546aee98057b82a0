"""Run ``python -m testbed.pipeline``."""

from gesscale.cli.process_exit import run
from testbed.pipeline.cli import app

if __name__ == "__main__":
    run(app)
