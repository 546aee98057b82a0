"""A folder of results: appended to while cases finish, read back by the other commands.

experiment.json   the experiment, and digests of the files that it names
results.jsonl     one line for each finished case; the truth, all else is made from it
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
from gesscale.errors import InputError
from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment, experiment_of
from testbed.arena.judging.comparing import results_document
from testbed.arena.runs.running import ARENA_FAULT
from testbed.results_folder import check_ours

EXPERIMENT, LINES, DOCUMENT = "experiment.json", "results.jsonl", "results.json"
_OURS = (EXPERIMENT, LINES, DOCUMENT)
_MAY_GROW = ("policies", "workloads", "seeds")

_LINE = TypeAdapter(CaseResult)


class ResultsFolder:
    """A folder that takes results of one experiment; `open_results` opens one, use it in a ``with`` statement."""

    def __init__(self, folder: Path, experiment: Experiment, lines: FileIO, done: Mapping[Case, CaseResult]) -> None:
        self.folder = folder
        self._experiment = experiment
        self._lines = lines
        self._done = dict(done)

    @property
    def results(self) -> tuple[CaseResult, ...]:
        """What is done, in the order of the experiment's cases."""
        return tuple(self._done[case] for case in self._experiment.cases() if case in self._done)

    @property
    def missing(self) -> tuple[Case, ...]:
        """The cases that are not done, in the order of the experiment."""
        return tuple(case for case in self._experiment.cases() if case not in self._done)

    def add(self, result: CaseResult) -> None:
        """Keep a result; a process that is killed right afterwards has not lost it."""
        self._lines.write(_LINE.dump_json(result) + b"\n")
        self._done[result.case] = result

    def finish(self) -> None:
        """Write what is made from all results."""
        document = results_document(self._experiment, self.results)
        _write_whole(self.folder / DOCUMENT, json.dumps(document, indent=1).encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()


def open_results(folder: Path, experiment: Experiment, *, fresh: bool = False) -> ResultsFolder:
    """Open a folder for the results of an experiment; what is done already is taken over.

    Raises
    ------
    InputError
        When the folder holds something else, or results of another experiment; it cannot be written; another
        command writes to it.
    """
    check_ours(folder, mark=EXPERIMENT, holds="with results", leftovers=(LINES,))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lines = (folder / LINES).open("ab+", buffering=0)
    except OSError as error:
        raise InputError(f"results {folder}: {error.strerror}; name a folder that can be written") from error
    try:
        _lock(lines, folder)
        if fresh:
            _clear(folder, lines)
        done = _taken_over(folder, experiment, lines)
        document = {"apiVersion": API_VERSION, "experiment": experiment.document(), "files": _digests(experiment)}
        _write_whole(folder / EXPERIMENT, json.dumps(document, indent=1).encode())
    except BaseException:
        lines.close()
        raise
    return ResultsFolder(folder, experiment, lines, done)


def read_results(folder: Path) -> tuple[Experiment, tuple[CaseResult, ...]]:
    """Read a folder of results; it need not be complete.

    Raises
    ------
    InputError
        When there is no such folder, or it holds something else, or what it holds is damaged.
    """
    if not (folder / EXPERIMENT).is_file():
        what = "has no experiment.json" if folder.is_dir() else "is no folder"
        raise InputError(f"results {folder}: expected a folder that `gesscale arena run --results` wrote, this {what}")
    experiment, _ = _stored(folder)
    try:
        content = (folder / LINES).read_bytes()
    except OSError as error:
        raise InputError(
            f"results {folder}: {LINES}: {error.strerror}; run the experiment again with --fresh"
        ) from error
    done, _ = _parsed(folder, content, set(experiment.cases()))
    return experiment, tuple(done[case] for case in experiment.cases() if case in done)


def _lock(lines: FileIO, folder: Path) -> None:
    try:
        fcntl.flock(lines, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(
            f"results {folder}: another command writes to it; wait for its end or name another folder"
        ) from None


def _clear(folder: Path, lines: FileIO) -> None:
    lines.truncate(0)
    for name in _OURS:
        if name != LINES:
            (folder / name).unlink(missing_ok=True)


def _taken_over(folder: Path, experiment: Experiment, lines: FileIO) -> Mapping[Case, CaseResult]:
    """Return what is done; the rest of a line that was torn off is cut away."""
    if not (folder / EXPERIMENT).exists():
        lines.truncate(0)  # it ended before it had begun
        return {}
    stored, digests = _stored(folder)
    _check_same(folder, stored, experiment, digests)
    lines.seek(0)
    done, whole = _parsed(folder, lines.read(), set(stored.cases()))
    lines.truncate(whole)
    return {case: result for case, result in done.items() if not result.lost.startswith(ARENA_FAULT)}


def _stored(folder: Path) -> tuple[Experiment, Mapping[str, str]]:
    """Return the experiment that the results are of, and the digests of its files."""
    path = folder / EXPERIMENT
    try:
        document = json.loads(path.read_text("utf-8"))
        experiment, digests = document["experiment"], document["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path}: expected what `gesscale arena run` writes there ({error}); run again with --fresh"
        ) from error
    return experiment_of(experiment, str(path)), digests


def _check_same(folder: Path, stored: Experiment, experiment: Experiment, digests: Mapping[str, str]) -> None:
    different = list(_differences(stored.document(), experiment.document(), ""))
    other = [change for change in different if change[0] not in _MAY_GROW]
    if other or not set(stored.cases()) <= set(experiment.cases()):
        listed = other or different
        said = "; ".join(f"{path} was {was!r:.80}, is {now!r:.80}" for path, was, now in listed[:4])
        more = f"; and {len(listed) - 4} more" if len(listed) > 4 else ""
        rule = "" if other else " (more may be asked for than there are, not fewer)"
        raise InputError(
            f"results {folder}: they are of another experiment: {said}{more}{rule}; name another folder, or throw "
            "them away with --fresh"
        )
    now_there = _digests(experiment)
    changed = [file for file, digest in digests.items() if now_there.get(file, digest) != digest]
    if changed:
        raise InputError(
            f"results {folder}: {changed[0]} has changed since; name another folder, or throw the results away "
            "with --fresh"
        )


def _differences(was: object, now: object, path: str) -> Iterator[tuple[str, object, object]]:
    if isinstance(was, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*was, *now)):
            yield from _differences(was.get(key), now.get(key), f"{path}.{key}" if path else key)
    elif was != now:
        yield path, was, now


def _parsed(folder: Path, content: bytes, known: set[Case]) -> tuple[dict[Case, CaseResult], int]:
    """Return the results of whole lines, and how many bytes these lines are."""
    whole = content.rfind(b"\n") + 1
    done: dict[Case, CaseResult] = {}
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            result = _LINE.validate_json(line)
        except ValidationError as error:
            raise InputError(
                f"results {folder}: {LINES} line {number} is no result; remove that line, then resume"
            ) from error
        if result.case not in known:
            raise InputError(f"results {folder}: {LINES} line {number} is of no case of the experiment: {result.case}")
        done[result.case] = result
    return done, whole


def _digests(experiment: Experiment) -> dict[str, str]:
    """Return a digest of each file that the experiment names."""
    nodes, operators = experiment.nodes, experiment.operators.values()
    physics = (operator.physics for operator in operators)
    named = (*experiment.policies, *experiment.workloads, nodes.map, nodes.topology, *physics)
    files = {Path(name.partition(":")[0]) for name in named if name}
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(files) if file.is_file()}


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file that is never seen half written."""
    draft = path.with_suffix(".tmp")
    draft.write_bytes(content)
    draft.replace(path)
