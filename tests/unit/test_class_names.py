"""A public class name means one thing in the whole tree."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_public_class_name_is_used_twice():
    packages = ("gesscale", "latency_map", "perfmodel", "testbed")
    files = (file for package in packages for file in (ROOT / package).rglob("*.py"))
    names = Counter(
        node.name
        for file in files
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []
