"""What is fuzzed: a parser, valid samples of what it reads, and the errors that it raises on purpose."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from gesscale.errors import GesscaleError
from latency_map import LatencyMapError

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
SAMPLES = Path(__file__).parent / "samples"
FOUND = Path(__file__).parent / "found"


class Form(Enum):
    """How a sample is taken apart for mutations of its structure."""

    JSON = auto()
    JSON_LINES = auto()
    YAML = auto()
    TEXT = auto()
    GZIP = auto()


class RefusedError(Exception):
    """Rejection of bad input by a parser that does not raise."""


OF_COMMANDS = (GesscaleError, LatencyMapError, RefusedError, OSError)
"""Errors that a command prints in one line; those of the operating system are among them."""

OF_THE_LOOP = (GesscaleError, LatencyMapError, RefusedError)
"""Errors that the loop and the controller handle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A parser as it is fuzzed."""

    name: str
    form: Form
    samples: Callable[[], Sequence[bytes]]
    call: Callable[[bytes, Path], object]
    errors: tuple[type[Exception], ...] = OF_COMMANDS


def files(*patterns: str, under: Path = SAMPLES) -> Callable[[], Sequence[bytes]]:
    """Return a function that reads the files of some patterns, in the order of their names."""

    def read() -> Sequence[bytes]:
        found = [file.read_bytes() for pattern in patterns for file in sorted(under.glob(pattern))]
        assert found, f"no file is called {patterns} in {under}"
        return found

    return read


def from_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes, Path], object]:
    """Return a call that writes the input to a file of this name and reads that."""

    def call(data: bytes, folder: Path) -> object:
        path = folder / name
        path.write_bytes(data)
        return read(path)

    return call
