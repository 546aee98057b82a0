"""Run ``python -m testbed.pipeline``."""

from gesscale.cli.ending import run
from testbed.pipeline.cli import app

if __name__ == "__main__":
    run(app)
