"""How busy the machine was while a run was played, for whoever reads its figures."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_USER, _NICE, _SYSTEM, _IDLE, _IOWAIT, _IRQ, _SOFTIRQ, _STOLEN = range(8)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineTimes:
    """What the kernel has counted up to now.

    Attributes
    ----------
    load
        Processes that run or wait for a core, mean of the last minute.
    busy, idle, stolen
        Time of all cores, in the kernel's ticks; stolen by the host for other machines.
    ran, waited
        Nanoseconds in which this process's main thread has run, and has waited for a core.
    """

    load: float
    busy: int
    idle: int
    stolen: int
    ran: int
    waited: int

    @classmethod
    def now(cls, proc: Path = Path("/proc")) -> Self:
        """Read them.

        Parameters
        ----------
        proc
            Where the kernel tells them.
        """
        ticks = [int(word) for word in (proc / "stat").read_text().split("\n", 1)[0].split()[1:]]
        ran, waited, _ = map(int, (proc / "self/schedstat").read_text().split())
        return cls(
            load=float((proc / "loadavg").read_text().split()[0]),
            busy=sum(ticks[each] for each in (_USER, _NICE, _SYSTEM, _IRQ, _SOFTIRQ)),
            idle=ticks[_IDLE] + ticks[_IOWAIT],
            stolen=ticks[_STOLEN],
            ran=ran,
            waited=waited,
        )

    def since(self, before: "MachineTimes") -> dict[str, float | None]:
        """Return what a run's result says of the machine, by name.

        Parameters
        ----------
        before
            As it was when the run began.

        Returns
        -------
        dict
            The cores, the load before and after, the shares of the cores' time that were busy and stolen, and the
            share of its time that the loop, when it had something to do, waited for a core; per cent.
        """
        busy, idle, stolen = self.busy - before.busy, self.idle - before.idle, self.stolen - before.stolen
        ran, waited = self.ran - before.ran, self.waited - before.waited
        return {
            "machine_cores": os.cpu_count(),
            "machine_load_before": before.load,
            "machine_load_after": self.load,
            "machine_busy_pct": _pct(busy, busy + idle + stolen),
            "machine_stolen_pct": _pct(stolen, busy + idle + stolen),
            "loop_waited_pct": _pct(waited, ran + waited),
        }


def _pct(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 1) if whole else None
