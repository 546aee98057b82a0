"""Stores results in a folder while cases finish, and reads them for the other commands.

experiment.json   the experiment, and digests of the files that it names
results.jsonl     one line for each finished case; the source of all other output
results.json      the document of ``gesscale arena run``, when all cases are done
"""

import fcntl
import hashlib
import json
from collections.abc import Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter, ValidationError

from gesscale.common import API_VERSION
from gesscale.common.errors import cause_of
from gesscale.errors import InputError
from gesscale.formatting import describe_exception
from testbed.arena.case import Case, CaseResult
from testbed.arena.evaluation.comparison import results_document
from testbed.arena.experiments.experiment import Experiment, experiment_of
from testbed.arena.runs.case_runner import ARENA_FAILED
from testbed.results_folder import check_results_folder

EXPERIMENT, LINES, DOCUMENT = "experiment.json", "results.jsonl", "results.json"
_OURS = (EXPERIMENT, LINES, DOCUMENT)
_MAY_GROW = ("policies", "workloads", "seeds")

_LINE = TypeAdapter(CaseResult)


class ResultsFolder:
    """An open folder for the results of one experiment; use `open_results` in a ``with`` statement."""

    def __init__(self, folder: Path, experiment: Experiment, lines: FileIO, done: Mapping[Case, CaseResult]) -> None:
        self.folder = folder
        self._experiment = experiment
        self._lines = lines
        self._done = dict(done)

    @property
    def results(self) -> tuple[CaseResult, ...]:
        """Results of finished cases, in the order of the experiment's cases."""
        return tuple(self._done[case] for case in self._experiment.cases() if case in self._done)

    @property
    def missing(self) -> tuple[Case, ...]:
        """Cases without a result, in the order of the experiment."""
        return tuple(case for case in self._experiment.cases() if case not in self._done)

    def add(self, result: CaseResult) -> None:
        """Append a result to the file at once, so that it survives the end of the process."""
        self._lines.write(_LINE.dump_json(result) + b"\n")
        self._done[result.case] = result

    def finish(self) -> None:
        """Write the document of all results."""
        document = results_document(self._experiment, self.results)
        _write_atomically(self.folder / DOCUMENT, json.dumps(document, indent=1).encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()


def open_results(folder: Path, experiment: Experiment, *, fresh: bool = False) -> ResultsFolder:
    """Open a folder for the results of an experiment, and continue results that it already has.

    Raises
    ------
    InputError
        If the folder holds other files or results of another experiment, cannot be written, or is in use by another
        command.
    """
    check_results_folder(folder, mark=EXPERIMENT, leftovers=(LINES,))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lines = (folder / LINES).open("ab+", buffering=0)
    except OSError as error:
        raise InputError("results-folder-unwritable", source=str(folder), cause=cause_of(error)) from error
    try:
        _lock(lines, folder)
        if fresh:
            _clear(folder, lines)
        done = _resumed(folder, experiment, lines)
        document = {"apiVersion": API_VERSION, "experiment": experiment.document(), "files": _digests(experiment)}
        _write_atomically(folder / EXPERIMENT, json.dumps(document, indent=1).encode())
    except BaseException:
        lines.close()
        raise
    return ResultsFolder(folder, experiment, lines, done)


def read_results(folder: Path) -> tuple[Experiment, tuple[CaseResult, ...]]:
    """Read a folder of results, which may be incomplete.

    Raises
    ------
    InputError
        If there is no such folder, it holds other files, or its results are damaged.
    """
    if not (folder / EXPERIMENT).is_file():
        raise InputError("results-missing", source=str(folder), file=EXPERIMENT)
    experiment, _ = _stored(folder)
    try:
        content = (folder / LINES).read_bytes()
    except OSError as error:
        raise InputError("results-damaged", source=str(folder / LINES), cause=cause_of(error)) from error
    done, _ = _parsed(folder, content, set(experiment.cases()))
    return experiment, tuple(done[case] for case in experiment.cases() if case in done)


def _lock(lines: FileIO, folder: Path) -> None:
    try:
        fcntl.flock(lines, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError("results-folder-locked", source=str(folder)) from None


def _clear(folder: Path, lines: FileIO) -> None:
    lines.truncate(0)
    for name in _OURS:
        if name != LINES:
            (folder / name).unlink(missing_ok=True)


def _resumed(folder: Path, experiment: Experiment, lines: FileIO) -> Mapping[Case, CaseResult]:
    """Return the existing results; an incomplete last line is removed."""
    if not (folder / EXPERIMENT).exists():
        lines.truncate(0)  # interrupted before the experiment was written
        return {}
    stored, digests = _stored(folder)
    _check_same(folder, stored, experiment, digests)
    lines.seek(0)
    done, whole = _parsed(folder, lines.read(), set(stored.cases()))
    lines.truncate(whole)
    return {case: result for case, result in done.items() if result.lost_code != ARENA_FAILED}


def _stored(folder: Path) -> tuple[Experiment, Mapping[str, str]]:
    """Return the experiment of the results, and the digests of its files."""
    path = folder / EXPERIMENT
    try:
        document = json.loads(path.read_text("utf-8"))
        experiment, digests = document["experiment"], document["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError("results-damaged", source=str(path), cause=describe_exception(error)) from error
    return experiment_of(experiment, str(path)), digests


def _check_same(folder: Path, stored: Experiment, experiment: Experiment, digests: Mapping[str, str]) -> None:
    different = list(_differences(stored.document(), experiment.document(), ""))
    other = [change for change in different if change[0] not in _MAY_GROW]
    if other or not set(stored.cases()) <= set(experiment.cases()):
        changes = [f"{path}: {was!r:.80} -> {now!r:.80}" for path, was, now in other or different]
        if other:
            raise InputError("results-experiment-differs", source=str(folder), changes=changes)
        raise InputError("results-cases-removed", source=str(folder), changes=changes)
    current = _digests(experiment)
    changed = [file for file, digest in digests.items() if current.get(file, digest) != digest]
    if changed:
        raise InputError("results-file-changed", source=str(folder), file=changed[0])


def _differences(was: object, now: object, path: str) -> Iterator[tuple[str, object, object]]:
    if isinstance(was, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*was, *now)):
            yield from _differences(was.get(key), now.get(key), f"{path}.{key}" if path else key)
    elif was != now:
        yield path, was, now


def _parsed(folder: Path, content: bytes, known: set[Case]) -> tuple[dict[Case, CaseResult], int]:
    """Return the results of complete lines, and the size of these lines in bytes."""
    whole = content.rfind(b"\n") + 1
    done: dict[Case, CaseResult] = {}
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        place = {"source": str(folder / LINES), "place": f"line {number}"}
        try:
            result = _LINE.validate_json(line)
        except ValidationError as error:
            raise InputError("results-line-invalid", **place) from error
        if result.case not in known:
            raise InputError("results-case-unknown", **place, case=str(result.case))
        done[result.case] = result
    return done, whole


def _digests(experiment: Experiment) -> dict[str, str]:
    """Return a digest of each file that the experiment names."""
    nodes, operators = experiment.nodes, experiment.operators.values()
    physics = (operator.physics for operator in operators)
    named = (*experiment.policies, *experiment.workloads, nodes.map, nodes.topology, *physics)
    files = {Path(name.partition(":")[0]) for name in named if name}
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(files) if file.is_file()}


def _write_atomically(path: Path, content: bytes) -> None:
    """Replace a file in one step."""
    draft = path.with_suffix(".tmp")
    draft.write_bytes(content)
    draft.replace(path)
