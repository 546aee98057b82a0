"""``gesscale explain-error``: what an error code means and what to do about it, offline."""

from collections.abc import Iterable
from typing import Annotated

import typer

from gesscale.cli.output import Output, OutputOption, emit, table
from gesscale.common import API_VERSION
from gesscale.common.errors import catalogue
from gesscale.errors import InputError

app = typer.Typer()

_MAX_SUGGESTIONS = 3


def error_codes() -> Iterable[str]:
    """Return all codes, for completion in a shell."""
    return sorted(catalogue())


@app.command("explain-error", epilog="Example: gesscale explain-error package-missing")
def explain_error(
    code: Annotated[
        str,
        typer.Argument(
            help="The code of an error or a warning, such as package-missing.",
            show_default=False,
            autocompletion=error_codes,
        ),
    ],
    output: OutputOption = Output.TABLE,
) -> None:
    """Explain an error code: its message, when it occurs, and what to do."""
    from difflib import get_close_matches

    entry = catalogue().get(code.strip().removeprefix("error[").removesuffix("]"))
    if entry is None:
        nearest = get_close_matches(code, catalogue(), n=_MAX_SUGGESTIONS, cutoff=0)
        raise InputError("error-code-unknown", got=code, nearest=nearest)
    document = {
        "apiVersion": API_VERSION,
        "code": entry.code,
        "package": entry.package,
        "message": entry.message,
        "meaning": entry.meaning,
        "action": entry.action,
    }
    rows = [(name, document[name]) for name in ("package", "message", "meaning", "action")]
    emit(document, output, [table(entry.code, ("entry", "text"), rows)])
