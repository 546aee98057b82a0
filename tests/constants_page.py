"""The page of all bundled constants: ``python tests/constants_page.py > FILE``."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import typer

from testbed.simulator.figures import Figures, read_figures
from testbed.simulator.spark.constants import FOLDER

_FOLDERS = {"Spark": FOLDER, "Flink": FOLDER.parents[1] / "flink" / "physics"}
_BORROWED = re.compile(r"(?:(?:That of|As in) (?P<file>[\w-]+)\.yaml\.|As (?P<name>[\w-]+):)")
_HEAD = """\
# The simulator's constants

Written by `python tests/constants_page.py > docs/reference/simulator_constants.md` from the files that the
simulator reads (`testbed/simulator/{spark,flink}/physics/`). The meaning of a constant is in
`testbed/simulator/spark/constants.py` and `testbed/simulator/flink/physics.py`; how good they are in
[simulator.md](../explanation/simulator.md). *Measured* and *fitted* is what this project measured; *published* and
*inferred* rests on what others printed; *assumed* has no source but a reason.
"""


def constants_page() -> str:
    """Return what docs/reference/simulator_constants.md holds; a test compares the two."""
    parts = [_HEAD]
    for engine, folder in _FOLDERS.items():
        files = {file.stem: read_figures(file, folder) for file in sorted(folder.glob("*.yaml"))}
        parts.append(f"\n## {engine}\n")
        parts += [line for name, figures in files.items() for line in _file_lines(name, figures)]
    return "\n".join(parts) + "\n"


def _file_lines(name: str, figures: Figures) -> Iterator[str]:
    own = {key: each for key, each in figures.figures.items() if not _BORROWED.match(each.origin)}
    yield f"### `{name}`\n\n{_line(figures.about)}\n\n| Constant | Value | Where from |\n|---|---|---|"
    yield from (f"| `{key}` | {each.value:g} | {_line(each.origin)} |" for key, each in own.items())
    for other, borrowed in _borrowed(figures).items():
        yield f"\nAs in `{other}`: {', '.join(f'`{key}` {value:g}' for key, value in borrowed.items())}."
    yield ""


def _borrowed(figures: Figures) -> Mapping[str, dict[str, float]]:
    """Return the constants that are another file's, by that file."""
    found: dict[str, dict[str, float]] = {}
    for key, each in figures.figures.items():
        if match := _BORROWED.match(each.origin):
            found.setdefault(match["file"] or Path(match["name"]).stem, {})[key] = each.value
    return found


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    typer.echo(constants_page(), nl=False)
