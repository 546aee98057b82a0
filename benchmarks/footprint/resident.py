"""Measures the resident memory of a process, also of one that qemu runs for another processor."""

import re
from pathlib import Path

_MAPPING = re.compile(
    r"^(?P<begin>[0-9a-f]+)-[0-9a-f]+ \S+ \S+ \S+ \d+ *(?P<name>.*)\n(?:(?!Rss)\w+: .*\n)*Rss: +(?P<kib>\d+) kB",
    re.MULTILINE,
)
_HOST_FROM = 0x7000_0000_0000
"""Lowest address that Linux maps for a 64-bit program; qemu maps the emulated program far below."""


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process, MiB.

    Where qemu's user mode runs the process, the memory of qemu itself does not count: its program, its heap, and what
    it maps for itself, such as translated code.
    """
    mappings = [match.groupdict() for match in _MAPPING.finditer(Path(f"/proc/{pid}/smaps").read_text())]
    if any("/qemu-" in each["name"] for each in mappings):
        mappings = [each for each in mappings if not _of_qemu(int(each["begin"], 16), each["name"])]
    return round(sum(int(each["kib"]) for each in mappings) / 1024, 1)


def _of_qemu(begin: int, name: str) -> bool:
    return begin >= _HOST_FROM or name == "[heap]" or "/qemu-" in name
