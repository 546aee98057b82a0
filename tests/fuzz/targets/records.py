"""Records of runs: as the simulator acts them again, and as a policy is asked about them."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from fuzz.target import TESTS, Form, Target
from gesscale.cli.output import Output
from gesscale.cli.replay import replay
from gesscale.monitor.record_files import BATCHES, DECISIONS
from testbed.simulator.validation.measured_batch import of_run
from testbed.simulator.validation.recorded_run import read_run

_RECORDS = TESTS / "data" / "records"
_BATCHES, _DECISIONS = 14, 5
"""So many lines of each record, that an input takes milliseconds."""


def _some(file: str, lines: int) -> Callable[[], Sequence[bytes]]:
    def read() -> Sequence[bytes]:
        folders = [folder for folder in sorted(_RECORDS.iterdir()) if folder.is_dir()]
        return [_beginning(folder / file, lines) for folder in folders]

    return read


def _beginning(file: Path, lines: int) -> bytes:
    return b"".join(file.read_bytes().splitlines(keepends=True)[:lines])


def _in_record(file: str, use: Callable[[Path], object]) -> Callable[[bytes, Path], object]:
    """Return a call that puts the input in the place of one file of a record."""

    def call(data: bytes, folder: Path) -> object:
        source = _RECORDS / "demo-1"
        for name in ("gesscale.yaml", "latency.csv"):
            shutil.copyfile(source / name, folder / name)
        (folder / BATCHES).write_bytes(_beginning(source / BATCHES, _BATCHES))
        (folder / DECISIONS).write_bytes(_beginning(source / DECISIONS, _DECISIONS))
        (folder / file).write_bytes(data)
        return use(folder)

    return call


def _run(folder: Path) -> None:
    run = read_run(folder)
    _ = run.workload
    of_run(run)


def _replay(folder: Path) -> None:
    replay(folder, output=Output.JSON)


TARGETS = tuple(
    Target(
        name=f"{name}-{what}", form=Form.JSON_LINES, samples=_some(file, lines), call=_in_record(file, use)
    )
    for name, use in (("run", _run), ("replay", _replay))
    for what, file, lines in (("batches", BATCHES, _BATCHES), ("decisions", DECISIONS, _DECISIONS))
)
