"""The policy that docs/howto/write_a_policy.md builds, as a file, and the commands with which it runs it."""

import re
from pathlib import Path
from textwrap import dedent

GUIDE = (Path(__file__).parents[1] / "docs/howto/write_a_policy.md").read_text("utf-8")
NAME = "steady.py:POLICY"
COMMANDS = tuple(line.split() for line in re.findall(r"^    gesscale (.*)$", GUIDE, re.MULTILINE))


def block(language: str) -> str:
    """Return the guide's block of a language."""
    (text,) = re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    return dedent(text)


def write_policy(folder: Path) -> str:
    """Write the guide's policy into a folder; return its name from anywhere."""
    (folder / "steady.py").write_text(block("python"), "utf-8")
    return f"{folder / NAME}"


def install_policy(folder: Path, entry_point: str = "steady = steady:POLICY") -> None:
    """Lay a package with the guide's policy into a folder of the module search path, as pip does."""
    write_policy(folder)
    metadata = folder / "steady-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: steady\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[gesscale.policies]\n{entry_point}\n")
