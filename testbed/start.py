"""Entry point of the command ``testbed``."""

from gesscale.cli.start import start


def main() -> None:
    """Run ``testbed``."""
    start("testbed.cli")
