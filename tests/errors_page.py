"""Writes the page of error codes: ``python tests/errors_page.py > docs/reference/errors.md``."""

from collections.abc import Iterator
from itertools import groupby

import typer

from gesscale.common.errors import catalogue

_HEAD = """\
# Error codes

Written by `python tests/errors_page.py > docs/reference/errors.md` from the file `errors.toml` of each package.

A command prints `error[CODE]: message` or `warning[CODE]: message` on stderr; a log line has `code=CODE` and the
fields as `key=value`. Names in braces are fields. Codes and fields are stable, messages are not: a script should test
the code.
`gesscale explain-error CODE` prints an entry of this page offline.
"""


def errors_page() -> str:
    """Return the page."""
    return "\n".join((_HEAD, *_sections()))


def _sections() -> Iterator[str]:
    entries = sorted(catalogue().values(), key=lambda entry: (entry.package, entry.code))
    for package, group in groupby(entries, key=lambda entry: entry.package):
        yield f"## {package}\n"
        for entry in group:
            code = f"`` {entry.message} ``" if "`" in entry.message else f"`{entry.message}`"
            yield f"### `{entry.code}`\n\nMessage: {code}\n"
            yield f"{entry.meaning} **What to do:** {entry.action}\n"


if __name__ == "__main__":
    typer.echo(errors_page(), nl=False)
