"""The process that parses: ``python -m fuzz.worker DESCRIPTOR CATALOGUE CPU_S WALL_S MIB``, started by `fuzz.judge`.

It may be killed at any input, by the system too; what it says last on stderr is the trace.
"""

import faulthandler
import gc
import importlib
import logging
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

from fuzz.target import ROOT, Target
from fuzz.verdict import Kind, Limits, Verdict

_PACKAGES = ("gesscale", "latency_map", "perfmodel", "testbed")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MIB = 1 << 20
_SAID = 160


class _OutOfTimeError(BaseException):
    """The CPU time is used up; no parser may take it for an error of its own."""


class _LoggedErrors(logging.Handler):
    """Keeps the errors that were logged and not raised: somebody caught all there are."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            self.errors.append(record.exc_info[1])


def serve(connection: Connection, catalogue: str, limits: Limits) -> None:
    """Answer each name and input with a verdict until the other end is closed."""
    targets: dict[str, Target] = {each.name: each for each in importlib.import_module(catalogue).TARGETS}
    logged = _LoggedErrors()
    logging.basicConfig(level=logging.INFO, handlers=[logged], force=True)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _out_of_time)
    warm: set[str] = set()
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        sys.stdout = sys.stderr = nowhere
        while True:
            try:
                name, data = connection.recv()
            except EOFError:
                return
            if name not in warm:
                _warm_up(targets[name])
                warm.add(name)
            logged.errors.clear()
            connection.send(_judge(targets[name], data, limits, logged))


def _warm_up(target: Target) -> None:
    """Parse the samples, so that no input has to bear what is imported and cached once."""
    for sample in target.samples():
        with suppress(Exception), tempfile.TemporaryDirectory() as folder:
            target.call(sample, Path(folder))
    gc.collect()
    gc.freeze()  # what is left stays: the next collection need not look at it


def _judge(target: Target, data: bytes, limits: Limits, logged: _LoggedErrors) -> Verdict:
    kind, error = Kind.ACCEPTED, None
    with tempfile.TemporaryDirectory() as folder:
        before_s = time.process_time()
        resident = _resident_after_forgetting_the_peak()
        try:
            with _bounded(limits):
                target.call(data, Path(folder))
        except target.errors:
            kind = Kind.REFUSED
        except _OutOfTimeError as fault:
            kind, error = Kind.HANG, fault
        except MemoryError as fault:
            kind, error = Kind.MEMORY, fault
        except BaseException as fault:  # noqa: BLE001 - these are what is looked for
            kind, error = Kind.TRACEBACK, fault
        cpu_s, mib = time.process_time() - before_s, (_peak() - resident) / _MIB
    swallowed = [fault for fault in logged.errors if not isinstance(fault, target.errors)]
    if error is None and swallowed:
        kind, error = Kind.TRACEBACK, swallowed[0]
    place = "" if error is None else _place(error)
    cause = "" if error is None else _cause(error, place, limits)
    if kind in {Kind.ACCEPTED, Kind.REFUSED} and mib > limits.mib:
        kind, cause = Kind.MEMORY, f"{mib:.0f} MiB in use at the peak"
    return Verdict(kind=kind, cause=cause, place=place, cpu_s=cpu_s, mib=max(0.0, mib))


@contextmanager
def _bounded(limits: Limits) -> Iterator[None]:
    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    held = int(Path("/proc/self/statm").read_text().split()[5]) * _PAGE
    faulthandler.dump_traceback_later(limits.wall_s, exit=True, file=2)
    signal.setitimer(signal.ITIMER_PROF, limits.cpu_s, 1.0)  # again each second, should somebody swallow it
    resource.setrlimit(resource.RLIMIT_DATA, (held + limits.mib * _MIB, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()


def _out_of_time(*_: object) -> None:
    raise _OutOfTimeError


def _cause(error: BaseException, place: str, limits: Limits) -> str:
    if isinstance(error, _OutOfTimeError):
        return f"not done after {limits.cpu_s:g} s of CPU time at {place}"
    if isinstance(error, MemoryError):
        return f"more than {limits.mib} MiB asked for at {place}"
    said = " ".join(str(error).split())
    return f"{type(error).__name__} at {place}: {said:.{_SAID}}"


def _place(error: BaseException) -> str:
    """Return where in the project an error was raised; where none of it is in the trace, where else."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(ROOT)]
    of_packages = [frame for frame in ours if Path(frame.filename).relative_to(ROOT).parts[0] in _PACKAGES]
    if not frames:
        return "?"
    frame = (of_packages or ours or frames)[-1]
    path = Path(frame.filename)
    return f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name}:{frame.lineno}"


def _resident_after_forgetting_the_peak() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


def _peak() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def main() -> None:
    """Serve the descriptor of the command line."""
    descriptor, catalogue, cpu_s, wall_s, mib = sys.argv[1:]
    faulthandler.enable()
    limits = Limits(cpu_s=float(cpu_s), wall_s=float(wall_s), mib=int(mib))
    with Connection(int(descriptor)) as connection:
        serve(connection, catalogue, limits)


if __name__ == "__main__":
    main()
