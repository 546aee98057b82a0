"""``python -m testbed.kubernetes``."""

from gesscale.cli.app import run
from testbed.kubernetes.cli import app

if __name__ == "__main__":
    run(app)
