"""Run ``python -m gesscale``."""

from gesscale.cli.start import main

if __name__ == "__main__":
    main()
