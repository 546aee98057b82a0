"""Resident memory of a process, also of one for another processor that qemu runs."""

import re
from pathlib import Path

_MAPPING = re.compile(
    r"^[0-9a-f]+-[0-9a-f]+ (?P<rights>\S{4}) \S+ \S+ \d+ *(?P<name>.*)\n(?:(?!Rss)\w+: .*\n)*Rss: +(?P<kib>\d+) kB",
    re.MULTILINE,
)


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process, MiB.

    Of a process that qemu's user mode runs, what belongs to qemu is left out: its program, its heap, and the code that
    it translates, the only memory that may be both written and run. What qemu allocates outside its heap is counted.
    """
    mappings = [match.groupdict() for match in _MAPPING.finditer(Path(f"/proc/{pid}/smaps").read_text())]
    if any("/qemu-" in each["name"] for each in mappings):
        mappings = [each for each in mappings if not _of_qemu(each["rights"], each["name"])]
    return round(sum(int(each["kib"]) for each in mappings) / 1024, 1)


def _of_qemu(rights: str, name: str) -> bool:
    return "/qemu-" in name or name == "[heap]" or rights.startswith("rwx")
