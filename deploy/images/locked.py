#!/usr/bin/env python3
"""Write the part of requirements.lock that one image needs, with hashes: one lock for tests and images.

    locked.py ../../pyproject.toml ../../requirements.lock controller > controller.txt
    locked.py ../../pyproject.toml ../../requirements.lock --only ping3 urllib3 > agent.txt

Extras add to the project's requirements; ``--only`` names packages instead. Their dependencies come from the comments
"# via" that uv writes into the lock. ``pip check`` in the image proves that none is missing. Needs only Python 3.11.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path


def main() -> None:
    """Print the required blocks of the lock."""
    parser = argparse.ArgumentParser(description="The part of requirements.lock that an image needs.")
    parser.add_argument("project", type=Path, help="pyproject.toml")
    parser.add_argument("lock", type=Path, help="requirements.lock")
    parser.add_argument("names", nargs="+", help="extras of the project, or with --only packages")
    parser.add_argument(
        "--only", action="store_true", help="names are packages; the project's requirements are omitted"
    )
    given = parser.parse_args()
    project = tomllib.loads(given.project.read_text())["project"]
    lock = given.lock.read_text()
    try:
        packages = set(given.names) if given.only else roots(project, given.names)
        chosen = select(lock, packages)
    except LookupError as missing:
        sys.exit(f"locked.py: {missing.args[0]}")
    sys.stdout.write("".join(chosen))


def roots(project: dict[str, object], extras: Iterable[str]) -> set[str]:
    """Return the names of the requirements of the project and these extras, with nested extras resolved."""
    optional: dict[str, list[str]] = project["optional-dependencies"]  # type: ignore[assignment] # TOML
    named = set()
    waiting = [*project["dependencies"]]  # type: ignore[misc] # TOML
    for extra in extras:
        if extra not in optional:
            message = f"pyproject.toml has no extra {extra}; it has {', '.join(optional)}"
            raise LookupError(message)
        waiting += optional[extra]
    while waiting:
        requirement = waiting.pop()
        name = re.match(r"[A-Za-z0-9._-]+", requirement).group().lower()  # type: ignore[union-attr] # a name leads
        if name == project["name"]:
            inner = re.search(r"\[(.*)\]", requirement).group(1)  # type: ignore[union-attr] # only to name extras
            waiting += [each for extra in inner.split(",") for each in optional[extra.strip()]]
        else:
            named.add(name)
    return named


def select(lock: str, packages: set[str]) -> list[str]:
    """Return the blocks of these packages and of their dependencies.

    Raises
    ------
    LookupError
        A package is not in the lock.
    """
    blocks: dict[str, list[str]] = {}
    needed_by: dict[str, set[str]] = {}
    for block in re.findall(r"^(?:\S.*\n(?:[ #].*\n)*)", lock, flags=re.MULTILINE):
        name = re.match(r"[A-Za-z0-9._-]+", block).group()
        blocks.setdefault(name, []).append(block)
        _, _, via = block.partition("# via")
        needed_by.setdefault(name, set()).update(re.findall(r"[A-Za-z0-9][A-Za-z0-9._-]*", via))
    if missing := packages - blocks.keys():
        message = f"requirements.lock does not have {', '.join(sorted(missing))}; run make lock"
        raise LookupError(message)
    chosen = set(packages)
    while more := {name for name, users in needed_by.items() if users & chosen} - chosen:
        chosen |= more
    return [block for name in sorted(chosen) for block in blocks[name]]


if __name__ == "__main__":
    main()
