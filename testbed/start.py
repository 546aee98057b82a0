"""Where ``testbed`` begins."""

from gesscale.cli.start import start


def main() -> None:
    """Run ``testbed``."""
    start("testbed.cli")
