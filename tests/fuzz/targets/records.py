"""Records of runs: as the simulator acts them again, as a policy is asked about them, as the arena left them."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import arena_runs

from fuzz.target import TESTS, Form, Target
from gesscale.cli.output import Output
from gesscale.cli.replay import replay
from gesscale.monitor.record_files import BATCHES, DECISIONS
from testbed.arena.evaluation.comparison import results_document
from testbed.arena.runs.results import EXPERIMENT, LINES, open_results, read_results
from testbed.simulator.validation.batches import batches_of_run
from testbed.simulator.validation.recorded_run import read_run

_RECORDS = TESTS / "data" / "records"
_OPERATOR = "nearest"
"""Whose records are put in the place of one another's."""
_BATCHES, _DECISIONS = 14, 5
"""So many lines of each record, that an input takes milliseconds."""


def _some(file: str, lines: int) -> Callable[[], Sequence[bytes]]:
    def read() -> Sequence[bytes]:
        folders = [path.parent for path in sorted(_RECORDS.glob("*/gesscale.yaml")) if _OPERATOR in path.read_text()]
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
    batches_of_run(run)


def _replay(folder: Path) -> None:
    replay(folder, output=Output.JSON)


@cache
def _results() -> Mapping[str, bytes]:
    """Return the files of a folder of results of the arena."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "results"
        with open_results(folder, _EXPERIMENT) as kept:
            for case in kept.missing:
                kept.add(arena_runs.run_case(_EXPERIMENT, case, with_series=case.seed == 0))
        return {name: (folder / name).read_bytes() for name in (EXPERIMENT, LINES)}


def _in_results(file: str) -> Callable[[bytes, Path], object]:
    def call(data: bytes, folder: Path) -> None:
        for name, content in _results().items():
            (folder / name).write_bytes(data if name == file else content)
        experiment, results = read_results(folder)
        results_document(experiment, results)

    return call


_EXPERIMENT = arena_runs.small_experiment(seeds=2)
_OF_RUNS = tuple(
    Target(name=f"{name}-{what}", form=Form.JSON_LINES, samples=_some(file, lines), call=_in_record(file, use))
    for name, use in (("run", _run), ("replay", _replay))
    for what, file, lines in (("batches", BATCHES, _BATCHES), ("decisions", DECISIONS, _DECISIONS))
)
TARGETS = (
    *_OF_RUNS,
    Target(
        name="results-experiment",
        form=Form.JSON,
        samples=lambda: [_results()[EXPERIMENT]],
        call=_in_results(EXPERIMENT),
    ),
    Target(name="results-lines", form=Form.JSON_LINES, samples=lambda: [_results()[LINES]], call=_in_results(LINES)),
)
