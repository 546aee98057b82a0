"""Where commands begin: the rest is imported under a guard, as a package may be missing, and Ctrl-C may come."""

import sys
from importlib import import_module


def main() -> None:
    """Run ``gesscale``."""
    start("gesscale.cli.app")


def start(module: str) -> None:
    """Run the function ``main`` of a module; what keeps it from being imported is said in one line."""
    try:
        run = import_module(module).main
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    except ModuleNotFoundError as error:
        from gesscale.extras import missing_package

        said = missing_package(error)
        if said is None:
            raise
        sys.stderr.write(f"error: {said}\n")
        sys.exit(2)
    run()
