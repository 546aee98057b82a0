"""Judges inputs in a worker of its own, which is killed and replaced where one hangs it or breaks it."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import IO, Self

from fuzz.target import ROOT, TESTS
from fuzz.verdict import Kind, Limits, Verdict

CATALOGUE = "fuzz.targets"
_WARM_UP_S, _ENDS_S = 240.0, 60.0
_ENVIRONMENT: Mapping[str, str] = {
    # One thread, and one arena of the allocator: CPU time and memory are then those of the parser.
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "MALLOC_ARENA_MAX"), "1"),
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_UNSTEADY = {Kind.HANG, Kind.MEMORY, Kind.CRASH}
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


class Judge:
    """Gives verdicts.

    Parameters
    ----------
    catalogue
        The module whose ``TARGETS`` are judged.
    limits
        What one input may take.
    """

    def __init__(self, catalogue: str = CATALOGUE, limits: Limits | None = None) -> None:
        self._catalogue, self._limits = catalogue, limits or Limits()
        self._worker: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._said: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def judge(self, target: str, data: bytes) -> Verdict:
        """Return what becomes of an input; a hang, a lack of memory or a crash is one where it comes twice."""
        verdict = self._ask(target, data)
        if verdict.kind in _UNSTEADY:
            self.close()
            verdict = self._ask(target, data)
        if verdict.kind in _UNSTEADY:
            self.close()
        return verdict

    def close(self) -> None:
        """End the worker."""
        if self._connection is not None:
            self._connection.close()
        if self._worker is not None:
            self._worker.kill()
            self._worker.wait()
        if self._said is not None:
            self._said.close()
        self._worker = self._connection = self._said = None

    def _ask(self, target: str, data: bytes) -> Verdict:
        connection = self._connection or self._begin()
        try:
            connection.send((target, data))
            if connection.poll(self._limits.wall_s + _WARM_UP_S):
                verdict: Verdict = connection.recv()
                return verdict
        except (EOFError, ConnectionError):
            pass
        return self._epitaph()

    def _begin(self) -> Connection:
        ours, theirs = Pipe()
        limits = self._limits
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the worker
        with theirs:
            self._worker = subprocess.Popen(
                [
                    *(sys.executable, "-m", "fuzz.worker", str(theirs.fileno()), self._catalogue),
                    *(str(limits.cpu_s), str(limits.wall_s), str(limits.mib)),
                ],
                pass_fds=[theirs.fileno()],
                env={**os.environ, **_ENVIRONMENT, "PYTHONPATH": os.pathsep.join((str(ROOT), str(TESTS)))},
                stdout=subprocess.DEVNULL,
                stderr=self._said,
            )
        self._connection = ours
        return ours

    def _epitaph(self) -> Verdict:
        """Return what a worker that is gone, or that must go, said last."""
        assert self._worker is not None
        assert self._said is not None
        try:
            code: int | str = self._worker.wait(_ENDS_S)
        except subprocess.TimeoutExpired:
            code = "none"
        self._said.seek(0)
        said = self._said.read().decode(errors="replace")
        self.close()
        late = code == "none" or "Timeout" in said
        frames = [(Path(each["file"]), each["line"]) for each in _FRAME.finditer(said)]
        ours = [f"{file.relative_to(ROOT)}:{line}" for file, line in frames if file.is_relative_to(ROOT)]
        place = next((each for each in ours if not each.startswith((".venv", "tests/"))), "?")
        if late:
            return Verdict(
                kind=Kind.HANG, cause=f"no answer in {self._limits.wall_s:g} s at {place}", place=place
            )
        last = said.strip().splitlines()[-1:] or [""]
        return Verdict(
            kind=Kind.CRASH, cause=f"worker ended with {code} at {place}: {last[0]:.200}", place=place
        )
