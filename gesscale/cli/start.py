"""Where ``gesscale`` begins: the rest is imported under a guard, as it may be missing, and Ctrl-C may come."""

import sys


def main() -> None:
    """Run ``gesscale``."""
    try:
        from gesscale.cli.app import main as run
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
