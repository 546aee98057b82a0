"""Entry points of commands, which report a missing package and Ctrl-C even while modules are being imported."""

import sys
from importlib import import_module


def main() -> None:
    """Run ``gesscale``."""
    start("gesscale.cli.app")


def start(module: str) -> None:
    """Run the function ``main`` of a module; report a missing package in one line."""
    try:
        run = import_module(module).main
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    except ModuleNotFoundError as error:
        from gesscale.extras import missing_package

        problem = missing_package(error)
        if problem is None:
            raise
        sys.stderr.write(f"error[{problem.code}]: {problem}\n")
        sys.exit(2)
    run()
