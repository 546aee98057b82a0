"""Writes the file system of the virtual machine: one cpio archive (newc), which the kernel unpacks into memory."""

import importlib.metadata
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from packages import libraries, program
from packaging.requirements import Requirement

MODULES = ("virtio_pci", "virtio_net", "virtio-rng", "veth", "bridge", "sch_htb", "sch_netem", "sch_tbf", "cls_u32")
PROGRAMS = (
    *("dash", "dropbear", "ip", "tc", "ping", "nsenter", "unshare", "setpriv", "setsid", "flock", "grep", "sed"),
    *("cat", "chmod", "cut", "head", "hostname", "id", "ls", "mkdir", "mount", "mv", "nohup", "rm", "sleep", "sort"),
    *("tail", "test", "tr", "true", "wc"),
)
"""Programs as on a Debian node; busybox provides all others."""

DISTRIBUTIONS = ("gesscale", "ping3", "pytest", "pytest-timeout", "hypothesis")
PROJECT = Path(__file__).resolve().parents[2]
_LINK, _FOLDER, _FILE = 0o120777, 0o040755, 0o100000


def write_image(archive: Path, root: Path, small: Mapping[str, bytes], *, python: bool) -> None:
    """Write the archive.

    Parameters
    ----------
    root
        The unpacked packages.
    small
        Small files by their path in the machine; those under ``bin/`` and ``init`` are made executable.
    python
        Whether to include the project, its interpreter and the packages that its tests need.
    """
    files = dict(_system(root))
    if python:
        files |= dict(_python())
    files |= dict(_needed_libraries(root, files.values()))
    with archive.open("wb") as out:
        written: set[str] = set()
        for name, source in sorted(files.items()):
            _folders(out, name, written)
            executable = 0o755 if source.stat().st_mode & 0o111 else 0o644
            _entry(out, name, _FILE | executable, source.read_bytes())
        for name, content in sorted(small.items()):
            _folders(out, name, written)
            executable = 0o755 if name.startswith(("init", "bin/")) else 0o600
            _entry(out, name, _FILE | executable, content)
        for link, target in (*_links(root), *(_python_links() if python else ())):
            _folders(out, link, written)
            _entry(out, link, _LINK, target.encode())
        _entry(out, "TRAILER!!!", 0, b"")


def _system(root: Path) -> Iterator[tuple[str, Path]]:
    yield "bin/busybox", program(root, "busybox")
    for name in PROGRAMS:
        yield f"usr/bin/{name}", program(root, name)
    base = next((root / "lib/modules").iterdir())
    for name in ("modules.dep", "modules.alias", "modules.symbols", "modules.builtin"):
        if (base / name).exists():
            yield f"lib/modules/{base.name}/{name}", base / name
    for module in _with_dependencies(base):
        yield f"lib/modules/{base.name}/{module}", base / module


def _with_dependencies(base: Path) -> set[str]:
    """Return the files of MODULES and of all modules they need, as paths below `base`."""
    needs = dict(line.split(":", 1) for line in (base / "modules.dep").read_text(encoding="utf-8").splitlines())
    by_name = {Path(path).stem: path for path in needs}
    wanted, found = [by_name[name] for name in MODULES], set()
    while wanted:
        path = wanted.pop()
        if path not in found:
            found.add(path)
            wanted.extend(needs[path].split())
    return found


def _links(root: Path) -> Iterator[tuple[str, str]]:
    """Yield links to busybox for all programs that the image lacks, and links to iproute2 in its usual place."""
    listing = subprocess.check_output((program(root, "busybox"), "--list"), text=True)
    for applet in set(listing.split()) - {*PROGRAMS, "busybox", "sh"}:
        yield f"bin/{applet}", "/bin/busybox"
    yield "bin/sh", "/usr/bin/dash"  # busybox's sh would run its applets ip and tc instead of iproute2
    for name in ("ip", "tc"):
        yield f"sbin/{name}", f"/usr/bin/{name}"


def _python_links() -> Iterator[tuple[str, str]]:
    yield sys.executable.lstrip("/"), str(Path(sys.executable).resolve())


def _python() -> Iterator[tuple[str, Path]]:
    """Yield interpreter, library, packages of the project, and the project, each with its path on this system."""
    interpreter = Path(sys.executable).resolve()
    yield str(interpreter).lstrip("/"), interpreter
    yield from _tree(Path(sysconfig.get_path("stdlib")), without=r"site-packages|/test/|idlelib|ensurepip|config-")
    for path in Path(sys.prefix).glob("pyvenv.cfg"):
        yield str(path).lstrip("/"), path
    for distribution in _distributions(DISTRIBUTIONS):
        for file in distribution.files or ():
            path = Path(str(file.locate())).resolve()
            if path.is_file() and not re.search(r"/tests?/|\.dist-info/licenses", str(file)):
                yield str(path).lstrip("/"), path
    for part in ("gesscale", "latency_map", "perfmodel", "testbed", "tests"):
        yield from _tree(PROJECT / part, without="")
    yield str(PROJECT / "pyproject.toml").lstrip("/"), PROJECT / "pyproject.toml"


def _tree(folder: Path, *, without: str) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        if path.is_file() and not (without and re.search(without, str(path.relative_to(folder.parent)))):
            yield str(path).lstrip("/"), path


def _distributions(names: Iterable[str]) -> list[importlib.metadata.Distribution]:
    """Return installed distributions and their dependencies, without extras."""
    found: dict[str, importlib.metadata.Distribution] = {}
    wanted = list(names)
    while wanted:
        name = re.sub(r"[-_.]+", "-", wanted.pop()).lower()
        if name in found:
            continue
        found[name] = importlib.metadata.distribution(name)
        requirements = map(Requirement, found[name].requires or ())
        wanted += [each.name for each in requirements if not each.marker or each.marker.evaluate({"extra": ""})]
    return list(found.values())


def _needed_libraries(root: Path, files: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the shared libraries that the files need, found by the dynamic linker."""
    binaries = [str(file) for file in files if ".so" in file.name or _is_elf(file)]
    output = subprocess.run(("ldd", *binaries), env=libraries(root), capture_output=True, text=True, check=False).stdout
    for found in re.findall(r"(?:=> |\t)(/\S+) \(0x", output):
        library = Path(found)
        place = library.relative_to(root.resolve()) if library.is_relative_to(root.resolve()) else library
        yield str(place).lstrip("/"), library


def _is_elf(file: Path) -> bool:
    if not file.stat().st_mode & 0o111 or file.suffix == ".ko":
        return False
    with file.open("rb") as content:
        return content.read(4) == b"\x7fELF"


def _folders(out, name: str, written: set[str]) -> None:
    for parent in reversed(Path(name).parents[:-1] if "/" in name else []):
        if str(parent) not in written:
            written.add(str(parent))
            _entry(out, str(parent), _FOLDER, b"")


def _entry(out, name: str, mode: int, content: bytes) -> None:
    numbers = (0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name.encode()) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % number for number in numbers) + name.encode() + b"\0"
    out.write(_padded(head) + _padded(content))


def _padded(block: bytes) -> bytes:
    return block + b"\0" * (-len(block) % 4)
