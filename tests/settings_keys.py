"""The names of all settings, for completion: ``python tests/settings_keys.py > gesscale/cli/settings_keys.txt``."""

import typer

from gesscale.settings import Settings
from gesscale.settings.reference import plain_schema, schema_rows


def settings_keys() -> str:
    """Return what gesscale/cli/settings_keys.txt holds; a test compares the two."""
    return "".join(f"{row.key}\n" for row in schema_rows(plain_schema(Settings)))


if __name__ == "__main__":
    typer.echo(settings_keys(), nl=False)
